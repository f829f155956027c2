//! Records what a page draws: outlines, clips, groups and pictures, in the page's coordinates and within the bounds.
//! It is written when all is known, because a later object may hide an earlier one.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_interpret::kurbo::{Affine, BezPath, CubicBez, PathEl, Point, Rect, Vec2};

use crate::covers::{Cover, Covers};
use crate::drawing::Drawing;
use crate::gradients::Gradient;
use crate::items::{Colour, Item, Kind, Layer, LayerKind, Outline, Pen, Rule, Style};
use crate::limits::{
    FEW_EDGES, LINES_OF_EDGE, MAX_AREA, MAX_BYTES, MAX_COVERED_PIXELS, MAX_DASHES, MAX_EDGES,
    MAX_PICTURE_BYTES, MAX_PICTURE_PIXELS, MAX_SEGMENTS, MAX_SIDE, MIN_COVER, UNITS,
};
use crate::notation::{begin, write};
use crate::picture::Picture;
use crate::refusal::Refusal;

/// Number of styles among which one is looked for that is used again.
const RECENT: usize = 8;

/// The result of every method of the recorder.
pub type Recorded = Result<(), Refusal>;

pub struct Recorder {
    page: Rect,
    unit: f64,
    /// The data of all paths.
    data: String,
    items: Vec<Item>,
    styles: Vec<Style>,
    layers: Vec<Layer>,
    /// The open layers, each with the number in `layers`.
    open: Vec<usize>,
    pictures: Vec<Picture>,
    letters: HashMap<(u128, [u64; 6]), Rc<Letter>>,
    letter_bytes: usize,
    covers: Covers,
    segments: usize,
    /// Number of edges that a row of the page crosses.
    edges: f64,
    area: f64,
    dashes: f64,
    picture_pixels: u64,
    /// True for objects in place of letters that the interpreter does not have.
    pub is_substitute: bool,
}

impl Recorder {
    /// Makes a recorder for a page of this size in points, with at least this number of units on its longer side.
    pub fn new(width: f64, height: f64, least_units: f64) -> Result<Self, Refusal> {
        let longer = width.max(height);
        if !(width.min(height) > 0.0 && longer <= MAX_SIDE) {
            return Err(Refusal::Coordinates);
        }
        let page = Rect::new(0.0, 0.0, width, height);
        let whole = Layer { around: None, kind: LayerKind::Page, shown: page, is_plain: true };
        Ok(Self {
            page,
            unit: UNITS.max((least_units / longer).ceil()),
            data: String::new(),
            items: Vec::new(),
            styles: Vec::new(),
            layers: vec![whole],
            open: vec![0],
            pictures: Vec::new(),
            letters: HashMap::new(),
            letter_bytes: 0,
            covers: Covers::default(),
            segments: 0,
            edges: 0.0,
            area: 0.0,
            dashes: 0.0,
            picture_pixels: 0,
            is_substitute: false,
        })
    }

    /// Returns the drawing, without what later objects hide.
    pub fn finish(self) -> Result<Drawing, Refusal> {
        let Self { page, unit, data, mut items, styles, layers, mut pictures, covers, .. } = self;
        let covers = covers.sorted(page);
        items = covers.without_hidden(items);
        if !items.iter().any(|item| matches!(item.kind, Kind::Path(_))) {
            return Err(Refusal::NoOutlines);
        }
        let mut bytes = 0;
        let mut looked_at = 0;
        for item in &items {
            let Kind::Picture(number) = item.kind else { continue };
            let Some(picture) = pictures.get_mut(number) else { continue };
            looked_at += picture.hide(covers.over(item))?;
            bytes += picture.encode()?;
            if bytes > MAX_PICTURE_BYTES || looked_at > MAX_COVERED_PIXELS {
                return Err(Refusal::Pictures);
            }
        }
        Ok(Drawing { page, unit, data, items, styles, layers, pictures, is_by_pdfium: false })
    }

    /// Fills a path of the page. `joins` says that it may become one element with its neighbours, as letters do.
    pub fn fill(&mut self, path: &BezPath, colour: Colour, rule: Rule, joins: bool) -> Recorded {
        self.figure(path, colour, rule, f64::INFINITY, joins)
    }

    /// Fills a path that paints this area at most.
    fn figure(&mut self, path: &BezPath, colour: Colour, rule: Rule, area: f64, joins: bool) -> Recorded {
        let bounds = path.control_box();
        let covers = if joins { Vec::new() } else { Cover::of_fill(path, rule, colour.0) };
        let rect = if joins { None } else { rect_of(path) };
        let shape = Shape { bounds, area, edges: edges(path, bounds), covers, joins, rect };
        let unit = self.unit;
        self.path(Style::Fill(colour, rule), shape, |data| write(path, unit, data))
    }

    /// Fills a letter of which others have the same key. On the grid, it has the same numbers wherever it is.
    pub fn letter(
        &mut self,
        key: u128,
        outline: impl FnOnce() -> BezPath,
        place: Affine,
        colour: Colour,
        rule: Rule,
    ) -> Recorded {
        let at = self.on_grid(place.translation());
        let form = place.with_translation(Vec2::ZERO);
        let key = (key, form.as_coeffs().map(f64::to_bits));
        let letter = match self.letters.get(&key) {
            Some(letter) => letter.clone(),
            None => {
                let letter = Rc::new(Letter::new(&(form * outline()), self.unit)?);
                self.letter_bytes += letter.data.len();
                if self.letter_bytes <= MAX_BYTES {
                    self.letters.insert(key, letter.clone());
                }
                letter
            }
        };
        let (bounds, edges) = (letter.bounds + at, letter.edges);
        let shape = Shape { bounds, area: f64::INFINITY, edges, covers: Vec::new(), joins: true, rect: None };
        let unit = self.unit;
        self.path(Style::Fill(colour, rule), shape, |data| letter.write(at * unit, data))
    }

    /// Fills a path of the page with a gradient.
    pub fn fill_with_gradient(&mut self, path: &BezPath, rule: Rule, gradient: Gradient) -> Recorded {
        let bounds = path.control_box().intersect(self.shown());
        if bounds.is_zero_area() {
            return Ok(());
        }
        self.push_clip(path, rule)?;
        for band in gradient.bands(bounds)? {
            self.figure(&band.path, Colour(band.colour, 1.0), Rule::EvenOdd, band.area, false)?;
        }
        self.pop();
        Ok(())
    }

    /// Strokes a path, which `place` maps to the page.
    pub fn stroke(&mut self, path: &BezPath, place: Affine, pen: &Pen, colour: Colour) -> Recorded {
        let [a, b, c, d, ..] = place.as_coeffs();
        let (across, down) = (a.hypot(b), c.hypot(d));
        let scale = place.determinant().abs().sqrt();
        let is_round =
            (across - down).abs() <= 1e-3 * across.max(down) && (a * c + b * d).abs() <= 1e-3 * across * down;
        let placed = place * path;
        let control_box = placed.control_box();
        let reach = pen.width.max(0.0) / 2.0 * across.max(down) * pen.miter_limit.max(1.5);
        let bounds = control_box.inflate(reach, reach);
        let length = length(&placed);
        let mut pen = pen.clone();
        let period: f64 = pen.dashes.iter().sum();
        if !(period > 0.0 && pen.dashes.iter().all(|&dash| dash >= 0.0)) {
            pen.dashes.clear();
        } else {
            self.dashes += length / scale.max(1e-9) / period * pen.dashes.len() as f64;
            if self.dashes.is_nan() || self.dashes > MAX_DASHES {
                return Err(Refusal::Dashes);
            }
        }
        let hides = pen.dashes.is_empty() && pen.width * scale >= MIN_COVER;
        let covers = if hides { Cover::of_line(&placed, pen.width * scale, colour.0) } else { Vec::new() };
        let area = length * (pen.width * scale).max(0.1);
        // A pen that is not round keeps a space of its own, in which a unit is about as large as the page's.
        let by = if is_round { scale } else { scale.max(1e-6) };
        pen.width *= by;
        pen.dash_offset *= by;
        pen.dashes.iter_mut().for_each(|dash| *dash *= by);
        let edges = edges(&placed, control_box) / LINES_OF_EDGE;
        let shape = Shape { bounds, area, edges, covers, joins: is_round, rect: None };
        let unit = self.unit;
        if is_round {
            return self.path(Style::Stroke(colour, pen, None), shape, |data| write(&placed, unit, data));
        }
        let own = (place * Affine::scale(1.0 / by)).as_coeffs();
        let path = Affine::scale(by) * path;
        self.path(Style::Stroke(colour, pen, Some(own)), shape, |data| write(&path, unit, data))
    }

    /// Draws a picture, which the place maps from its pixels to the page.
    pub fn picture(&mut self, mut picture: Picture) -> Recorded {
        let Some(bounds) = picture.crop(self.shown()) else { return Ok(()) };
        self.picture_pixels += picture.pixel_count();
        if self.picture_pixels > MAX_PICTURE_PIXELS {
            return Err(Refusal::Pictures);
        }
        let covers = picture.cover().into_iter().collect();
        let kind = Kind::Picture(self.pictures.len());
        self.pictures.push(picture);
        self.item(kind, bounds, bounds.intersect(self.shown()).area(), 0, covers)
    }

    /// Shows what comes next within a path of the page only.
    pub fn push_clip(&mut self, path: &BezPath, rule: Rule) -> Recorded {
        self.push_clips(&[(path.clone(), rule)])
    }

    /// Shows what comes next within any of these paths only.
    pub fn push_clips(&mut self, paths: &[(BezPath, Rule)]) -> Recorded {
        if let [(path, _)] = paths
            && let Some(rect) = rect_of(path)
        {
            let shown = self.shown().intersect(rect);
            return self.push(LayerKind::Rect(rect), shown, true);
        }
        let mut clip = Vec::with_capacity(paths.len());
        let mut shown: Option<Rect> = None;
        for (path, rule) in paths {
            let mut data = String::new();
            self.segments += write(path, self.unit, &mut data)?;
            let bounds = path.control_box();
            self.count_edges(edges(path, bounds), 0.0)?; // the number of clips has a bound
            clip.push((data, *rule));
            shown = Some(shown.map_or(bounds, |known| known.union(bounds)));
        }
        if self.segments > MAX_SEGMENTS {
            return Err(Refusal::Segments);
        }
        let shown = shown.unwrap_or(Rect::ZERO).intersect(self.shown());
        self.push(LayerKind::Clip(clip), shown, false)
    }

    /// Makes what comes next translucent as a whole.
    pub fn push_opacity(&mut self, opacity: f32) -> Recorded {
        self.push(LayerKind::Opacity(opacity), self.shown(), false)
    }

    /// Opens a layer that changes nothing.
    pub fn push_nothing(&mut self) -> Recorded {
        self.open.push(self.current());
        Ok(())
    }

    /// Closes the last layer.
    pub fn pop(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// Returns the smallest rectangle around what is shown here.
    pub fn shown(&self) -> Rect {
        self.layer().map_or(Rect::ZERO, |layer| layer.shown)
    }

    /// Returns a place on the grid of whole units.
    fn on_grid(&self, place: Vec2) -> Vec2 {
        Vec2::new((place.x * self.unit).round() / self.unit, (place.y * self.unit).round() / self.unit)
    }

    fn current(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    fn layer(&self) -> Option<&Layer> {
        self.layers.get(self.current())
    }

    fn push(&mut self, mut kind: LayerKind, mut shown: Rect, is_plain: bool) -> Recorded {
        let mut around = self.current();
        let parent = self.layer();
        let is_plain = is_plain && parent.is_some_and(|layer| layer.is_plain);
        // Two rectangles are one.
        if let (
            LayerKind::Rect(inner),
            Some(Layer { kind: LayerKind::Rect(outer), around: Some(above), .. }),
        ) = (&mut kind, parent)
        {
            (*inner, around) = (inner.intersect(*outer), *above);
        }
        if !shown.is_finite() {
            shown = Rect::ZERO;
        }
        // The same clip again is the same layer, so that its content is one group. A group is always one of its own.
        let is_same = |layer: &&Layer| layer.around == Some(around) && layer.kind == kind;
        let known = self.layers.last().filter(is_same).filter(|_| !matches!(kind, LayerKind::Opacity(_)));
        if known.is_none() {
            self.layers.push(Layer { around: Some(around), kind, shown, is_plain });
        }
        if self.layers.len() > MAX_SEGMENTS / 4 {
            return Err(Refusal::Groups);
        }
        self.open.push(self.layers.len() - 1);
        Ok(())
    }

    /// Records a path, which `write` adds to the data of all; it returns the number of segments.
    fn path(
        &mut self,
        style: Style,
        shape: Shape,
        write: impl FnOnce(&mut String) -> Result<usize, Refusal>,
    ) -> Recorded {
        let Shape { bounds, area, edges, covers, joins, rect } = shape;
        let (Style::Fill(Colour(_, opacity), _) | Style::Stroke(Colour(_, opacity), ..)) = style;
        if opacity <= 0.0 || !bounds.overlaps(self.shown()) {
            return if bounds.is_finite() { Ok(()) } else { Err(Refusal::Coordinates) };
        }
        self.count_edges(edges, bounds.height())?;
        // A path paints no place twice.
        let area = area.min(bounds.intersect(self.shown()).area());
        let start = self.data.len();
        let segments = write(&mut self.data)?;
        if segments == 0 {
            return Ok(());
        }
        let data = start..self.data.len();
        let mut recent = self.styles.iter().enumerate().rev().take(RECENT);
        let known = recent.find(|(_, known)| **known == style).map(|(number, _)| number);
        let style = known.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let joins = joins && opacity >= 1.0;
        let covers = if opacity >= 1.0 { covers } else { Vec::new() };
        let outline = Outline { data, style, segments, joins, rect };
        self.item(Kind::Path(outline), bounds, area, segments, covers)
    }

    /// Counts the edges of a path of this height on the page. Simple ones cost as much as they paint, which has a bound.
    fn count_edges(&mut self, edges: f64, height: f64) -> Recorded {
        if edges > FEW_EDGES {
            self.edges += edges * height.min(self.page.height()) / self.page.height();
        }
        if edges.max(self.edges) > MAX_EDGES { Err(Refusal::Edges) } else { Ok(()) }
    }

    fn item(&mut self, kind: Kind, bounds: Rect, area: f64, segments: usize, covers: Vec<Cover>) -> Recorded {
        self.segments += segments;
        self.area += area;
        if self.segments > MAX_SEGMENTS {
            return Err(Refusal::Segments);
        }
        if self.data.len() > MAX_BYTES {
            return Err(Refusal::Bytes);
        }
        if self.area > MAX_AREA * self.page.area() {
            return Err(Refusal::Area);
        }
        let (whole, shown) = (bounds.intersect(self.page), bounds.intersect(self.shown()));
        let (layer, number, is_substitute) = (self.current(), self.items.len(), self.is_substitute);
        let item = Item { kind, whole, shown, layer, number, is_substitute };
        if self.layer().is_some_and(|layer| layer.is_plain) {
            let shown = self.shown();
            covers.into_iter().for_each(|cover| self.covers.add(cover, item.number, shown));
        }
        self.items.push(item);
        Ok(())
    }
}

/// Facts about a path.
struct Shape {
    bounds: Rect,
    /// Maximum of the painted area, if it is less than that of the bounds.
    area: f64,
    /// Number of edges that a row of pixels crosses.
    edges: f64,
    covers: Vec<Cover>,
    joins: bool,
    /// Its place, if it is a filled rectangle.
    rect: Option<Rect>,
}

/// A letter at the page's corner.
struct Letter {
    /// Its first point, in units.
    first: Vec2,
    /// The data of the rest.
    data: String,
    segments: usize,
    bounds: Rect,
    edges: f64,
}

impl Letter {
    fn new(path: &BezPath, unit: f64) -> Result<Self, Refusal> {
        let mut data = String::new();
        let segments = write(path, unit, &mut data)?;
        let first = path.elements().first().and_then(PathEl::end_point).unwrap_or_default();
        let rest = data.get(1..).and_then(|rest| rest.find(|byte: char| byte.is_ascii_alphabetic()));
        data.replace_range(..rest.map_or(data.len(), |rest| rest + 1), "");
        let bounds = path.control_box();
        let first = first.to_vec2() * unit;
        Ok(Self {
            first: Vec2::new(first.x.round(), first.y.round()),
            data,
            segments,
            bounds,
            edges: edges(path, bounds),
        })
    }

    /// Writes the letter at a place on the grid.
    fn write(&self, at: Vec2, data: &mut String) -> Result<usize, Refusal> {
        if self.segments > 0 {
            begin(self.first + at, data)?;
            data.push_str(&self.data);
        }
        Ok(self.segments)
    }
}

/// Returns the number of edges that a row of pixels crosses, on average over the height of a path with these bounds.
fn edges(path: &BezPath, bounds: Rect) -> f64 {
    if bounds.height() > 0.0 { rise(path) / bounds.height() } else { 0.0 }
}

/// Returns the length of a path's control polygon.
fn length(path: &BezPath) -> f64 {
    sum_of_sides(path, Vec2::hypot)
}

/// Returns the sum of all ways up and down along a path's control polygon.
fn rise(path: &BezPath) -> f64 {
    sum_of_sides(path, |side| side.y.abs())
}

fn sum_of_sides(path: &BezPath, of: impl Fn(Vec2) -> f64) -> f64 {
    let sides = path.segments().map(|segment| {
        let CubicBez { p0, p1, p2, p3 } = segment.to_cubic();
        of(p1 - p0) + of(p2 - p1) + of(p3 - p2)
    });
    sides.sum()
}

/// Returns the rectangle that a path is, if its sides are those of the page.
pub fn rect_of(path: &BezPath) -> Option<Rect> {
    let mut corners = Vec::with_capacity(5);
    for element in path.elements() {
        match *element {
            PathEl::MoveTo(corner) if corners.is_empty() => corners.push(corner),
            PathEl::LineTo(corner) if corners.len() < 5 => corners.push(corner),
            PathEl::ClosePath => break,
            _ => return None,
        }
    }
    // Nothing may follow the first figure.
    let rest = path.elements().iter().skip_while(|element| **element != PathEl::ClosePath);
    if rest.skip(1).any(|element| !matches!(element, PathEl::MoveTo(_))) {
        return None;
    }
    if corners.len() == 5 && corners.first() == corners.last() {
        corners.pop();
    }
    let bounds = path.control_box();
    let [one, two, three, four] = *corners else { return None };
    let near = |one: f64, other: f64| (one - other).abs() < 1e-3;
    let is_upright = |one: Point, two: Point, three: Point, four: Point| {
        near(one.x, two.x) && near(two.y, three.y) && near(three.x, four.x) && near(four.y, one.y)
    };
    (is_upright(one, two, three, four) || is_upright(two, three, four, one)).then_some(bounds)
}
