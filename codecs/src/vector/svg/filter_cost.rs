//! What filters take, estimated before they are drawn: nanoseconds, and buffers as large as their region.
//!
//! The figures are estimates for resvg 0.49 on one core, in round numbers. They need to be right within a factor of two or
//! three: they decide at which resolution a filter is drawn, and the renderer's processor time is limited anyway.

use std::sync::Arc;

use resvg::usvg::filter::{Filter, Kind};
use resvg::usvg::{Group, Node};

/// The groups and filters that an estimate looks at. Beyond that, filters in filters multiply.
const MOST_VISITS: u32 = 100_000;

/// An estimate, which counts what it has looked at.
#[derive(Default)]
pub struct Estimate {
    visits: u32,
}

impl Estimate {
    /// The nanoseconds for the filters of a group, and for those inside of it, in a region of so many pixels. A unit of the
    /// group is `scale` pixels long.
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
                let transform = inner.transform();
                let longer =
                    f64::from(transform.sx.hypot(transform.ky).max(transform.kx.hypot(transform.sy)));
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

/// The buffers that resvg has at once for a group: of its picture twice, and of each primitive's result until the end.
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
            // resvg looks at all neighbours of each pixel.
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
