//! Groups with filters: each is drawn either with every strip, or once as a layer that all strips show.
//!
//! resvg draws a filter's region together with two strips above and two below, so a high region is drawn five times
//! over, and a rotated region completely with each strip. A filter that would take too long that way is drawn once,
//! into a layer. The layer's resolution depends on the memory and time that are left; browsers reduce it too, WebKit
//! and Blink to at most 4,096 × 4,096 pixels. A drawing that is too expensive even then is refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use edgezoom_geometry::Size;
use resvg::tiny_skia::{
    FilterQuality, IntRect, Paint, Pattern, Pixmap, PixmapPaint, Rect, SpreadMode, Transform,
};
use resvg::usvg::{ClipPath, Group, Mask, Node, Tree};

use super::compositing::{blend, render_at};
use super::document::NAME;
use super::filter_cost::{Estimate, buffers};
use crate::SourceError;

/// The most nanoseconds of a filter that is drawn with each strip.
const MOST_IN_STRIPS: f64 = 1.5e9;
/// The most nanoseconds of a layer.
const MOST_IN_LAYER: f64 = 2.5e9;
/// The most nanoseconds of all filters of a drawing.
const MOST_IN_ALL: f64 = 8e9;
/// The smallest part of its pixels that a layer has: a thirty-second of its width and height.
const LEAST_SHARE: f64 = 1.0 / 1024.0;
/// The largest number of groups that are visited, clips and masks included. Nested ones multiply.
const MOST_GROUPS: u32 = 10_000_000;

/// The layers of a drawing's filters.
pub struct FilterLayers {
    canvas: Size,
    strip_rows: u32,
    /// Bytes that drawing a layer may take.
    bytes: f64,
    /// The part of its full time and memory that each layer gets.
    share: f64,
    /// By a group's address and its position on the canvas. The lock is held while a layer is drawn: one at a time.
    drawn: Mutex<HashMap<Key, Option<Arc<Layer>>>>,
}

type Key = (usize, [u32; 6]);

/// A drawn group with filters.
pub struct Layer {
    pixmap: Pixmap,
    place: IntRect,
    /// Pixels of the layer for each pixel of the canvas.
    scale: f32,
}

/// The way to draw a group with filters.
pub enum Drawing {
    /// With each strip.
    InStrips,
    /// Once.
    InLayer(Arc<Layer>),
    /// Its layer does not fit into memory.
    NoMemory,
}

/// The visible region of a group, and the cost of drawing it.
struct Region {
    place: IntRect,
    /// Number of pixels that resvg draws for it.
    pixels: f64,
    /// Number of times that these are drawn if the group is drawn with each strip.
    times: f64,
    /// Pixels per unit of the group.
    unit: f64,
}

impl FilterLayers {
    /// Estimates the filters of a tree. Drawing may take `bytes` bytes for layers.
    pub fn plan(
        tree: &Tree,
        transform: Transform,
        canvas: Size,
        strip_rows: u32,
        bytes: u64,
    ) -> Result<Self, SourceError> {
        let drawn = Mutex::default();
        let mut layers = Self { canvas, strip_rows, bytes: bytes as f64, share: 1.0, drawn };
        if tree.filters().is_empty() {
            return Ok(layers);
        }
        let mut sum = Sum { layers: &layers, nanoseconds: 0.0, bytes: 0.0, groups: 0 };
        sum.add(tree.root(), transform);
        let share = (MOST_IN_ALL / sum.nanoseconds).min(layers.bytes / 2.0 / sum.bytes).min(1.0);
        if sum.groups >= MOST_GROUPS || share.is_nan() || share < LEAST_SHARE {
            return Err(SourceError::too_complex(NAME, "its filters take more computing than is allowed"));
        }
        layers.share = share;
        Ok(layers)
    }

    /// Returns the way to draw a group. `transform` is that of its parent on the canvas.
    pub fn of(&self, node: &Node, group: &Group, transform: Transform) -> Drawing {
        let inner = transform.pre_concat(group.transform());
        let Some(region) = self.region(group, inner) else { return Drawing::InStrips };
        if self.in_strips(group, &region) <= MOST_IN_STRIPS * self.share {
            return Drawing::InStrips;
        }
        let place = [inner.sx, inner.kx, inner.ky, inner.sy, inner.tx, inner.ty].map(f32::to_bits);
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let layer = drawn.entry((std::ptr::from_ref(group).addr(), place));
        let layer = layer.or_insert_with(|| self.draw(node, group, &region, transform).map(Arc::new));
        layer.clone().map_or(Drawing::NoMemory, Drawing::InLayer)
    }

    fn draw(&self, node: &Node, group: &Group, region: &Region, transform: Transform) -> Option<Layer> {
        let (_, scale) = self.in_layer(group, region, self.share);
        let side = |length: u32| ((f64::from(length) * scale).ceil() as u32).max(1);
        let mut pixmap = Pixmap::new(side(region.place.width()), side(region.place.height()))?;
        let transform = transform
            .post_translate(-(region.place.x() as f32), -(region.place.y() as f32))
            .post_scale(scale as f32, scale as f32);
        render_at(node, transform, &mut pixmap);
        Some(Layer { pixmap, place: region.place, scale: scale as f32 })
    }

    /// Returns the nanoseconds for drawing a group with each strip.
    fn in_strips(&self, group: &Group, region: &Region) -> f64 {
        Estimate::default().of(group, region.pixels, region.unit) * region.times
    }

    /// Returns the nanoseconds for drawing a group as a layer with this share of time and memory, and the layer's
    /// scale.
    fn in_layer(&self, group: &Group, region: &Region, share: f64) -> (f64, f64) {
        let cost =
            |scale: f64| Estimate::default().of(group, region.pixels * scale * scale, region.unit * scale);
        let per_pixel = 4.0 * buffers(group.filters()) as f64;
        let by_memory = (self.bytes / (region.pixels * per_pixel)).sqrt().min(1.0);
        let whole = cost(by_memory).min(MOST_IN_LAYER);
        let mut scale = by_memory * share.sqrt();
        while cost(scale) > whole * share && scale > LEAST_SHARE.sqrt() / 4.0 {
            scale *= std::f64::consts::FRAC_1_SQRT_2;
        }
        (cost(scale), scale)
    }

    /// Returns the visible region of a group, or `None` if it is not visible.
    fn region(&self, group: &Group, inner: Transform) -> Option<Region> {
        let area = group.layer_bounding_box().to_rect().transform(inner)?;
        let left = area.left().floor().max(0.0);
        let top = area.top().floor().max(0.0);
        let right = (area.right().ceil()).min(self.canvas.width as f32);
        let bottom = (area.bottom().ceil()).min(self.canvas.height as f32);
        let place = Rect::from_ltrb(left, top, right, bottom)?.round_out()?;
        let (across, down) = (inner.sx.hypot(inner.ky), inner.kx.hypot(inner.sy));
        // resvg draws the region before it is rotated, within five times the height and width of a strip.
        let rotation = Transform::from_row(
            inner.sx / across,
            inner.ky / across,
            inner.kx / down,
            inner.sy / down,
            0.0,
            0.0,
        );
        let upright = rotation.invert()?;
        let is_rotated = rotation.kx.abs().max(rotation.ky.abs()) > 1e-3;
        let whole = group.layer_bounding_box().to_rect().transform(upright.pre_concat(inner))?;
        let (width, height) = (place.width() as f32, place.height() as f32);
        let around = Rect::from_xywh(left - 2.0 * width, top - 2.0 * height, 5.0 * width, 5.0 * height)?;
        let shown = whole.intersect(&around.transform(upright)?)?;
        let pixels = (f64::from(shown.width()) * f64::from(shown.height())).max(1.0);
        let strips = (f64::from(height) / f64::from(self.strip_rows)).ceil() + 1.0;
        let part = (5.0 * f64::from(self.strip_rows) / f64::from(shown.height()).max(1.0)).min(1.0);
        let times = if is_rotated { strips } else { strips * part };
        Some(Region { place, pixels, times, unit: f64::from(across.max(down)) })
    }
}

/// The cost of all filters of a drawing.
struct Sum<'a> {
    layers: &'a FilterLayers,
    nanoseconds: f64,
    bytes: f64,
    groups: u32,
}

impl Sum<'_> {
    fn add(&mut self, group: &Group, transform: Transform) {
        for node in group.children() {
            match node {
                Node::Group(inner) if self.groups < MOST_GROUPS => self.add_group(inner, transform),
                _ => {}
            }
        }
    }

    fn add_group(&mut self, group: &Group, transform: Transform) {
        self.groups += 1;
        let inner = transform.pre_concat(group.transform());
        if group.filters().is_empty() {
            if let Some(clip) = group.clip_path() {
                self.add_clip(clip, inner);
            }
            if let Some(mask) = group.mask() {
                self.add_mask(mask, inner);
            }
            return self.add(group, inner);
        }
        let Some(region) = self.layers.region(group, inner) else { return };
        let in_strips = self.layers.in_strips(group, &region);
        let (in_layer, scale) = self.layers.in_layer(group, &region, 1.0);
        self.nanoseconds += if in_strips <= MOST_IN_STRIPS { in_strips } else { in_layer };
        // It may still become a layer, if time is short.
        let pixels = f64::from(region.place.width()) * f64::from(region.place.height());
        self.bytes += 4.0 * pixels * scale * scale;
    }

    fn add_clip(&mut self, clip: &ClipPath, transform: Transform) {
        self.add(clip.root(), transform.pre_concat(clip.transform()));
        if let Some(outer) = clip.clip_path() {
            self.add_clip(outer, transform);
        }
    }

    fn add_mask(&mut self, mask: &Mask, transform: Transform) {
        self.add(mask.root(), transform);
        if let Some(outer) = mask.mask() {
            self.add_mask(outer, transform);
        }
    }
}

impl Layer {
    /// Composites the part of the layer that a strip shows. `top` is the strip's first row.
    pub fn draw(&self, group: &Group, top: u32, onto: &mut Pixmap) {
        let (x, y) = (self.place.x(), self.place.y() - i32::try_from(top).unwrap_or(i32::MAX));
        let blend_mode = blend(group.blend_mode());
        if self.scale >= 1.0 {
            let paint = PixmapPaint { blend_mode, ..PixmapPaint::default() };
            onto.draw_pixmap(x, y, self.pixmap.as_ref(), &paint, Transform::identity(), None);
            return;
        }
        let enlarge = Transform::from_scale(1.0 / self.scale, 1.0 / self.scale);
        let place = enlarge.post_translate(x as f32, y as f32);
        let shader = Pattern::new(self.pixmap.as_ref(), SpreadMode::Pad, FilterQuality::Bilinear, 1.0, place);
        let paint = Paint { shader, blend_mode, anti_alias: false, ..Paint::default() };
        let (width, height) = (self.place.width() as f32, self.place.height() as f32);
        if let Some(area) = Rect::from_xywh(x as f32, y as f32, width, height) {
            onto.fill_rect(area, &paint, Transform::identity(), None);
        }
    }
}
