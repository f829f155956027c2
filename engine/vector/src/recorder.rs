//! Records what a page draws: outlines, clips, groups and pictures, in the page's coordinates and within the bounds.
//! It is written when all is known, because a later object may hide an earlier one.

use hayro_interpret::kurbo::{Affine, BezPath, PathEl, Point, Rect, Vec2};

use crate::covers::{Cover, Covers};
use crate::drawing::Drawing;
use crate::gradients::Gradient;
use crate::items::{Colour, Item, Kind, Layer, LayerKind, Outline, Pen, Rule, Style};
use crate::limits::{
    FEW_EDGES, LINES_OF_EDGE, MAX_AREA, MAX_BYTES, MAX_COVERED_PIXELS, MAX_DASHES, MAX_EDGES,
    MAX_PICTURE_BYTES, MAX_PICTURE_PIXELS, MAX_SEGMENTS, MAX_SIDE, UNITS,
};
use crate::notation::write;
use crate::picture::Picture;
use crate::refusal::Refusal;

/// Number of styles among which one is looked for that is used again.
const RECENT: usize = 8;

/// What every method of the recorder returns.
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
    covers: Covers,
    segments: usize,
    /// Number of edges that a row of the page crosses.
    edges: f64,
    area: f64,
    dashes: f64,
    picture_pixels: u64,
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
            covers: Covers::default(),
            segments: 0,
            edges: 0.0,
            area: 0.0,
            dashes: 0.0,
            picture_pixels: 0,
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
        let bounds = path.control_box();
        let area = bounds.intersect(self.shown()).area();
        let covers = if joins { Vec::new() } else { Cover::of_fill(path, rule, colour.0) };
        self.path(path, Style::Fill(colour, rule), bounds, area, covers, joins)
    }

    /// Fills a path of the page with a gradient.
    pub fn fill_with_gradient(&mut self, path: &BezPath, rule: Rule, gradient: Gradient) -> Recorded {
        let bounds = path.control_box().intersect(self.shown());
        if bounds.is_zero_area() {
            return Ok(());
        }
        self.push_clip(path, rule)?;
        for band in gradient.bands(bounds)? {
            let covers = Cover::of_fill(&band.path, Rule::EvenOdd, band.colour);
            let style = Style::Fill(Colour(band.colour, 1.0), Rule::EvenOdd);
            self.path(&band.path, style, band.path.control_box(), band.area, covers, false)?;
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
        let placed = place * path.clone();
        let reach = pen.width.max(0.0) / 2.0 * across.max(down) * pen.miter_limit.max(1.5);
        let bounds = placed.control_box().inflate(reach, reach);
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
        let is_whole = pen.dashes.is_empty();
        let covers = if is_whole { Cover::of_line(&placed, pen.width * scale, colour.0) } else { Vec::new() };
        let area = length * (pen.width * scale).max(0.1);
        // A pen that is not round keeps a space of its own, in which a unit is about as large as the page's.
        let by = if is_round { scale } else { scale.max(1e-6) };
        pen.width *= by;
        pen.dash_offset *= by;
        pen.dashes.iter_mut().for_each(|dash| *dash *= by);
        if is_round {
            return self.path(&placed, Style::Stroke(colour, pen, None), bounds, area, covers, true);
        }
        let own = (place * Affine::scale(1.0 / by)).as_coeffs();
        let style = Style::Stroke(colour, pen, Some(own));
        self.path(&(Affine::scale(by) * path.clone()), style, bounds, area, covers, false)
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
            self.count_edges(path, 0.0, 1.0)?; // the number of clips has a bound
            clip.push((data, *rule));
            let bounds = path.control_box();
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
    pub fn on_grid(&self, place: Vec2) -> Vec2 {
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

    fn path(
        &mut self,
        path: &BezPath,
        style: Style,
        bounds: Rect,
        area: f64,
        covers: Vec<Cover>,
        joins: bool,
    ) -> Recorded {
        let is_filled = matches!(style, Style::Fill(..));
        let (Style::Fill(Colour(_, opacity), _) | Style::Stroke(Colour(_, opacity), ..)) = style;
        if path.elements().is_empty() || opacity <= 0.0 || !bounds.overlaps(self.shown()) {
            return if bounds.is_finite() { Ok(()) } else { Err(Refusal::Coordinates) };
        }
        self.count_edges(path, bounds.height(), if is_filled { 1.0 } else { 1.0 / LINES_OF_EDGE })?;
        // A path paints no place twice.
        let area = area.min(bounds.intersect(self.shown()).area());
        let start = self.data.len();
        let segments = write(path, self.unit, &mut self.data)?;
        let data = start..self.data.len();
        let mut recent = self.styles.iter().enumerate().rev().take(RECENT);
        let known = recent.find(|(_, known)| **known == style).map(|(number, _)| number);
        let style = known.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let joins = joins && opacity >= 1.0;
        let covers = if opacity >= 1.0 { covers } else { Vec::new() };
        let rect = if is_filled && !joins { rect_of(path) } else { None };
        let outline = Outline { data, style, segments, joins, rect };
        self.item(Kind::Path(outline), bounds, area, segments, covers)
    }

    /// Counts the edges of a path that has this height on the page. Simple ones cost as much as they paint, which has a bound.
    fn count_edges(&mut self, path: &BezPath, height: f64, weight: f64) -> Recorded {
        let own = path.control_box().height();
        let edges = if own > 0.0 { rise(path) / own * weight } else { 0.0 };
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
        let item = Item { kind, whole, shown, layer: self.current(), number: self.items.len() };
        if self.layer().is_some_and(|layer| layer.is_plain) {
            let shown = self.shown();
            covers.into_iter().for_each(|cover| self.covers.add(cover, item.number, shown));
        }
        self.items.push(item);
        Ok(())
    }
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
    let (mut at, mut start, mut sum) = (Point::ZERO, Point::ZERO, 0.0);
    let mut to = |at: &mut Point, next: Point| {
        sum += of(next - *at);
        *at = next;
    };
    for element in path.elements() {
        match *element {
            PathEl::MoveTo(next) => (at, start) = (next, next),
            PathEl::LineTo(next) => to(&mut at, next),
            PathEl::QuadTo(control, next) => [control, next].into_iter().for_each(|next| to(&mut at, next)),
            PathEl::CurveTo(one, two, next) => {
                [one, two, next].into_iter().for_each(|next| to(&mut at, next))
            }
            PathEl::ClosePath => to(&mut at, start),
        }
    }
    sum
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
