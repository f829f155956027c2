//! How far filters carry pixels: a blur needs to know what is above and below what it blurs.

use resvg::usvg::filter::{Filter, Kind};
use resvg::usvg::{Group, Node, Transform};

/// A blur is as good as over at three standard deviations.
const DEVIATIONS: f32 = 3.0;

/// How far the filters of a group and of all in it reach, in the units of the tree.
pub fn of(group: &Group) -> f32 {
    let inside = group.children().iter().map(|node| match node {
        Node::Group(group) => of(group),
        _ => 0.0,
    });
    let own: f32 = group.filters().iter().map(|filter| of_filter(filter)).sum();
    inside.fold(0.0, f32::max) + own * enlargement(group.abs_transform())
}

fn of_filter(filter: &Filter) -> f32 {
    let reach = |kind: &Kind| match kind {
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
    filter.primitives().iter().map(|primitive| reach(primitive.kind())).sum()
}

/// How much longer a unit of a group is than one of the tree.
fn enlargement(transform: Transform) -> f32 {
    transform.sx.hypot(transform.ky).max(transform.kx.hypot(transform.sy))
}
