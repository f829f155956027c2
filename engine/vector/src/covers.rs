//! What a picture hides, its vectors must not show: objects wholly below a later opaque one are dropped, and the pixels
//! of pictures below it are blanked. A black bar over a name is the common case.
//!
//! A cover is convex: a rectangle, a rounded one, a disc, a thick line, a picture. Shapes that together hide a word are not
//! recognised; the letters below each are.

use std::f64::consts::TAU;

use hayro_interpret::kurbo::{BezPath, PathEl, Point, Rect, Vec2};

use crate::items::Item;
use crate::limits::MAX_COVERS;

/// Cells of the page across and down, to find covers by place.
const CELLS: usize = 16;
/// Maximum number of covers of a cell. The largest count.
const MAX_IN_CELL: usize = 256;
/// Maximum number of corners.
const MAX_CORNERS: usize = 64;
/// Distance in points by which an object may reach out of its cover, because numbers are rounded.
const TOLERANCE: f64 = 0.02;

/// A convex shape that hides what is below it.
#[derive(Clone, Debug)]
pub struct Cover {
    corners: Vec<Point>,
    bounds: Rect,
    pub colour: [u8; 3],
    /// Number of the object that it is.
    number: usize,
}

/// The covers of a page.
#[derive(Default)]
pub struct Covers(Vec<Cover>);

/// The covers of a page, by place.
pub struct Sorted {
    covers: Vec<Cover>,
    page: Rect,
    cells: Vec<Vec<usize>>,
}

impl Cover {
    /// Returns the cover that a filled path is, if it is convex.
    pub fn of_fill(path: &BezPath, colour: [u8; 3]) -> Option<Self> {
        // The control points of a convex outline are convex, too. The curve is outside the points that it joins.
        let (mut all, mut corners) = (Vec::new(), Vec::new());
        for (index, element) in path.elements().iter().enumerate() {
            let points = match *element {
                PathEl::MoveTo(to) if index == 0 => vec![to],
                PathEl::MoveTo(_) if index + 1 == path.elements().len() => continue,
                PathEl::MoveTo(_) => return None,
                PathEl::LineTo(to) => vec![to],
                PathEl::QuadTo(one, to) => vec![one, to],
                PathEl::CurveTo(one, two, to) => vec![one, two, to],
                PathEl::ClosePath => continue,
            };
            corners.extend(points.last());
            all.extend(points);
            if all.len() > MAX_CORNERS {
                return None;
            }
        }
        is_convex(all).then(|| Self::new(corners, colour)).flatten()
    }

    /// Returns the cover that a straight line of this width is. Its ends may be butt.
    pub fn of_line(path: &BezPath, width: f64, colour: [u8; 3]) -> Option<Self> {
        let [PathEl::MoveTo(from), PathEl::LineTo(to)] = *path.elements() else { return None };
        let along = to - from;
        let side = Vec2::new(-along.y, along.x) / along.hypot() * (width / 2.0);
        Self::new(vec![from + side, to + side, to - side, from - side], colour)
    }

    pub fn new(corners: Vec<Point>, colour: [u8; 3]) -> Option<Self> {
        let mut corners = without_repeats(corners);
        if corners.len() < 3 || corners.iter().any(|corner| !corner.is_finite()) {
            return None;
        }
        // So that the inside is on the left.
        if turn(&corners) < 0.0 {
            corners.reverse();
        }
        let first = Rect::from_points(corners[0], corners[0]);
        let bounds = corners.iter().fold(first, |bounds, &corner| bounds.union_pt(corner));
        Some(Self { corners, bounds, colour, number: 0 })
    }

    /// Returns true if a rectangle is below the cover.
    pub fn hides(&self, rect: Rect) -> bool {
        let at = [(rect.x0, rect.y0), (rect.x1, rect.y0), (rect.x1, rect.y1), (rect.x0, rect.y1)];
        self.holds(&at.map(Point::from))
    }

    /// Returns true if points are below the cover.
    pub fn holds(&self, points: &[Point]) -> bool {
        let next = self.corners.iter().cycle().skip(1);
        self.corners.iter().zip(next).all(|(&from, &to)| {
            let along = to - from;
            let inside = TOLERANCE * along.hypot();
            points.iter().all(|&point| along.cross(point - from) >= -inside)
        })
    }

    pub fn bounds(&self) -> Rect {
        self.bounds
    }
}

impl Covers {
    /// Adds an object of this number, of which the page shows what is in the rectangle.
    pub fn add(&mut self, cover: Cover, number: usize, shown: Rect) {
        let cut = cover.bounds.intersect(shown);
        if cut.width() < TOLERANCE || cut.height() < TOLERANCE {
            return;
        }
        let cover = if cut == cover.bounds { Some(cover) } else { clipped(cover, cut) };
        self.0.extend(cover.map(|cover| Cover { number, ..cover }));
    }

    pub fn sorted(self, page: Rect) -> Sorted {
        let mut covers = self.0;
        covers.sort_by(|one, other| other.bounds.area().total_cmp(&one.bounds.area()));
        covers.truncate(MAX_COVERS);
        let mut cells = vec![Vec::new(); CELLS * CELLS];
        for (number, cover) in covers.iter().enumerate() {
            let (left, top) = cell(page, cover.bounds.x0, cover.bounds.y0);
            let (right, bottom) = cell(page, cover.bounds.x1, cover.bounds.y1);
            for row in top..=bottom {
                let cells = &mut cells[row * CELLS + left..=row * CELLS + right];
                cells.iter_mut().filter(|cell| cell.len() < MAX_IN_CELL).for_each(|cell| cell.push(number));
            }
        }
        Sorted { covers, page, cells }
    }
}

impl Sorted {
    /// Returns the objects that show.
    pub fn without_hidden(&self, items: Vec<Item>) -> Vec<Item> {
        items.into_iter().filter(|item| !self.hide(item)).collect()
    }

    fn hide(&self, item: &Item) -> bool {
        let middle = item.shown.center();
        let (column, row) = cell(self.page, middle.x, middle.y);
        let here = self.cells[row * CELLS + column].iter().filter_map(|&number| self.covers.get(number));
        here.filter(|cover| cover.number > item.number).any(|cover| cover.hides(item.shown))
    }

    /// Returns the covers over a part of an object.
    pub fn over(&self, item: &Item) -> impl Iterator<Item = &Cover> {
        let (bounds, number) = (item.shown, item.number);
        self.covers.iter().filter(move |cover| cover.number > number && cover.bounds.overlaps(bounds))
    }
}

/// Returns the part of a cover in a rectangle.
fn clipped(cover: Cover, within: Rect) -> Option<Cover> {
    let mut corners = cover.corners;
    let sides: [fn(Point, Rect) -> f64; 4] = [
        |point, within| point.x - within.x0,
        |point, within| within.x1 - point.x,
        |point, within| point.y - within.y0,
        |point, within| within.y1 - point.y,
    ];
    for side in sides {
        let mut kept = Vec::with_capacity(corners.len() + 1);
        let next = corners.iter().cycle().skip(1);
        for (&from, &to) in corners.iter().zip(next) {
            let (here, there) = (side(from, within), side(to, within));
            if here >= 0.0 {
                kept.push(from);
            }
            if (here >= 0.0) != (there >= 0.0) {
                kept.push(from.lerp(to, here / (here - there)));
            }
        }
        corners = kept;
    }
    Cover::new(corners, cover.colour)
}

/// Returns true if a figure turns one way only, and once.
fn is_convex(points: Vec<Point>) -> bool {
    let points = without_repeats(points);
    let next = points.iter().cycle().skip(1);
    let sides: Vec<Vec2> = points.iter().zip(next).map(|(from, to)| *to - *from).collect();
    let turns = sides.iter().zip(sides.iter().cycle().skip(1));
    let turns = turns.map(|(one, next)| one.cross(*next).atan2(one.dot(*next)));
    let turns: Vec<f64> = turns.map(|angle| if angle.abs() < 1e-6 { 0.0 } else { angle }).collect();
    let is_one_way = turns.iter().all(|&turn| turn >= 0.0) || turns.iter().all(|&turn| turn <= 0.0);
    is_one_way && (turns.iter().sum::<f64>().abs() - TAU).abs() < 0.01
}

fn without_repeats(mut points: Vec<Point>) -> Vec<Point> {
    let is_same = |one: &Point, other: &Point| one.distance(*other) < 1e-6;
    points.dedup_by(|one, other| is_same(one, other));
    if points.len() > 1 && points.first().zip(points.last()).is_some_and(|(one, other)| is_same(one, other)) {
        points.pop();
    }
    points
}

/// Returns twice the area of a figure, negative if it is clockwise.
fn turn(corners: &[Point]) -> f64 {
    let next = corners.iter().cycle().skip(1);
    corners.iter().zip(next).map(|(from, to)| from.to_vec2().cross(to.to_vec2())).sum()
}

fn cell(page: Rect, x: f64, y: f64) -> (usize, usize) {
    let of = |part: f64| ((part * CELLS as f64) as usize).min(CELLS - 1);
    (of((x - page.x0) / page.width()), of((y - page.y0) / page.height()))
}
