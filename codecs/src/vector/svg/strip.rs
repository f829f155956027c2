//! Draws the part of a tree that a strip shows: skips nodes outside of it, and composites groups with opacity, clips
//! and masks itself.
//!
//! resvg draws the shapes, texts, pictures and filters. Its own groups are made for complete pictures: their layers are
//! up to five strips high, and that limit counts from the corner of the parent group, so a group three levels deep is
//! cut off in all but the first strips (resvg 0.49, `render_layer` and `max_filter_bbox`). Here a layer is exactly as
//! high as the strip.
//!
//! Source: Compositing and Blending Level 1, section 3 (isolated groups); CSS Masking Module Level 1.

use resvg::tiny_skia::{FillRule, Mask, MaskType, PathBuilder, Pixmap, PixmapPaint, Rect, Transform};
use resvg::usvg::{self, BlendMode, ClipPath, Group, Node};

use super::line;

/// The area that a strip shows, in its own pixels.
#[derive(Clone, Copy)]
pub struct Strip {
    width: u32,
    rows: u32,
}

impl Strip {
    pub fn of(pixmap: &Pixmap) -> Self {
        Self { width: pixmap.width(), rows: pixmap.height() }
    }

    /// Draws a group's children. `None` when there is no memory for it.
    pub fn draw(self, group: &Group, transform: Transform, onto: &mut Pixmap) -> Option<()> {
        for node in group.children() {
            match node {
                Node::Group(group) => {
                    let inner = transform.pre_concat(group.transform());
                    if self.shows(group.layer_bounding_box().to_rect(), inner) {
                        self.draw_group(node, group, transform, onto)?;
                    }
                }
                Node::Text(text) => {
                    self.draw(text.flattened(), transform.pre_concat(text.flattened().transform()), onto)?
                }
                _ if self.shows(node.stroke_bounding_box(), transform) => draw_leaf(node, transform, onto),
                _ => {}
            }
        }
        Some(())
    }

    fn draw_group(self, node: &Node, group: &Group, transform: Transform, onto: &mut Pixmap) -> Option<()> {
        let inner = transform.pre_concat(group.transform());
        if !group.filters().is_empty() {
            draw_leaf(node, transform, onto);
        } else if group.should_isolate() {
            let mut layer = self.layer()?;
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
        let mut shapes = self.layer()?;
        self.draw(clip.root(), transform.pre_concat(clip.transform()), &mut shapes)?;
        layer.apply_mask(&Mask::from_pixmap(shapes.as_ref(), MaskType::Alpha));
        clip.clip_path().map_or(Some(()), |outer| self.clip(outer, transform, layer))
    }

    /// Applies a mask to a layer, by its luminance or its alpha.
    fn mask(self, mask: &usvg::Mask, transform: Transform, layer: &mut Pixmap) -> Option<()> {
        let mut shapes = self.layer()?;
        self.draw(mask.root(), transform, &mut shapes)?;
        let mut area = Mask::new(self.width, self.rows)?;
        let rect = PathBuilder::from_rect(mask.rect().to_rect());
        area.fill_path(&rect, FillRule::Winding, true, transform);
        shapes.apply_mask(&area);
        let kind = match mask.kind() {
            usvg::MaskType::Luminance => MaskType::Luminance,
            usvg::MaskType::Alpha => MaskType::Alpha,
        };
        layer.apply_mask(&Mask::from_pixmap(shapes.as_ref(), kind));
        mask.mask().map_or(Some(()), |outer| self.mask(outer, transform, layer))
    }

    fn layer(self) -> Option<Pixmap> {
        Pixmap::new(self.width, self.rows)
    }

    /// Whether a part of an area may be visible. Anti-aliasing extends it by a pixel.
    fn shows(self, area: Rect, transform: Transform) -> bool {
        let Some(area) = area.transform(transform) else { return true };
        area.top() < self.rows as f32 + 2.0
            && area.bottom() > -2.0
            && area.left() < self.width as f32 + 2.0
            && area.right() > -2.0
    }
}

fn draw_leaf(node: &Node, transform: Transform, onto: &mut Pixmap) {
    match (node, node.abs_layer_bounding_box()) {
        // `render_node` moves the node's upper left corner to the origin: back to where it belongs.
        (_, Some(area)) => {
            let transform = transform.pre_translate(area.x(), area.y());
            resvg::render_node(node, transform, &mut onto.as_mut());
        }
        (Node::Path(path), None) => line::draw(path, transform, onto),
        (_, None) => {}
    }
}

fn blend(mode: BlendMode) -> resvg::tiny_skia::BlendMode {
    use resvg::tiny_skia::BlendMode as Skia;
    match mode {
        BlendMode::Normal => Skia::SourceOver,
        BlendMode::Multiply => Skia::Multiply,
        BlendMode::Screen => Skia::Screen,
        BlendMode::Overlay => Skia::Overlay,
        BlendMode::Darken => Skia::Darken,
        BlendMode::Lighten => Skia::Lighten,
        BlendMode::ColorDodge => Skia::ColorDodge,
        BlendMode::ColorBurn => Skia::ColorBurn,
        BlendMode::HardLight => Skia::HardLight,
        BlendMode::SoftLight => Skia::SoftLight,
        BlendMode::Difference => Skia::Difference,
        BlendMode::Exclusion => Skia::Exclusion,
        BlendMode::Hue => Skia::Hue,
        BlendMode::Saturation => Skia::Saturation,
        BlendMode::Color => Skia::Color,
        BlendMode::Luminosity => Skia::Luminosity,
        BlendMode::PlusLighter => Skia::Plus,
    }
}
