//! The cost of filters, estimated before they are drawn: time, buffers, and the rows around a strip that they reach.
//!
//! The times are estimates for resvg 0.49 on one core, in round numbers. A factor of two or three is good enough: they
//! decide at which resolution a filter is drawn, and the renderer's processor time is limited anyway.
//!
//! Source: Filter Effects Module Level 1, section 9; SVG 1.1, section 15.

use std::sync::Arc;

use resvg::usvg::filter::{Filter, Kind};
use resvg::usvg::{Group, Node, Transform};

/// The largest number of groups and filters that an estimate visits. Filters inside filters multiply.
const MOST_VISITS: u32 = 100_000;
/// The radius of a blur, in standard deviations. Beyond, it is invisible.
const DEVIATIONS: f32 = 3.0;

/// An estimate of time, which counts its visits.
#[derive(Default)]
pub struct Estimate {
    visits: u32,
}

impl Estimate {
    /// Returns the nanoseconds for the filters of a group and of the groups in it, in a region of `pixels` pixels. A
    /// unit of the group is `scale` pixels long.
    pub fn of(&mut self, group: &Group, pixels: f64, scale: f64) -> f64 {
        self.visits += 1;
        if self.visits > MOST_VISITS {
            return f64::INFINITY;
        }
        let own: f64 = group.filters().iter().map(|filter| self.of_filter(filter, pixels, scale)).sum();
        own + self.inside(group, pixels, scale)
    }

    fn inside(&mut self, group: &Group, pixels: f64, scale: f64) -> f64 {
        let mut sum = 0.0;
        for node in group.children() {
            if let Node::Group(inner) = node {
                let longer = f64::from(enlargement(inner.transform()));
                sum += self.of(inner, pixels, scale * longer);
            }
        }
        sum
    }

    fn of_filter(&mut self, filter: &Filter, pixels: f64, scale: f64) -> f64 {
        let mut sum = 0.0;
        for primitive in filter.primitives() {
            sum += match primitive.kind() {
                Kind::Image(image) => pixels * 30.0 + self.of(image.root(), pixels, scale),
                kind => pixels * per_pixel(kind, pixels, scale),
            };
        }
        sum
    }
}

/// Returns the number of buffers that resvg holds at once for a group: two of its picture, and each primitive's result.
pub fn buffers(filters: &[Arc<Filter>]) -> u64 {
    let most = filters.iter().map(|filter| filter.primitives().len()).max().unwrap_or(0);
    most as u64 + 3
}

fn per_pixel(kind: &Kind, pixels: f64, scale: f64) -> f64 {
    match kind {
        Kind::Turbulence(noise) => 10.0 + 60.0 * f64::from(noise.num_octaves()),
        Kind::DropShadow(_) => 80.0,
        Kind::GaussianBlur(_) => 50.0,
        Kind::DiffuseLighting(_) | Kind::SpecularLighting(_) => 60.0,
        Kind::ConvolveMatrix(convolution) => {
            20.0 + 5.0 * f64::from(convolution.matrix().rows()) * f64::from(convolution.matrix().columns())
        }
        Kind::Morphology(morphology) => {
            let across = 2.0 * f64::from(morphology.radius_x().get()) * scale + 1.0;
            let down = 2.0 * f64::from(morphology.radius_y().get()) * scale + 1.0;
            // resvg visits all neighbours of each pixel.
            20.0 + 2.0 * (across * down).min(pixels)
        }
        Kind::Merge(merge) => 10.0 * merge.inputs().len() as f64,
        Kind::Flood(_) | Kind::Offset(_) | Kind::Tile(_) | Kind::Image(_) => 10.0,
        Kind::Blend(_)
        | Kind::ColorMatrix(_)
        | Kind::ComponentTransfer(_)
        | Kind::Composite(_)
        | Kind::DisplacementMap(_) => 25.0,
    }
}

/// Returns how far the filters of a group and of its descendants move pixels, in units of the tree.
pub fn extent(group: &Group) -> f32 {
    let inside = group.children().iter().map(|node| match node {
        Node::Group(group) => extent(group),
        _ => 0.0,
    });
    let own: f32 = group.filters().iter().map(|filter| extent_of_filter(filter)).sum();
    inside.fold(0.0, f32::max) + own * enlargement(group.abs_transform())
}

fn extent_of_filter(filter: &Filter) -> f32 {
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

/// Returns the length of a transformed unit.
fn enlargement(transform: Transform) -> f32 {
    transform.sx.hypot(transform.ky).max(transform.kx.hypot(transform.sy))
}
