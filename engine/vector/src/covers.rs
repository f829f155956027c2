//! What a picture hides, its vectors must not show: objects wholly below a later opaque one are dropped, and the pixels
//! of pictures below it are blanked. A black bar over a name is the common case.
//!
//! A cover is convex: a rectangle, a rounded one, a disc, a thick line, a picture. What covers hide only together is
//! found by subtracting one after the other; [`unseen`](crate::unseen) finds the rest by pixels.

use std::f64::consts::TAU;

use hayro_interpret::kurbo::{BezPath, PathEl, Point, Rect, Vec2};

use crate::items::{Item, Rule};
use crate::limits::MAX_COVERS;

/// Cells of the page across and down, to find covers by place.
const CELLS: usize = 16;
/// Maximum number of covers of a cell. The largest count.
const MAX_IN_CELL: usize = 256;
/// Maximum number of corners, and of covers in one path.
const MAX_CORNERS: usize = 64;
/// Maximum number of cells in which an object's covers are looked for, and number of its parts that may show at once.
const MAX_OBJECT_CELLS: usize = 4;
const MAX_PARTS: usize = 32;
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
    /// Returns the covers that a filled path is: each of its figures, if all are convex, and none is a hole in another.
    pub fn of_fill(path: &BezPath, rule: Rule, colour: [u8; 3]) -> Vec<Self> {
        let (mut covers, mut is_left) = (Vec::<Self>::new(), Vec::new());
        for figure in path.subpaths() {
            // The control points of a convex outline are convex, too. The curve is outside the points that it joins.
            let points = figure.iter().flat_map(|element| match *element {
                PathEl::MoveTo(to) | PathEl::LineTo(to) => vec![to],
                PathEl::QuadTo(one, to) => vec![one, to],
                PathEl::CurveTo(one, two, to) => vec![one, two, to],
                PathEl::ClosePath => vec![],
            });
            let all: Vec<_> = points.take(MAX_CORNERS + 1).collect();
            if all.len() < 2 {
                continue;
            }
            if all.len() > MAX_CORNERS || covers.len() == MAX_CORNERS || !is_convex(all) {
                return Vec::new();
            }
            let corners: Vec<_> = figure.iter().filter_map(PathEl::end_point).collect();
            is_left.push(turn(&corners) > 0.0);
            covers.extend(Self::new(corners, colour));
        }
        let is_one_way = rule == Rule::NonZero && is_left.iter().all(|left| is_left.first() == Some(left));
        let after = |(index, cover): (usize, &Self)| {
            covers.iter().skip(index + 1).all(|next| !next.bounds.overlaps(cover.bounds))
        };
        if is_one_way || covers.iter().enumerate().all(after) { covers } else { Vec::new() }
    }

    /// Returns the covers that the straight parts of a line of this width are. Its ends may be butt.
    pub fn of_line(path: &BezPath, width: f64, colour: [u8; 3]) -> Vec<Self> {
        let parts = path.elements().windows(2).take(MAX_CORNERS).filter_map(|part| match *part {
            [PathEl::MoveTo(from) | PathEl::LineTo(from), PathEl::LineTo(to)] => Some((from, to)),
            _ => None,
        });
        let cover = |(from, to): (Point, Point)| {
            let along = to - from;
            let side = Vec2::new(-along.y, along.x) / along.hypot() * (width / 2.0);
            Self::new(vec![from + side, to + side, to - side, from - side], colour)
        };
        parts.filter_map(cover).collect()
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
        self.holds(&corners_of(rect))
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

    /// Adds the parts of a convex figure that show beside the cover.
    fn cut(&self, figure: Vec<Point>, shown: &mut Vec<Vec<Point>>) {
        let mut below = figure;
        for (&from, &to) in self.corners.iter().zip(self.corners.iter().cycle().skip(1)) {
            let along = (to - from) / (to - from).hypot();
            let inside = |point: Point| along.cross(point - from) + TOLERANCE;
            let beside = half(&below, |point| -inside(point));
            below = half(&below, inside);
            if turn(&beside).abs() > TOLERANCE * TOLERANCE {
                shown.push(beside);
            }
        }
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
        let mut here = self.later(item, (middle.x, middle.y), (middle.x, middle.y));
        let Rect { x0, y0, x1, y1 } = item.shown;
        let together = || self.later(item, (x0, y0), (x1, y1)).collect::<Vec<_>>();
        here.any(|cover| cover.hides(item.shown)) || hide_together(&together(), &corners_of(item.shown))
    }

    /// Returns the covers over an object from the cell of one place to that of another, if these are few.
    fn later<'a>(
        &'a self,
        item: &'a Item,
        first: (f64, f64),
        last: (f64, f64),
    ) -> impl Iterator<Item = &'a Cover> {
        let (left, top) = cell(self.page, first.0, first.1);
        let (right, bottom) = cell(self.page, last.0, last.1);
        let is_small = (right + 1 - left) * (bottom + 1 - top) <= MAX_OBJECT_CELLS;
        let rows = (top..=bottom).filter(move |_| is_small);
        let cells = rows.flat_map(move |row| &self.cells[row * CELLS + left..=row * CELLS + right]);
        let covers = cells.flatten().filter_map(|&number| self.covers.get(number));
        covers.filter(|cover| cover.number > item.number && cover.bounds.overlaps(item.shown))
    }

    /// Returns the covers over a part of an object.
    pub fn over(&self, item: &Item) -> impl Iterator<Item = &Cover> {
        let (bounds, number) = (item.shown, item.number);
        self.covers.iter().filter(move |cover| cover.number > number && cover.bounds.overlaps(bounds))
    }
}

/// Returns true if several covers hide all of a convex figure.
pub fn hide_together(covers: &[&Cover], figure: &[Point]) -> bool {
    let Some(first) = figure.first().filter(|_| covers.len() > 1) else { return false };
    let bounds =
        figure.iter().fold(Rect::from_points(*first, *first), |bounds, point| bounds.union_pt(*point));
    let area: f64 = covers.iter().map(|cover| cover.bounds.intersect(bounds).area()).sum();
    // The rounded boxes of neighbours may be a little apart.
    if area * 2.2 < turn(figure).abs() {
        return false;
    }
    let mut shown = vec![figure.to_vec()];
    for cover in covers {
        for figure in std::mem::take(&mut shown) {
            cover.cut(figure, &mut shown);
        }
        if shown.is_empty() || shown.len() > MAX_PARTS {
            break;
        }
    }
    shown.is_empty()
}

fn corners_of(Rect { x0, y0, x1, y1 }: Rect) -> [Point; 4] {
    [(x0, y0), (x1, y0), (x1, y1), (x0, y1)].map(Point::from)
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
        corners = half(&corners, |point| side(point, within));
    }
    Cover::new(corners, cover.colour)
}

/// Returns the part of a convex figure where `side` is not negative.
fn half(corners: &[Point], side: impl Fn(Point) -> f64) -> Vec<Point> {
    let mut kept = Vec::with_capacity(corners.len() + 1);
    for (&from, &to) in corners.iter().zip(corners.iter().cycle().skip(1)) {
        let (here, there) = (side(from), side(to));
        if here >= 0.0 {
            kept.push(from);
        }
        if (here >= 0.0) != (there >= 0.0) {
            kept.push(from.lerp(to, here / (here - there)));
        }
    }
    kept
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
