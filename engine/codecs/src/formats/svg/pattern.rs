//! Patterns with large tiles. resvg draws a tile into a buffer before it fills a shape, for each strip and shape. At
//! our resolution, a tile that is part of a drawing or enlarged by a transform would be larger than the picture. Here
//! the visible tiles are drawn directly, and clipped to their rectangles and to the shape.
//!
//! Source: SVG 1.1, section 13.3 (patterns).

use resvg::tiny_skia::{self, FillRule, Mask, Paint, PathBuilder, Pixmap, PixmapPaint, Transform};
use resvg::usvg::{self, Group, Path, Pattern};

use super::compositing::{StripArea, shader};

/// The largest number of pixels of a tile that resvg buffers.
const BUFFERED_PIXELS: f32 = 4e6;
/// The largest number of tiles in a strip. Large tiles are few, unless they are flat.
const MOST_TILES: f32 = 4096.0;

/// Returns true if a path is painted with a pattern of large tiles.
pub fn has_large_tiles(path: &Path, transform: Transform) -> bool {
    let is_large = |paint: Option<&usvg::Paint>| match paint {
        Some(usvg::Paint::Pattern(pattern)) => {
            let (across, down) = transform.pre_concat(pattern.transform()).get_scale();
            let pixels = pattern.rect().width() * across * pattern.rect().height() * down;
            pixels.is_nan() || pixels > BUFFERED_PIXELS
        }
        _ => false,
    };
    is_large(path.fill().map(usvg::Fill::paint)) || is_large(path.stroke().map(usvg::Stroke::paint))
}

/// Draws the children of a group that has this transform on the canvas. Returns `None` if there is not enough memory.
type DrawGroup<'a> = &'a dyn Fn(&Group, Transform, &mut Pixmap) -> Option<()>;

/// The target of tiles, and the function that draws them.
#[derive(Clone, Copy)]
struct Canvas<'a> {
    strip: StripArea,
    draw_group: DrawGroup<'a>,
}

/// Draws a path. `transform` is that of its parent on the canvas. Returns `None` if there is not enough memory.
pub fn draw(
    path: &Path,
    transform: Transform,
    strip: StripArea,
    draw_group: DrawGroup<'_>,
    onto: &mut Pixmap,
) -> Option<()> {
    let canvas = Canvas { strip, draw_group };
    if !path.is_visible() {
        return Some(());
    }
    if path.paint_order() == usvg::PaintOrder::StrokeAndFill {
        stroke(path, transform, canvas, onto)?;
        fill(path, transform, canvas, onto)
    } else {
        fill(path, transform, canvas, onto)?;
        stroke(path, transform, canvas, onto)
    }
}

fn fill(path: &Path, transform: Transform, canvas: Canvas<'_>, onto: &mut Pixmap) -> Option<()> {
    let Some(fill) = path.fill() else { return Some(()) };
    let rule = match fill.rule() {
        usvg::FillRule::NonZero => FillRule::Winding,
        usvg::FillRule::EvenOdd => FillRule::EvenOdd,
    };
    let shape = Shape { outline: path.data(), rule, smooth: path.rendering_mode().use_shape_antialiasing() };
    shape.paint(fill.paint(), fill.opacity(), transform, canvas, onto)
}

fn stroke(path: &Path, transform: Transform, canvas: Canvas<'_>, onto: &mut Pixmap) -> Option<()> {
    let Some(stroke) = path.stroke() else { return Some(()) };
    let (across, down) = transform.get_scale();
    let Some(outline) = path.data().stroke(&stroke.to_tiny_skia(), across.max(down)) else { return Some(()) };
    let smooth = path.rendering_mode().use_shape_antialiasing();
    let shape = Shape { outline: &outline, rule: FillRule::Winding, smooth };
    shape.paint(stroke.paint(), stroke.opacity(), transform, canvas, onto)
}

/// A shape to paint: the inside of an outline.
struct Shape<'a> {
    outline: &'a tiny_skia::Path,
    rule: FillRule,
    smooth: bool,
}

impl Shape<'_> {
    fn paint(
        &self,
        paint: &usvg::Paint,
        opacity: usvg::Opacity,
        transform: Transform,
        canvas: Canvas<'_>,
        onto: &mut Pixmap,
    ) -> Option<()> {
        let place = canvas.strip.local(transform);
        if let Some(shader) = shader(paint, opacity) {
            let paint = Paint { shader, anti_alias: self.smooth, ..Paint::default() };
            onto.fill_path(self.outline, &paint, self.rule, place, None);
        } else if let usvg::Paint::Pattern(pattern) = paint {
            let mut tiles = tiles(pattern, transform, canvas)?;
            let mut shape = Mask::new(tiles.width(), tiles.height())?;
            shape.fill_path(self.outline, self.rule, self.smooth, place);
            tiles.apply_mask(&shape);
            let paint = PixmapPaint { opacity: opacity.get(), ..PixmapPaint::default() };
            onto.draw_pixmap(0, 0, tiles.as_ref(), &paint, Transform::identity(), None);
        }
        Some(())
    }
}

/// Draws all tiles of a pattern that are visible in a strip.
fn tiles(
    pattern: &Pattern,
    transform: Transform,
    Canvas { strip, draw_group }: Canvas<'_>,
) -> Option<Pixmap> {
    let mut all = strip.layer()?;
    let rect = pattern.rect();
    let first = transform.pre_concat(pattern.transform()).pre_translate(rect.x(), rect.y());
    let Some(shown) = first.invert().and_then(|inverse| strip.rect()?.transform(inverse)) else {
        return Some(all);
    };
    let range = |from: f32, to: f32, side: f32| (from / side).floor()..(to / side).ceil();
    let (columns, rows) =
        (range(shown.left(), shown.right(), rect.width()), range(shown.top(), shown.bottom(), rect.height()));
    let count = (columns.end - columns.start) * (rows.end - rows.start);
    if count.is_nan() || count > MOST_TILES {
        return Some(all);
    }
    let outline = PathBuilder::from_rect(tiny_skia::Rect::from_xywh(0.0, 0.0, rect.width(), rect.height())?);
    let numbers = |range: &std::ops::Range<f32>| range.start as i32..range.end as i32;
    for (row, column) in numbers(&rows).flat_map(|row| numbers(&columns).map(move |column| (row, column))) {
        let place = first.pre_translate(column as f32 * rect.width(), row as f32 * rect.height());
        let mut tile = strip.layer()?;
        draw_group(pattern.root(), place, &mut tile)?;
        let mut cut = Mask::new(tile.width(), tile.height())?;
        cut.fill_path(&outline, FillRule::Winding, false, strip.local(place));
        tile.apply_mask(&cut);
        all.draw_pixmap(0, 0, tile.as_ref(), &PixmapPaint::default(), Transform::identity(), None);
    }
    Some(all)
}
