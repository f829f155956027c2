//! Draws the part of a tree that a strip shows: skips invisible nodes, and composites groups with opacity, clips and
//! masks.
//!
//! resvg draws the shapes, texts, pictures and filters. Its own groups are made for complete pictures: their layers are
//! up to five strips high, counted from the corner of the parent group, so that a group three levels deep is cut off in
//! all but the first strips (resvg 0.49, `render_layer` and `max_filter_bbox`). Here a layer is exactly as high as the
//! strip. Slow filters are drawn once for all strips ([`FilterLayers`]), and patterns with large tiles one tile at a
//! time ([`pattern`]).
//!
//! All transforms are relative to the whole canvas. The strip's own pixels begin at its first row.
//!
//! Source: Compositing and Blending Level 1, section 3 (isolated groups); CSS Masking Module Level 1.

use resvg::tiny_skia::{FillRule, Mask, MaskType, PathBuilder, Pixmap, PixmapPaint, Transform};
use resvg::usvg::{self, ClipPath, Group, Node};

use super::compositing::{StripArea, blend, render_at};
use super::filter_layers::{Drawing, FilterLayers};
use super::pattern;

/// A strip that is being drawn.
#[derive(Clone, Copy)]
pub struct Strip<'a> {
    area: StripArea,
    layers: &'a FilterLayers,
}

impl<'a> Strip<'a> {
    /// Returns the strip that is drawn onto the pixmap. `top` is its first row on the canvas.
    pub fn of(pixmap: &Pixmap, top: u32, layers: &'a FilterLayers) -> Self {
        Self { area: StripArea { width: pixmap.width(), top, rows: pixmap.height() }, layers }
    }

    /// Draws a group's children. Returns `None` if there is not enough memory.
    pub fn draw(self, group: &Group, transform: Transform, onto: &mut Pixmap) -> Option<()> {
        for node in group.children() {
            match node {
                Node::Group(group) => {
                    let inner = transform.pre_concat(group.transform());
                    if self.area.shows(group.layer_bounding_box().to_rect(), inner) {
                        self.draw_group(node, group, transform, onto)?;
                    }
                }
                Node::Text(text) => {
                    self.draw(text.flattened(), transform.pre_concat(text.flattened().transform()), onto)?
                }
                _ if !self.area.shows(node.stroke_bounding_box(), transform) => {}
                Node::Path(path) if pattern::has_large_tiles(path, transform) => {
                    let draw =
                        |group: &Group, transform, onto: &mut Pixmap| self.draw(group, transform, onto);
                    pattern::draw(path, transform, self.area, &draw, onto)?;
                }
                _ => render_at(node, self.area.local(transform), onto),
            }
        }
        Some(())
    }

    fn draw_group(self, node: &Node, group: &Group, transform: Transform, onto: &mut Pixmap) -> Option<()> {
        let inner = transform.pre_concat(group.transform());
        if !group.filters().is_empty() {
            match self.layers.of(node, group, transform) {
                Drawing::InStrips => render_at(node, self.area.local(transform), onto),
                Drawing::InLayer(layer) => layer.draw(group, self.area.top, onto),
                Drawing::NoMemory => return None,
            }
        } else if group.should_isolate() {
            let mut layer = self.area.layer()?;
            self.draw(group, inner, &mut layer)?;
            if let Some(clip) = group.clip_path() {
                self.clip(clip, inner, &mut layer)?;
            }
            if let Some(mask) = group.mask() {
                self.mask(mask, inner, &mut layer)?;
            }
            let paint = PixmapPaint {
                opacity: group.opacity().get(),
                blend_mode: blend(group.blend_mode()),
                ..PixmapPaint::default()
            };
            onto.draw_pixmap(0, 0, layer.as_ref(), &paint, Transform::identity(), None);
        } else {
            self.draw(group, inner, onto)?;
        }
        Some(())
    }

    /// Applies a clip path to a layer.
    fn clip(self, clip: &ClipPath, transform: Transform, layer: &mut Pixmap) -> Option<()> {
        let mut shapes = self.area.layer()?;
        self.draw(clip.root(), transform.pre_concat(clip.transform()), &mut shapes)?;
        layer.apply_mask(&Mask::from_pixmap(shapes.as_ref(), MaskType::Alpha));
        clip.clip_path().map_or(Some(()), |outer| self.clip(outer, transform, layer))
    }

    /// Applies a mask to a layer, by luminance or alpha.
    fn mask(self, mask: &usvg::Mask, transform: Transform, layer: &mut Pixmap) -> Option<()> {
        let mut shapes = self.area.layer()?;
        self.draw(mask.root(), transform, &mut shapes)?;
        let mut area = Mask::new(self.area.width, self.area.rows)?;
        let rect = PathBuilder::from_rect(mask.rect().to_rect());
        area.fill_path(&rect, FillRule::Winding, true, self.area.local(transform));
        shapes.apply_mask(&area);
        let kind = match mask.kind() {
            usvg::MaskType::Luminance => MaskType::Luminance,
            usvg::MaskType::Alpha => MaskType::Alpha,
        };
        layer.apply_mask(&Mask::from_pixmap(shapes.as_ref(), kind));
        mask.mask().map_or(Some(()), |outer| self.mask(outer, transform, layer))
    }
}
