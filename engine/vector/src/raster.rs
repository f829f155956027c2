//! Draws a page's pixels as its renderer draws them. If that is PDFium, lines are at least a pixel wide, and filled rectangles have
//! whole pixels. The shapes are drawn without an SVG between: to write and parse its text would take most of the time.

use hayro_interpret::kurbo::{Affine, Cap, Join, Rect};
use resvg::tiny_skia::{
    FillRule, FilterQuality, IntSize, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pattern, Pixmap,
    PixmapPaint, SpreadMode, Stroke, StrokeDash, Transform,
};

use crate::bands::Bands;
use crate::drawing::{Drawing, Surface};
use crate::items::{Colour, Item, Layer, LayerKind, Outline, Pen, Rule, Style};
use crate::notation::read;
use crate::picture::Picture;
use crate::refusal::Refusal;

/// A surface to draw on: the page, or a clip or group.
struct Ground<'a> {
    /// What it is: nothing if it is the page.
    kind: Option<&'a LayerKind>,
    /// Its place on the page in pixels.
    left: i32,
    top: i32,
    /// Absent if nothing shows.
    pixels: Option<Pixmap>,
}

struct Canvas<'a> {
    drawing: &'a Drawing,
    /// Width and height of a pixel in points.
    pixel: (f64, f64),
    /// The page, and the open layers.
    grounds: Vec<Ground<'a>>,
    path: PathBuilder,
    style: Option<&'a Style>,
}

/// Draws on white the objects that reach into rows of these bands. Returns `None` if there are no pixels.
pub fn draw(drawing: &Drawing, (width, height): (u32, u32), bands: Bands) -> Option<Pixmap> {
    let pixels = vec![0xff; width as usize * height as usize * 4];
    let pixels = Pixmap::from_vec(pixels, IntSize::from_wh(width, height)?)?;
    let (across, down) = drawing.size();
    let pixel = (across / f64::from(width), down / f64::from(height));
    let page = Ground { kind: None, left: 0, top: 0, pixels: Some(pixels) };
    let mut canvas = Canvas { drawing, pixel, grounds: vec![page], path: PathBuilder::new(), style: None };
    let row = |y: f64| (y / pixel.1).max(0.0) as usize;
    // With the pixels around, and a line reaches out by one more, because it is widened.
    let is_drawn = |item: &&Item| bands.touch(row(item.shown.y0).saturating_sub(2), row(item.shown.y1) + 2);
    drawing.draw(drawing.items.iter().filter(is_drawn), &mut canvas).ok()?;
    canvas.grounds.pop()?.pixels
}

impl<'a> Surface<'a> for Canvas<'a> {
    fn open(&mut self, layer: &'a Layer) -> Result<(), Refusal> {
        let ground = self.ground(layer);
        self.grounds.push(ground);
        Ok(())
    }

    /// Draws the last layer on the one below.
    fn close(&mut self) {
        let Some(Ground { kind, left, top, pixels: Some(mut pixels) }) = self.grounds.pop() else { return };
        let mut paint = PixmapPaint::default();
        match kind {
            Some(LayerKind::Opacity(opacity)) => paint.opacity = *opacity,
            Some(LayerKind::Rect(rect)) => {
                let Rect { x0, y0, x1, y1 } = *rect;
                let (across, down) = self.pixel;
                let rect = resvg::tiny_skia::Rect::from_ltrb(
                    (x0 / across) as f32,
                    (y0 / down) as f32,
                    (x1 / across) as f32,
                    (y1 / down) as f32,
                );
                let path = rect.map(PathBuilder::from_rect);
                clip(&mut pixels, (left, top), path.map(|path| (path, Rule::NonZero)));
            }
            Some(LayerKind::Clip(paths)) => {
                let paths = paths.iter().filter_map(|(data, rule)| {
                    let mut path = PathBuilder::new();
                    read(data, self.scale(None), &mut path);
                    Some((path.finish()?, *rule))
                });
                clip(&mut pixels, (left, top), paths);
            }
            Some(LayerKind::Page) | None => {}
        }
        if let Some(Ground { left: l, top: t, pixels: Some(below), .. }) = self.grounds.last_mut() {
            below.draw_pixmap(left - *l, top - *t, pixels.as_ref(), &paint, Transform::identity(), None);
        }
    }

    fn begin(&mut self, style: usize) -> Result<(), Refusal> {
        self.style = self.drawing.styles.get(style);
        Ok(())
    }

    fn add(&mut self, outline: &Outline) {
        let rect = outline.rect.filter(|_| self.drawing.is_by_pdfium);
        if let Some(rect) = rect.and_then(|rect| on_pixels(rect, self.pixel)) {
            self.path.push_rect(rect);
        } else {
            let data = self.drawing.data.get(outline.data.clone()).unwrap_or_default();
            read(data, self.scale(self.style), &mut self.path);
        }
    }

    fn end(&mut self) {
        let Some(path) = std::mem::take(&mut self.path).finish() else { return };
        if let Some(style) = self.style {
            self.paint(style, &path);
        }
        self.path = path.clear();
    }

    fn picture(&mut self, picture: &'a Picture) {
        let pixel = self.pixel;
        let Some(Ground { left, top, pixels: Some(pixels), .. }) = self.grounds.last_mut() else { return };
        let Some(source) = picture.pixmap() else { return };
        let (width, height) = (source.width() as f32, source.height() as f32);
        let Some(rect) = resvg::tiny_skia::Rect::from_xywh(0.0, 0.0, width, height) else { return };
        let quality = if picture.is_smooth() { FilterQuality::Bicubic } else { FilterQuality::Nearest };
        let shader = Pattern::new(source.as_ref(), SpreadMode::Pad, quality, 1.0, Transform::identity());
        let place = Transform::from_translate(-*left as f32, -*top as f32);
        let place = place.pre_concat(transform(to_pixels(pixel) * picture.place()));
        pixels.fill_rect(rect, &Paint { shader, ..Paint::default() }, place, None);
    }
}

impl<'a> Canvas<'a> {
    /// Returns the scale of a path's data: to pixels, or to points for a pen with a space of its own.
    fn scale(&self, style: Option<&Style>) -> (f64, f64) {
        let unit = self.drawing.unit;
        match style {
            Some(Style::Stroke(_, _, Some(_))) => (1.0 / unit, 1.0 / unit),
            _ => (1.0 / unit / self.pixel.0, 1.0 / unit / self.pixel.1),
        }
    }

    fn paint(&mut self, style: &Style, path: &Path) {
        let pixel = self.pixel;
        let least_width = if self.drawing.is_by_pdfium { pixel.0 } else { 0.0 };
        let Some(Ground { left, top, pixels: Some(pixels), .. }) = self.grounds.last_mut() else { return };
        let place = Transform::from_translate(-*left as f32, -*top as f32);
        match style {
            Style::Fill(colour, rule) => {
                pixels.fill_path(path, &paint_of(*colour), rule_of(*rule), place, None)
            }
            Style::Stroke(colour, pen, None) => {
                let stroke = stroke_of(pen, least_width, 1.0 / (pixel.0 * pixel.1).sqrt());
                pixels.stroke_path(path, &paint_of(*colour), &stroke, place, None);
            }
            Style::Stroke(colour, pen, Some(own)) => {
                let place = place.pre_concat(transform(to_pixels(pixel) * Affine::new(*own)));
                pixels.stroke_path(path, &paint_of(*colour), &stroke_of(pen, least_width, 1.0), place, None);
            }
        }
    }

    /// Returns an empty ground for what a layer shows, as far as it is on the last one.
    fn ground(&self, layer: &'a Layer) -> Ground<'a> {
        let Rect { x0, y0, x1, y1 } = layer.shown;
        let mut ground = Ground { kind: Some(&layer.kind), left: 0, top: 0, pixels: None };
        if let Some(Ground { left, top, pixels: Some(below), .. }) = self.grounds.last() {
            let side = |from: f64, to: f64, pixel: f64, start: i32, length: i32| {
                let first = ((from / pixel).floor() as i32).clamp(start, start + length);
                (first, ((to / pixel).ceil() as i32).clamp(first, start + length) - first)
            };
            let (width, height);
            (ground.left, width) = side(x0, x1, self.pixel.0, *left, below.width() as i32);
            (ground.top, height) = side(y0, y1, self.pixel.1, *top, below.height() as i32);
            ground.pixels = Pixmap::new(width as u32, height as u32);
        }
        ground
    }
}

fn to_pixels((across, down): (f64, f64)) -> Affine {
    Affine::scale_non_uniform(1.0 / across, 1.0 / down)
}

fn transform(affine: Affine) -> Transform {
    let [sx, ky, kx, sy, tx, ty] = affine.as_coeffs().map(|coefficient| coefficient as f32);
    Transform::from_row(sx, ky, kx, sy, tx, ty)
}

/// Removes what is outside of all these paths.
fn clip(pixels: &mut Pixmap, (left, top): (i32, i32), paths: impl IntoIterator<Item = (Path, Rule)>) {
    let Some(mut mask) = Mask::new(pixels.width(), pixels.height()) else { return };
    let place = Transform::from_translate(-left as f32, -top as f32);
    for (path, rule) in paths {
        mask.fill_path(&path, rule_of(rule), true, place);
    }
    pixels.apply_mask(&mask);
}

fn paint_of(Colour([red, green, blue], opacity): Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

fn rule_of(rule: Rule) -> FillRule {
    match rule {
        Rule::NonZero => FillRule::Winding,
        Rule::EvenOdd => FillRule::EvenOdd,
    }
}

/// Returns a pen that is at least this wide, in units of which a point has this many.
fn stroke_of(pen: &Pen, least_width: f64, scale: f64) -> Stroke {
    let mut dashes: Vec<f32> = pen.dashes.iter().map(|dash| (dash * scale) as f32).collect();
    if dashes.len() % 2 == 1 {
        dashes.extend_from_within(..);
    }
    Stroke {
        width: (pen.width.max(least_width) * scale) as f32,
        miter_limit: pen.miter_limit.max(1.0) as f32,
        line_cap: match pen.cap {
            Cap::Butt => LineCap::Butt,
            Cap::Round => LineCap::Round,
            Cap::Square => LineCap::Square,
        },
        line_join: match pen.join {
            Join::Miter => LineJoin::Miter,
            Join::Round => LineJoin::Round,
            Join::Bevel => LineJoin::Bevel,
        },
        dash: StrokeDash::new(dashes, (pen.dash_offset * scale) as f32),
    }
}

/// Returns the pixels that PDFium fills for a rectangle (`CFX_RenderDevice::DrawPathWithBlend`).
fn on_pixels(rect: Rect, (across, down): (f64, f64)) -> Option<resvg::tiny_skia::Rect> {
    let side = |from: f64, to: f64, pixel: f64| {
        let (from, to) = (from / pixel, to / pixel);
        let (mut first, mut last) = (from.floor(), to.ceil());
        if first == last {
            last += 1.0;
        }
        if last - first >= (to - from).ceil().max(1.0) + 1.0 {
            if from - first > last - to { first += 1.0 } else { last -= 1.0 }
        }
        (first as f32, last as f32)
    };
    let ((left, right), (top, bottom)) = (side(rect.x0, rect.x1, across), side(rect.y0, rect.y1, down));
    resvg::tiny_skia::Rect::from_ltrb(left, top, right, bottom)
}
