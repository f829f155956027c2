//! Lines that are exactly horizontal or vertical. Their bounding box has no area, and resvg draws no single node
//! without one (0.49, `render_node`). Patterns as their paint are not drawn: no known drawing has that.

use resvg::tiny_skia::{
    Color, GradientStop, LinearGradient, Paint, Pixmap, Point, RadialGradient, Shader, SpreadMode, Transform,
};
use resvg::usvg::{self, Opacity, Path};

pub fn draw(path: &Path, transform: Transform, onto: &mut Pixmap) {
    let Some(stroke) = path.stroke().filter(|_| path.is_visible()) else { return };
    let Some(shader) = shader(stroke.paint(), stroke.opacity()) else { return };
    let paint =
        Paint { shader, anti_alias: path.rendering_mode().use_shape_antialiasing(), ..Paint::default() };
    onto.stroke_path(path.data(), &paint, &stroke.to_tiny_skia(), transform, None);
}

/// What a shape is painted with. `None` for a pattern.
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
