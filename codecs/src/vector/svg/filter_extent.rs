//! How far filters move pixels: a strip has to be drawn with the rows around it that a blur or an offset brings in.
//!
//! Source: Filter Effects Module Level 1, section 9; SVG 1.1, section 15.

use resvg::usvg::filter::{Filter, Kind};
use resvg::usvg::{Group, Node, Transform};

/// Beyond three standard deviations a blur is invisible.
const DEVIATIONS: f32 = 3.0;

/// The extent of the filters of a group and of its descendants, in units of the tree.
pub fn of(group: &Group) -> f32 {
    let inside = group.children().iter().map(|node| match node {
        Node::Group(group) => of(group),
        _ => 0.0,
    });
    let own: f32 = group.filters().iter().map(|filter| of_filter(filter)).sum();
    inside.fold(0.0, f32::max) + own * enlargement(group.abs_transform())
}

fn of_filter(filter: &Filter) -> f32 {
    let extent = |kind: &Kind| match kind {
        Kind::GaussianBlur(blur) => DEVIATIONS * blur.std_dev_x().get().max(blur.std_dev_y().get()),
        Kind::DropShadow(shadow) => {
            let blur = DEVIATIONS * shadow.std_dev_x().get().max(shadow.std_dev_y().get());
            blur + shadow.dx().abs().max(shadow.dy().abs())
        }
        Kind::Offset(offset) => offset.dx().abs().max(offset.dy().abs()),
        Kind::Morphology(morphology) => morphology.radius_x().get().max(morphology.radius_y().get()),
        Kind::DisplacementMap(map) => map.scale().abs() / 2.0,
        _ => 0.0,
    };
    filter.primitives().iter().map(|primitive| extent(primitive.kind())).sum()
}

/// The length of a unit of the group, in units of the tree.
fn enlargement(transform: Transform) -> f32 {
    transform.sx.hypot(transform.ky).max(transform.kx.hypot(transform.sy))
}
