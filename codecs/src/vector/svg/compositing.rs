//! What resvg does by itself for a strip: single nodes, at their place; and the blend modes.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{BlendMode, Node};

use super::line;

/// Draws a shape, text or picture, or a group with filters, with resvg.
pub fn render_at(node: &Node, transform: Transform, onto: &mut Pixmap) {
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
