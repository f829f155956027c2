//! From the letters of a drawing's text to lines and paragraphs. Other than in [`lines`](crate::formats::lines), the order of
//! the letters and most of their spaces are known.

use std::ops::Range;

use edgezoom_text::{Block, Line, Role};
use resvg::tiny_skia::{Point, Transform};
use resvg::usvg::{self, TextFlow, WritingMode};

use crate::formats::lines::{around, is_rtl, rect};

/// Gap that begins a word where the drawing itself places letters, as a part of their height.
const NEXT_WORD: f32 = 0.2;
/// Gap that begins another column or label.
const NEXT_COLUMN: f32 = 1.0;
/// Movement across the line that begins another one.
const NEXT_LINE: f32 = 0.5;
/// Distances between the lines of a paragraph.
const PARAGRAPH: Range<f32> = 0.3..1.55;
/// Change of the letters' height that begins another paragraph.
const OTHER_HEIGHT: f32 = 0.2;

/// A letter of a text, in the order in which glyphs are set.
#[derive(Clone, Copy)]
pub struct Place {
    pub letter: char,
    /// Its number in the text, and that of its chunk.
    pub number: usize,
    pub chunk: usize,
}

/// A letter that is seen, in pixels.
#[derive(Clone, Copy)]
pub struct Letter {
    pub place: Place,
    /// Top left, top right, bottom left and bottom right, as it is read.
    pub corners: [Point; 4],
}

/// A direction in the picture, of length 1.
#[derive(Clone, Copy)]
struct Direction {
    x: f32,
    y: f32,
}

/// A line of words.
struct Row {
    words: Vec<Vec<Letter>>,
    direction: Direction,
    /// The chunk, if it is on a path.
    path: Option<usize>,
    /// Its ends along the direction.
    start: f32,
    end: f32,
}

/// Returns the paragraphs of a text whose letters are given as they are read.
pub fn blocks_of(text: &usvg::Text, letters: Vec<Letter>, to_pixels: Transform) -> Vec<Block> {
    let rows = rows_of(text, letters, to_pixels);
    let paragraphs = rows.chunk_by(|before, row| row.goes_on(before));
    paragraphs.map(|rows| Block::lines(Role::P, rows.iter().map(Row::line).collect())).collect()
}

/// Returns the lines of a text. On a path, each word is a line with a direction of its own.
fn rows_of(text: &usvg::Text, letters: Vec<Letter>, to_pixels: Transform) -> Vec<Row> {
    let is_vertical = text.writing_mode() == WritingMode::TopToBottom;
    let Transform { sx, kx, ky, sy, .. } = to_pixels;
    let ((x, y), shifts) = if is_vertical { ((kx, sy), text.dy()) } else { ((sx, ky), text.dx()) };
    // A shift of one letter begins a word, one of each letter spaces them.
    let is_shifted = |letter: &Letter| {
        let is_far = |at: Option<usize>| {
            let shift = at.and_then(|at| shifts.get(at)).copied().unwrap_or(0.0);
            shift * x.hypot(y) > NEXT_WORD * letter.height()
        };
        let number = letter.place.number;
        is_far(Some(number)) && !is_far(number.checked_sub(1)) && !is_far(Some(number + 1))
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut last: Option<Letter> = None;
    let mut is_apart = false;
    for letter in letters {
        if letter.place.letter.is_whitespace() {
            is_apart = true;
            continue;
        }
        let Place { chunk, .. } = letter.place;
        let path = matches!(text.chunks()[chunk].text_flow(), TextFlow::Path(_)).then_some(chunk);
        let row = rows.last_mut().zip(last).filter(|(row, _)| row.path == path);
        let row = row.filter(|(row, last)| match path {
            Some(_) => !is_apart,
            None => last.place.chunk == chunk || !row.is_elsewhere(last, &letter),
        });
        if let Some((row, last)) = row {
            is_apart |= is_shifted(&letter) || last.place.chunk != chunk && row.gap(&letter) > NEXT_WORD;
            row.push(letter, is_apart);
        } else {
            rows.push(Row::new(letter, Direction::new(x, y), path));
        }
        last = Some(letter);
        is_apart = false;
    }
    rows
}

impl Letter {
    fn height(&self) -> f32 {
        let [top, _, bottom, _] = self.corners;
        (bottom - top).length()
    }

    /// Returns its ends along a direction, and its middle across it.
    fn lies(&self, direction: Direction) -> (f32, f32, f32) {
        let along = self.corners.map(|corner| direction.along(corner));
        let across = self.corners.map(|corner| direction.across(corner)).iter().sum::<f32>() / 4.0;
        (along.into_iter().fold(f32::MAX, f32::min), along.into_iter().fold(f32::MIN, f32::max), across)
    }

    /// Returns left, top, right and bottom.
    pub fn at(&self) -> [f64; 4] {
        let [x, y] = [|point: Point| point.x, |point: Point| point.y].map(|side| self.corners.map(side));
        let least = |of: [f32; 4]| f64::from(of.into_iter().fold(f32::MAX, f32::min));
        let most = |of: [f32; 4]| f64::from(of.into_iter().fold(f32::MIN, f32::max));
        [least(x), least(y), most(x), most(y)]
    }
}

impl Direction {
    fn new(x: f32, y: f32) -> Self {
        let length = x.hypot(y);
        if length > 0.0 { Self { x: x / length, y: y / length } } else { Self { x: 1.0, y: 0.0 } }
    }

    fn along(self, point: Point) -> f32 {
        point.x * self.x + point.y * self.y
    }

    fn across(self, point: Point) -> f32 {
        point.y * self.x - point.x * self.y
    }
}

impl Row {
    fn new(letter: Letter, direction: Direction, path: Option<usize>) -> Self {
        let (start, end, _) = letter.lies(direction);
        Self { words: vec![vec![letter]], direction, path, start, end }
    }

    fn push(&mut self, letter: Letter, is_apart: bool) {
        let (start, end, _) = letter.lies(self.direction);
        (self.start, self.end) = (self.start.min(start), self.end.max(end));
        match self.words.last_mut().filter(|_| !is_apart) {
            Some(word) => word.push(letter),
            None => self.words.push(vec![letter]),
        }
    }

    /// Returns the distance of a letter from the line, as a part of its height.
    fn gap(&self, letter: &Letter) -> f32 {
        let (start, end, _) = letter.lies(self.direction);
        (start - self.end).max(self.start - end) / letter.height().max(f32::MIN_POSITIVE)
    }

    /// Returns true if a letter that the drawing places is not in the line, whose last letter is given.
    fn is_elsewhere(&self, last: &Letter, next: &Letter) -> bool {
        let height = last.height().max(next.height());
        let ((start, _, middle), (_, next_end, next_middle)) =
            (last.lies(self.direction), next.lies(self.direction));
        // Letters that are written from right to left go back, and others after them forth.
        let goes_back = next_end <= start + 0.1 * height
            && start > next_end
            && ![last, next].iter().any(|letter| is_rtl(letter.place.letter));
        (middle - next_middle).abs() > NEXT_LINE * height || self.gap(next) > NEXT_COLUMN || goes_back
    }

    fn letters(&self) -> impl Iterator<Item = &Letter> {
        self.words.iter().flatten()
    }

    /// Returns the height of its largest letters, and their middle across.
    fn height(&self) -> (f32, f32) {
        let sizes = self.letters().map(|letter| (letter.height(), letter.lies(self.direction).2));
        sizes.reduce(|one, other| if other.0 > one.0 { other } else { one }).unwrap_or_default()
    }

    /// Returns true if it is in the paragraph of the line before.
    fn goes_on(&self, before: &Self) -> bool {
        if self.path.is_some() || before.path.is_some() {
            return self.path == before.path;
        }
        let ((height, middle), (height_before, middle_before)) = (self.height(), before.height());
        let is_beside = self.start >= before.end || self.end <= before.start;
        let is_same_height = (height / height_before).ln().abs() <= OTHER_HEIGHT;
        let distance = (middle - middle_before) / height.min(height_before);
        !is_beside && is_same_height && PARAGRAPH.contains(&distance)
    }

    /// Returns its direction. On a path it leads from the first letter to the last one.
    fn direction(&self) -> Direction {
        let ends = self.letters().next().zip(self.letters().last());
        let Some((first, last)) = ends.filter(|_| self.path.is_some()) else { return self.direction };
        let (left, right) = if is_rtl(first.place.letter) { (last, first) } else { (first, last) };
        let chord = right.corners[1] + right.corners[3] - left.corners[0] - left.corners[2];
        Direction::new(chord.x, chord.y)
    }

    fn line(&self) -> Line {
        let Direction { x, y } = self.direction();
        let angle = (y.atan2(x).to_degrees().round() as i32).rem_euclid(360) as u16;
        let (y, x) = f32::from(angle).to_radians().sin_cos();
        let direction = Direction { x, y };
        let ends = |letters: &[Letter]| {
            let ends = letters.iter().map(|letter| letter.lies(direction));
            ends.fold((f32::MAX, f32::MIN), |(from, to), (start, end, _)| (from.min(start), to.max(end)))
        };
        let words = self.words.iter().map(|word| word.iter().map(|letter| letter.place.letter));
        let text = words.map(String::from_iter).collect::<Vec<_>>().join(" ");
        let alphabetic = || text.chars().filter(|letter| letter.is_alphabetic());
        let rtl = 2 * alphabetic().filter(|&letter| is_rtl(letter)).count() > alphabetic().count();
        let places: Vec<(f32, f32)> = self.words.iter().map(|word| ends(word)).collect();
        let (start, end) = places
            .iter()
            .fold((f32::MAX, f32::MIN), |(from, to), &(start, end)| (from.min(start), to.max(end)));
        let mut before = 0;
        let spans = places.iter().flat_map(|&(from, to)| {
            let (from, width) =
                (if rtl { end - to } else { from - start }.round() as i32, (to - from).round() as i32);
            let gap = from.saturating_sub(before);
            before = from.saturating_add(width);
            [gap, width]
        });
        let spans = if angle.is_multiple_of(90) { spans.collect() } else { Vec::new() };
        let at = self.letters().map(Letter::at).reduce(around).unwrap_or_default();
        Line { at: rect(at), spans, angle, rtl, text }
    }
}
