//! The marked content of a page: which text belongs to which element of the structure tree, where texts are drawn, and
//! where pictures are. PDFium knows it, but its binding does not give it. So the content is read here as well, and texts
//! are numbered in their order, which is that of PDFium's objects. No text is decoded.
//!
//! Source: ISO 32000-1, 8.5.4 (clipping paths), 8.10 (form XObjects), 8.11 (optional content), 9.4.3 (text-showing
//! operators), 14.6 (marked content), 14.7.4.

use std::collections::HashMap;
use std::io::Read;
use std::mem::take;
use std::time::Instant;

use flate2::read::ZlibDecoder;
use hayro_syntax::Filter;
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Operator;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Number, Object, Rect, Stream, String as Bytes};
use hayro_syntax::page::{Page, Resources};

use super::layers::Layers;
use super::strings::decode;

/// Maximum depth of drawings inside each other. It is that of the search for PDFium's objects.
pub const MAX_DEPTH: usize = 8;
/// Maximum number of operators of a page. Each takes about 0.1 µs.
const MAX_OPERATORS: usize = 1 << 20;
/// Maximum length of a page's content, unpacked.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of states and of marks inside each other.
const MAX_NESTED: usize = 1024;
/// Number of operators between two looks at the clock.
const PER_LOOK: usize = 1024;

/// A piece of marked content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag {
    /// Number of its page or drawing in the parent tree.
    pub parents: i32,
    /// Its number there; `None` for the whole drawing.
    pub id: Option<i32>,
}

/// The marked content of a page.
pub struct Marks {
    pub texts: Vec<Text>,
    /// Places of the pictures and paths with a tag.
    pub areas: HashMap<Tag, Area>,
    /// Numbers of texts, and the letters that the content has instead of theirs (ActualText), if PDFium drops these.
    pub unread: Vec<(usize, String)>,
}

/// A text of a page.
#[derive(Clone, Copy)]
pub struct Text {
    pub tag: Option<Tag>,
    /// The part of the page in which it is drawn, if that is less than the page.
    pub within: Option<Area>,
}

/// Left, bottom, right and top, in points.
pub type Area = [f64; 4];

const EVERYWHERE: Area = [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY];
/// The place of what belongs to a layer that is off.
const NOWHERE: Area = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];

/// The place of a picture in its coordinates.
const PICTURE: Area = [0.0, 0.0, 1.0, 1.0];

/// From a drawing's coordinates to the page's: x' = a·x + c·y + e, y' = b·x + d·y + f.
type Matrix = [f64; 6];

#[derive(Clone, Copy)]
struct State {
    matrix: Matrix,
    /// Text without a font is not drawn.
    has_font: bool,
    /// The smallest rectangle around the clipping path.
    clip: Area,
}

struct Reader<'a> {
    marks: Marks,
    layers: &'a Layers,
    page: Area,
    operators: usize,
    bytes: usize,
    until: Instant,
}

impl Marks {
    /// Reads the content of a page. Returns `None` if it is too much, or packed in an uncommon way.
    pub fn read(page: &Page<'_>, layers: &Layers, until: Instant) -> Option<Self> {
        let parents = page.raw().get::<i32>("StructParents").unwrap_or(-1);
        let Rect { x0, y0, x1, y1 } = page.intersected_crop_box();
        let marks = Self { texts: Vec::new(), areas: HashMap::new(), unread: Vec::new() };
        let area = [x0, y0, x1, y1];
        let mut reader = Reader { marks, layers, page: area, operators: 0, bytes: MAX_BYTES, until };
        let mut content = Vec::new();
        if let Some(stream) = page.raw().get::<Stream<'_>>("Contents") {
            content = reader.unpack(&stream)?;
        } else if let Some(streams) = page.raw().get::<Array<'_>>("Contents") {
            for stream in streams.raw_iter() {
                let MaybeRef::Ref(stream) = stream else { continue };
                let Some(stream) = page.xref().get::<Stream<'_>>(stream.into()) else { continue };
                content.extend(reader.unpack(&stream)?);
                content.push(b' ');
            }
        }
        let state = State { matrix: [1.0, 0.0, 0.0, 1.0, 0.0, 0.0], has_font: false, clip: EVERYWHERE };
        reader.run(&content, page.resources(), state, (parents, None), 0)?;
        Some(reader.marks)
    }
}

impl Reader<'_> {
    /// Returns the content of a stream. Its length unpacked is limited, unlike in the parser.
    fn unpack(&mut self, stream: &Stream<'_>) -> Option<Vec<u8>> {
        let raw = stream.raw_data();
        let predicts = || {
            let parameters = stream.dict().get::<Dict<'_>>("DecodeParms")?;
            parameters.get::<i32>("Predictor").filter(|&predictor| predictor > 1)
        };
        let mut content = Vec::new();
        match stream.filters().as_slice() {
            [] if raw.len() <= self.bytes => content = raw.into_owned(),
            [Filter::FlateDecode] if predicts().is_none() => {
                ZlibDecoder::new(&raw[..]).take(self.bytes as u64 + 1).read_to_end(&mut content).ok()?;
            }
            _ => return None,
        }
        self.bytes = self.bytes.checked_sub(content.len())?;
        Some(content)
    }

    /// Reads the content of a page or a drawing. `parents` is its number in the parent tree, with the tag of the
    /// drawing.
    fn run(
        &mut self,
        content: &[u8],
        resources: &Resources<'_>,
        mut state: State,
        (parents, mut tag): (i32, Option<Tag>),
        depth: usize,
    ) -> Option<()> {
        let (mut states, mut tags) = (Vec::new(), Vec::new());
        let (mut path, mut clips, mut is_off) = (None, false, false);
        let mut unread = None;
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.operators += 1;
            let is_late = self.operators.is_multiple_of(PER_LOOK) && Instant::now() > self.until;
            if is_late || self.operators > MAX_OPERATORS || states.len().max(tags.len()) > MAX_NESTED {
                return None;
            }
            match operator {
                Operator::SaveState(_) => states.push(state),
                Operator::RestoreState(_) => state = states.pop().unwrap_or(state),
                Operator::Transform(by) => {
                    let by = [by.0, by.1, by.2, by.3, by.4, by.5].map(|number| number.as_f64());
                    state.matrix = product(by, state.matrix);
                }
                Operator::TextFont(_) => state.has_font = true,
                Operator::BeginMarkedContent(mark) => {
                    tags.push((tag, is_off));
                    tag = tag.filter(|_| !is_artifact(mark.0));
                }
                Operator::BeginMarkedContentWithProperties(mark) => {
                    tags.push((tag, is_off));
                    let id = match mark.1 {
                        Object::Dict(properties) => {
                            unread = unread_in(properties);
                            properties.get::<i32>("MCID")
                        }
                        Object::Name(name) if **mark.0 == *b"OC" => {
                            is_off |= self.layers.hide(&resources.properties, name);
                            None
                        }
                        Object::Name(name) => properties_of(resources, name),
                        _ => None,
                    };
                    let own = id.filter(|&id| id >= 0).map(|id| Tag { parents, id: Some(id) });
                    tag = own.or(tag).filter(|_| !is_artifact(mark.0));
                }
                Operator::EndMarkedContent(_) => {
                    (tag, is_off) = tags.pop().unwrap_or((tag, is_off));
                    unread = None;
                }
                Operator::ClipNonZero(_) | Operator::ClipEvenOdd(_) => clips = true,
                Operator::EndPath(_) => state.end_path(path.take(), take(&mut clips)),
                Operator::StrokePath(_)
                | Operator::CloseAndStrokePath(_)
                | Operator::FillPathNonZero(_)
                | Operator::FillPathNonZeroCompatibility(_)
                | Operator::FillPathEvenOdd(_)
                | Operator::FillAndStrokeNonZero(_)
                | Operator::FillAndStrokeEvenOdd(_)
                | Operator::CloseFillAndStrokeNonZero(_)
                | Operator::CloseFillAndStrokeEvenOdd(_) => {
                    self.cover(tag, path, state.shown(is_off));
                    state.end_path(path.take(), take(&mut clips));
                }
                Operator::InlineImage(_) => {
                    self.cover(tag, placed(PICTURE, state.matrix), state.shown(is_off))
                }
                Operator::XObject(name) => {
                    let Some(object) = resources.get_x_object(name.0) else { continue };
                    let state = State { clip: state.shown(is_off), ..state };
                    self.draw(&object, resources, state, (parents, tag), depth)?;
                }
                other if shows_text(&other) => {
                    if state.has_font {
                        let shown = state.shown(is_off);
                        let tag = tag.filter(|_| !is_empty(shown));
                        let within = Some(shown).filter(|_| !holds(shown, self.page));
                        let letters = unread.take().filter(|_| !is_empty(shown));
                        self.marks.unread.extend(letters.map(|letters| (self.marks.texts.len(), letters)));
                        self.marks.texts.push(Text { tag, within });
                    }
                }
                other => each_point(&other, |x, y| extend(&mut path, point(state.matrix, x, y))),
            }
        }
        Some(())
    }

    /// Adds a picture, or reads a drawing.
    fn draw(
        &mut self,
        object: &Stream<'_>,
        outer: &Resources<'_>,
        state: State,
        (parents, tag): (i32, Option<Tag>),
        depth: usize,
    ) -> Option<()> {
        let dictionary = object.dict();
        let whole = dictionary.get::<i32>("StructParent").map(|parents| Tag { parents, id: None });
        let tag = whole.or(tag);
        let clip = if self.layers.hide(dictionary, "OC") { NOWHERE } else { state.clip };
        if dictionary.get::<Name<'_>>("Subtype").is_none_or(|kind| *kind != *b"Form") {
            self.cover(tag, placed(PICTURE, state.matrix), clip);
            return Some(());
        }
        if depth >= MAX_DEPTH {
            return Some(());
        }
        let content = self.unpack(object)?;
        let by = dictionary.get::<Array<'_>>("Matrix").and_then(|by| <[f32; 6]>::try_from(by).ok());
        let matrix = by.map_or(state.matrix, |by| product(by.map(f64::from), state.matrix));
        let parents = dictionary.get::<i32>("StructParents").unwrap_or(parents);
        let inner = dictionary.get::<Dict<'_>>("Resources").map(Resources::new);
        let resources = inner.as_ref().unwrap_or(outer);
        let mut state = State { matrix, clip, ..state };
        if let Some(Rect { x0, y0, x1, y1 }) = dictionary.get("BBox") {
            state.end_path(placed([x0, y0, x1, y1], matrix), true);
        }
        self.run(&content, resources, state, (parents, tag), depth + 1)
    }

    /// Adds a place to those of a tag, as far as it is shown.
    fn cover(&mut self, tag: Option<Tag>, area: Option<Area>, shown: Area) {
        let area = area.map(|area| common(area, shown)).filter(|&area| !is_empty(area));
        if let (Some(tag), Some([left, bottom, right, top])) = (tag, area) {
            let known = self.marks.areas.entry(tag).or_insert([left, bottom, right, top]);
            *known = [known[0].min(left), known[1].min(bottom), known[2].max(right), known[3].max(top)];
        }
    }
}

impl State {
    fn end_path(&mut self, path: Option<Area>, clips: bool) {
        if let Some(path) = path.filter(|_| clips) {
            self.clip = common(self.clip, path);
        }
    }

    /// Returns the part of the page in which what comes next is drawn.
    fn shown(&self, is_off: bool) -> Area {
        if is_off { NOWHERE } else { self.clip }
    }
}

/// Returns true if an operator shows text that is not empty.
fn shows_text(operator: &Operator<'_, '_>) -> bool {
    let is_text = |item| matches!(item, MaybeRef::NotRef(Object::String(text)) if !text.is_empty());
    match operator {
        Operator::ShowText(text) => !text.0.is_empty(),
        Operator::NextLineAndShowText(text) => !text.0.is_empty(),
        Operator::ShowTextWithParameters(text) => !text.2.is_empty(),
        Operator::ShowTexts(texts) => texts.0.raw_iter().any(is_text),
        _ => false,
    }
}

/// Calls `reach` with each point that an operator adds to the path.
fn each_point(operator: &Operator<'_, '_>, mut reach: impl FnMut(f64, f64)) {
    let mut reach_all = |points: &[(Number, Number)]| {
        for (x, y) in points {
            reach(x.as_f64(), y.as_f64());
        }
    };
    match operator {
        Operator::MoveTo(to) => reach_all(&[(to.0, to.1)]),
        Operator::LineTo(to) => reach_all(&[(to.0, to.1)]),
        Operator::CubicTo(to) => reach_all(&[(to.0, to.1), (to.2, to.3), (to.4, to.5)]),
        Operator::CubicStartTo(to) => reach_all(&[(to.0, to.1), (to.2, to.3)]),
        Operator::CubicEndTo(to) => reach_all(&[(to.0, to.1), (to.2, to.3)]),
        Operator::RectPath(at) => {
            let [x, y, width, height] = [at.0, at.1, at.2, at.3].map(|number| number.as_f64());
            for (x, y) in [(x, y), (x + width, y), (x, y + height), (x + width, y + height)] {
                reach(x, y);
            }
        }
        _ => {}
    }
}

fn is_artifact(name: &Name<'_>) -> bool {
    **name == *b"Artifact"
}

fn properties_of(resources: &Resources<'_>, name: &Name<'_>) -> Option<i32> {
    resources.properties.get::<Dict<'_>>(name)?.get::<i32>("MCID")
}

/// Returns the letters that a text has in place of its own, if all are beyond U+FFFF.
fn unread_in(properties: &Dict<'_>) -> Option<String> {
    let letters = decode(&properties.get::<Bytes<'_>>("ActualText")?);
    let is_unread = !letters.is_empty() && letters.chars().all(|letter| letter > '\u{ffff}');
    is_unread.then_some(letters)
}

fn point([a, b, c, d, e, f]: Matrix, x: f64, y: f64) -> (f64, f64) {
    (a * x + c * y + e, b * x + d * y + f)
}

/// Returns the matrix that applies the first one, then the second one.
fn product([a, b, c, d, e, f]: Matrix, then: Matrix) -> Matrix {
    let ((e, f), [ta, tb, tc, td, ..]) = (point(then, e, f), then);
    [a * ta + b * tc, a * tb + b * td, c * ta + d * tc, c * tb + d * td, e, f]
}

/// Returns what two areas share.
pub fn common(one: Area, other: Area) -> Area {
    [one[0].max(other[0]), one[1].max(other[1]), one[2].min(other[2]), one[3].min(other[3])]
}

/// Returns true if an area has no point. A line has some.
pub fn is_empty([left, bottom, right, top]: Area) -> bool {
    left > right || bottom > top
}

/// Returns true if the second area is within the first one.
fn holds(one: Area, other: Area) -> bool {
    common(one, other) == other
}

fn extend(area: &mut Option<Area>, (x, y): (f64, f64)) {
    let known = area.get_or_insert([x, y, x, y]);
    *known = [known[0].min(x), known[1].min(y), known[2].max(x), known[3].max(y)];
}

/// Returns the place of a rectangle of a drawing.
fn placed([left, bottom, right, top]: Area, matrix: Matrix) -> Option<Area> {
    let mut area = None;
    for (x, y) in [(left, bottom), (right, bottom), (left, top), (right, top)] {
        extend(&mut area, point(matrix, x, y));
    }
    area
}
