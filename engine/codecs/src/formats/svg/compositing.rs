//! The basic operations on a strip: drawing single nodes with resvg, shaders and blend modes, and the strip's area.

use resvg::tiny_skia::{
    Color, GradientStop, LinearGradient, Paint, Pixmap, Point, RadialGradient, Rect, Shader, SpreadMode,
    Transform,
};
use resvg::usvg::{self, BlendMode, Node, Opacity, Path};

/// The part of the canvas that a strip shows: full rows.
#[derive(Clone, Copy)]
pub struct StripArea {
    pub width: u32,
    pub top: u32,
    pub rows: u32,
}

impl StripArea {
    /// Returns a transparent pixmap of the strip's size.
    pub fn layer(self) -> Option<Pixmap> {
        Pixmap::new(self.width, self.rows)
    }

    /// Returns the transform to the strip's own pixels.
    pub fn local(self, transform: Transform) -> Transform {
        transform.post_translate(0.0, -(self.top as f32))
    }

    /// Returns the strip's rectangle on the canvas.
    pub fn rect(self) -> Option<Rect> {
        Rect::from_xywh(0.0, self.top as f32, self.width as f32, self.rows as f32)
    }

    /// Returns true if part of an area may be visible. Anti-aliasing extends it by a pixel.
    pub fn shows(self, area: Rect, transform: Transform) -> bool {
        let Some(area) = area.transform(transform) else { return true };
        area.top() < (self.top + self.rows) as f32 + 2.0
            && area.bottom() > self.top as f32 - 2.0
            && area.left() < self.width as f32 + 2.0
            && area.right() > -2.0
    }
}

/// Draws a shape, a text, a picture, or a group with filters, with resvg.
pub fn render_at(node: &Node, transform: Transform, onto: &mut Pixmap) {
    match (node, node.abs_layer_bounding_box()) {
        // `render_node` moves the node's upper left corner to the origin, so it has to be moved back.
        (_, Some(area)) => {
            let transform = transform.pre_translate(area.x(), area.y());
            resvg::render_node(node, transform, &mut onto.as_mut());
        }
        (Node::Path(path), None) => draw_line(path, transform, onto),
        (_, None) => {}
    }
}

/// Draws an exactly horizontal or vertical line. Its bounding box has no area, and resvg 0.49 does not draw a single
/// node without one (`render_node`). A line painted with a pattern is not drawn: no known drawing has one.
fn draw_line(path: &Path, transform: Transform, onto: &mut Pixmap) {
    let Some(stroke) = path.stroke().filter(|_| path.is_visible()) else { return };
    let Some(shader) = shader(stroke.paint(), stroke.opacity()) else { return };
    let paint =
        Paint { shader, anti_alias: path.rendering_mode().use_shape_antialiasing(), ..Paint::default() };
    onto.stroke_path(path.data(), &paint, &stroke.to_tiny_skia(), transform, None);
}

/// Returns the shader of a paint, or `None` for a pattern.
pub fn shader(paint: &usvg::Paint, opacity: Opacity) -> Option<Shader<'static>> {
    match paint {
        usvg::Paint::Color(colour) => Some(Shader::SolidColor(with_opacity(*colour, opacity))),
        usvg::Paint::LinearGradient(gradient) => LinearGradient::new(
            Point::from_xy(gradient.x1(), gradient.y1()),
            Point::from_xy(gradient.x2(), gradient.y2()),
            stops(gradient, opacity),
            spread(gradient.spread_method()),
            gradient.transform(),
        ),
        usvg::Paint::RadialGradient(gradient) => RadialGradient::new(
            Point::from_xy(gradient.fx(), gradient.fy()),
            gradient.fr().get(),
            Point::from_xy(gradient.cx(), gradient.cy()),
            gradient.r().get(),
            stops(gradient, opacity),
            spread(gradient.spread_method()),
            gradient.transform(),
        ),
        usvg::Paint::Pattern(_) => None,
    }
}

fn stops(gradient: &usvg::BaseGradient, opacity: Opacity) -> Vec<GradientStop> {
    let colour = |stop: &usvg::Stop| with_opacity(stop.color(), stop.opacity() * opacity);
    gradient.stops().iter().map(|stop| GradientStop::new(stop.offset().get(), colour(stop))).collect()
}

fn with_opacity(colour: usvg::Color, opacity: Opacity) -> Color {
    Color::from_rgba8(colour.red, colour.green, colour.blue, opacity.to_u8())
}

fn spread(method: usvg::SpreadMethod) -> SpreadMode {
    match method {
        usvg::SpreadMethod::Pad => SpreadMode::Pad,
        usvg::SpreadMethod::Reflect => SpreadMode::Reflect,
        usvg::SpreadMethod::Repeat => SpreadMode::Repeat,
    }
}

pub fn blend(mode: BlendMode) -> resvg::tiny_skia::BlendMode {
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
