//! Gradients as bands of one colour each, and the cells of tiling patterns. Screens and the page's pixels have 256
//! shades, so a band for each shade is exact, and every browser draws it alike. Each band reaches below the next, so that
//! no seam shows.

use hayro_interpret::kurbo::{Affine, BezPath, Circle, Point, Rect, Shape as _};

use crate::limits::{MAX_BANDS, MAX_CELLS};
use crate::refusal::Refusal;

/// An opaque gradient. Before the first and after the last stop it has their colours.
pub struct Gradient {
    pub shape: Shape,
    /// From the gradient's coordinates to the page's.
    pub place: Affine,
    /// Offsets from 0 to 1, ascending, with red, green, blue and opacity from 0 to 1.
    pub stops: Vec<(f64, [f32; 4])>,
}

pub enum Shape {
    Linear(Point, Point),
    Radial(Circle, Circle),
}

/// A part of a gradient, in the order in which they are painted.
pub struct Band {
    pub path: BezPath,
    pub colour: [u8; 3],
    pub area: f64,
}

impl Gradient {
    /// Returns the bands that cover a rectangle of the page.
    pub fn bands(mut self, over: Rect) -> Result<Vec<Band>, Refusal> {
        if let Shape::Radial(from, to) = self.shape
            && from.radius > to.radius
        {
            self.shape = Shape::Radial(to, from);
            self.stops.reverse();
            self.stops.iter_mut().for_each(|stop| stop.0 = 1.0 - stop.0);
        }
        let shades = self.shades()?;
        match self.shape {
            Shape::Linear(from, to) => {
                let (dx, dy) = (to.x - from.x, to.y - from.y);
                let place = self.place * Affine::new([dx, dy, -dy, dx, from.x, from.y]);
                linear(&shades, place, over)
            }
            Shape::Radial(inner, outer) => radial(&shades, self.place, (inner, outer), over),
        }
    }

    /// Returns where each shade begins.
    fn shades(&self) -> Result<Vec<(f64, [u8; 3])>, Refusal> {
        if self.stops.iter().any(|(_, colour)| colour[3] < 1.0) {
            return Err(Refusal::Gradient);
        }
        let mut shades: Vec<(f64, [u8; 3])> = Vec::new();
        let mut add = |at: f64, colour: [f32; 3]| {
            let colour = colour.map(|part| (part * 255.0).round() as u8);
            if shades.last().is_none_or(|(_, last)| *last != colour) {
                shades.push((at, colour));
            }
        };
        for pair in self.stops.windows(2) {
            let [(from, first), (to, last)] = *pair else { continue };
            let most = (0..3).map(|part| (last[part] - first[part]).abs()).fold(0.0, f32::max);
            let steps = ((most * 255.0).ceil() as usize).clamp(1, MAX_BANDS);
            for step in 0..steps {
                let middle = (step as f32 + 0.5) / steps as f32;
                let colour = std::array::from_fn(|part| first[part] + (last[part] - first[part]) * middle);
                add(from + (to - from) * step as f64 / steps as f64, colour);
            }
        }
        let &(end, [red, green, blue, _]) = self.stops.last().ok_or(Refusal::Gradient)?;
        add(end, [red, green, blue]);
        if shades.len() > MAX_BANDS { Err(Refusal::Gradient) } else { Ok(shades) }
    }
}

/// Returns bands across the x axis of a space that `place` maps to the page.
fn linear(shades: &[(f64, [u8; 3])], place: Affine, over: Rect) -> Result<Vec<Band>, Refusal> {
    let within = inverse(place, Refusal::Gradient)?.transform_rect_bbox(over);
    let starts =
        |shade: usize| shades.get(shade).map_or(within.x1, |shade| shade.0.clamp(within.x0, within.x1));
    let bands = shades.iter().enumerate().map(|(index, &(_, colour))| {
        let left = if index == 0 { within.x0 } else { starts(index) };
        let rect = Rect::new(left, within.y0, starts(index + 2), within.y1);
        Band { path: place * rect.to_path(0.1), colour, area: rect.area() * place.determinant().abs() }
    });
    Ok(bands.filter(|band| band.area > 0.0).collect())
}

/// Returns rings from the outside to the inside.
fn radial(
    shades: &[(f64, [u8; 3])],
    place: Affine,
    (inner, outer): (Circle, Circle),
    over: Rect,
) -> Result<Vec<Band>, Refusal> {
    inverse(place, Refusal::Gradient)?;
    // Otherwise they make a cone, which leaves parts of the page empty.
    if (outer.center - inner.center).hypot() + inner.radius > outer.radius * 1.000_001 {
        return Err(Refusal::Gradient);
    }
    let disc = |at: f64| {
        let radius = inner.radius + (outer.radius - inner.radius) * at;
        Circle::new(inner.center.lerp(outer.center, at), radius)
    };
    let (_, last) = *shades.last().ok_or(Refusal::Gradient)?;
    let mut bands = vec![Band { path: over.to_path(0.1), colour: last, area: over.area() }];
    for index in (0..shades.len() - 1).rev() {
        let edge = disc(shades[index + 1].0);
        let mut path = edge.to_path(edge.radius * 1e-4);
        let mut area = edge.area();
        // It reaches below the next ring inside. The innermost one is a disc.
        if let Some(below) = index.checked_sub(1) {
            let hole = disc(shades[below].0);
            path.extend(hole.to_path(edge.radius * 1e-4));
            area -= hole.area();
        }
        bands.push(Band {
            path: place * path,
            colour: shades[index].1,
            area: area * place.determinant().abs(),
        });
    }
    Ok(bands.into_iter().filter(|band| band.area > 0.0).collect())
}

/// Returns the places of a pattern's cells that may show in a rectangle of the page.
pub fn cells(
    place: Affine,
    cell: Rect,
    (across, down): (f64, f64),
    over: Rect,
) -> Result<Vec<Affine>, Refusal> {
    let (across, down) = (across.abs(), down.abs());
    let within = inverse(place, Refusal::Pattern)?.transform_rect_bbox(over);
    let (left, right) = ((within.x0 - cell.x1) / across, (within.x1 - cell.x0) / across);
    let (top, bottom) = ((within.y0 - cell.y1) / down, (within.y1 - cell.y0) / down);
    let [left, top, right, bottom] = [left.ceil(), top.ceil(), right.floor(), bottom.floor()];
    let count = (right - left + 1.0) * (bottom - top + 1.0);
    // Not a number if a step is zero.
    if !(count <= MAX_CELLS && left.abs().max(top.abs()) < 1e9) {
        return Err(Refusal::Pattern);
    }
    let rows = (0..=(bottom - top) as i64).map(|row| row as f64 + top);
    let columns = |row: f64| (0..=(right - left) as i64).map(move |column| (column as f64 + left, row));
    Ok(rows.flat_map(columns).map(|(x, y)| place * Affine::translate((x * across, y * down))).collect())
}

fn inverse(place: Affine, refusal: Refusal) -> Result<Affine, Refusal> {
    let inverse = place.inverse();
    if place.determinant().abs() > 1e-12 && inverse.is_finite() { Ok(inverse) } else { Err(refusal) }
}
