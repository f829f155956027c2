//! From letters with places to lines and paragraphs, for documents whose text says nothing about either.

use std::mem;

use edgezoom_text::{Block, Line, Rect, Role, SOFT_HYPHEN};

/// Movement across the direction of a line that begins another one, as a part of the letters' height. Superscripts move
/// less.
const NEXT_LINE: f64 = 0.5;
/// Gap that begins another column or cell, as a part of the letters' height. The spaces of justified text are smaller.
const NEXT_COLUMN: f64 = 1.0;
/// The same after a letter that is written from right to left: a word or number of the other direction begins at its far
/// end.
const NEXT_COLUMN_BACKWARDS: f64 = 6.0;
/// Distance of two lines that begins another paragraph, from one's end to the other's beginning, as a part of their
/// height.
const NEXT_PARAGRAPH: f64 = 0.55;
/// Change of the letters' height that begins another paragraph.
const OTHER_HEIGHT: f64 = 0.2;
/// Difference of angles of one line, in degrees.
const SAME_ANGLE: f64 = 1.0;

/// A letter, in pixels from the top left of its page.
#[derive(Clone, Copy, Debug)]
pub struct Letter {
    pub letter: char,
    /// Left, top, right, bottom.
    pub at: [f64; 4],
    /// Clockwise angle of its direction, in degrees.
    pub angle: f64,
    /// True for a hyphen that a word has only because it does not fit into the line.
    pub is_hyphen: bool,
}

/// A word in the making: its letters, and its beginning and end along the line.
#[derive(Default)]
struct Word {
    letters: String,
    ends: (f64, f64),
}

/// Collects letters in logical order.
#[derive(Default)]
pub struct Lines {
    blocks: Vec<Block>,
    /// The lines of the current paragraph.
    lines: Vec<Line>,
    words: Vec<Word>,
    /// True if the next letter begins a word.
    is_apart: bool,
    /// The last letter of the line.
    last: Option<Letter>,
    /// The rectangle of the line.
    at: [f64; 4],
}

impl Letter {
    fn angle(&self) -> u16 {
        (self.angle.round() as i64).rem_euclid(360) as u16
    }

    /// Returns the two ends along its direction, and the two across.
    pub fn ends(&self) -> ((f64, f64), (f64, f64)) {
        let [left, top, right, bottom] = self.at;
        match self.angle() {
            0 => ((left, right), (top, bottom)),
            90 => ((top, bottom), (-right, -left)),
            180 => ((-right, -left), (-bottom, -top)),
            270 => ((-bottom, -top), (left, right)),
            _ => {
                let (sine, cosine) = self.angle.to_radians().sin_cos();
                let (x, y) = ((left + right) / 2.0, (top + bottom) / 2.0);
                let (along, across) = (x * cosine + y * sine, y * cosine - x * sine);
                // The rectangle encloses a turned letter, which is about as wide as high.
                let half = (right - left).min(bottom - top) / (2.0 * (sine.abs() + cosine.abs()));
                ((along - half, along + half), (across - half, across + half))
            }
        }
    }

    fn height(&self) -> f64 {
        let (_, (top, bottom)) = self.ends();
        bottom - top
    }
}

impl Lines {
    /// Adds a letter, or a space.
    pub fn push(&mut self, letter: Letter) {
        if letter.letter.is_whitespace() {
            self.is_apart = true;
            return;
        }
        if self.last.as_ref().is_some_and(|last| is_elsewhere(last, &letter, self.at)) {
            self.end_line();
        }
        let (along, _) = letter.ends();
        match self.words.last_mut() {
            Some(word) if !self.is_apart => {
                word.letters.push(letter.letter);
                word.ends = (word.ends.0.min(along.0), word.ends.1.max(along.1));
            }
            _ => self.words.push(Word { letters: letter.letter.to_string(), ends: along }),
        }
        self.at = if self.last.is_none() { letter.at } else { around(self.at, letter.at) };
        self.is_apart = false;
        self.last = Some(letter);
    }

    /// Ends the line.
    pub fn end_line(&mut self) {
        let Some(last) = self.last.take() else { return };
        let mut words = mem::take(&mut self.words);
        self.is_apart = false;
        if last.is_hyphen
            && let Some(word) = words.last_mut()
        {
            word.letters.pop();
            word.letters.push(SOFT_HYPHEN);
        }
        let line = line(&words, self.at, &last);
        if self.lines.last().is_some_and(|before| is_other_paragraph(before, &line)) {
            self.end_paragraph();
        }
        self.lines.push(line);
    }

    /// Ends the paragraph.
    pub fn end_paragraph(&mut self) {
        self.end_line();
        if !self.lines.is_empty() {
            self.blocks.push(Block::lines(Role::P, mem::take(&mut self.lines)));
        }
    }

    /// Returns the paragraphs.
    pub fn finish(mut self) -> Vec<Block> {
        self.end_paragraph();
        self.blocks
    }
}

/// Returns true if a letter does not go on in the line of the last one, which is in a rectangle.
fn is_elsewhere(last: &Letter, next: &Letter, line: [f64; 4]) -> bool {
    let turned = (last.angle - next.angle).rem_euclid(360.0);
    if turned.min(360.0 - turned) > SAME_ANGLE {
        return true;
    }
    let height = last.height().max(next.height());
    let ((start, end), (top, bottom)) = last.ends();
    let ((next_start, next_end), (next_top, next_bottom)) = next.ends();
    if ((top + bottom) - (next_top + next_bottom)).abs() / 2.0 > NEXT_LINE * height {
        return true;
    }
    // Letters that are written from right to left go back, and words and numbers among them go forth.
    let ((line_start, _), _) = Letter { at: line, ..*last }.ends();
    let is_after_number = is_rtl(next.letter) && next_end <= line_start && line_start < start;
    let gap = if is_after_number { line_start - next_end } else { (next_start - end).max(start - next_end) };
    let begins_number = is_rtl(last.letter) && !is_rtl(next.letter) && next_end <= start;
    let widest = if begins_number { NEXT_COLUMN_BACKWARDS } else { NEXT_COLUMN };
    let goes_back = next_end <= start + 0.1 * height && !is_rtl(last.letter) && !is_rtl(next.letter);
    gap > widest * height || goes_back && gap > 0.0
}

/// Returns a line of words in a rectangle.
fn line(words: &[Word], at: [f64; 4], last: &Letter) -> Line {
    let text = words.iter().map(|word| word.letters.as_str()).collect::<Vec<_>>().join(" ");
    let letters = || text.chars().filter(|letter| letter.is_alphabetic());
    let rtl = 2 * letters().filter(|&letter| is_rtl(letter)).count() > letters().count();
    let ((start, end), _) = Letter { at, ..*last }.ends();
    let mut before = 0;
    let spans = words.iter().flat_map(|word| {
        let from = if rtl { end - word.ends.1 } else { word.ends.0 - start };
        let (from, width) = (from.round() as i32, (word.ends.1 - word.ends.0).round() as i32);
        let gap = from.saturating_sub(before);
        before = from.saturating_add(width);
        [gap, width]
    });
    let angle = last.angle();
    let spans = if angle.is_multiple_of(90) { spans.collect() } else { Vec::new() };
    Line { at: rect(at), spans, angle, rtl, text }
}

/// Returns true if a line does not belong to the paragraph of the one before.
fn is_other_paragraph(before: &Line, line: &Line) -> bool {
    if before.angle != line.angle {
        return true;
    }
    let edges = |line: &Line| {
        let Rect { left, top, width, height } = line.at;
        let (left, top) = (f64::from(left), f64::from(top));
        let at = [left, top, left + f64::from(width), top + f64::from(height)];
        Letter { letter: ' ', at, angle: line.angle.into(), is_hyphen: false }.ends()
    };
    let ((start, end), (top, bottom)) = edges(before);
    let ((next_start, next_end), (next_top, next_bottom)) = edges(line);
    let (height, next_height) = ((bottom - top).max(1.0), (next_bottom - next_top).max(1.0));
    let is_beside = next_start >= end || next_end <= start;
    let is_far =
        next_top - bottom > NEXT_PARAGRAPH * height.min(next_height) || next_top < top + 0.3 * height;
    let is_larger = (height / next_height).ln().abs() > OTHER_HEIGHT;
    is_beside || is_far || is_larger
}

/// Returns the smallest rectangle that holds both.
pub fn around(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    [one[0].min(other[0]), one[1].min(other[1]), one[2].max(other[2]), one[3].max(other[3])]
}

/// Returns left, top, right and bottom as a rectangle.
pub fn rect([left, top, right, bottom]: [f64; 4]) -> Rect {
    let (left, top) = (left.max(0.0), top.max(0.0));
    let length = |from: f64, to: f64| (to.round() - from.round()).max(0.0) as u32;
    Rect::new(left.round() as u32, top.round() as u32, length(left, right), length(top, bottom))
}

/// Returns true for letters that are written from right to left (Unicode, Bidi_Class R and AL, by blocks).
pub fn is_rtl(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && letter.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds text whose letters are 10 wide and 20 high.
    fn write(lines: &mut Lines, text: &str, left: f64, top: f64) {
        for (index, letter) in text.chars().enumerate() {
            let left = left + 10.0 * index as f64;
            lines.push(Letter {
                letter,
                at: [left, top, left + 10.0, top + 20.0],
                angle: 0.0,
                is_hyphen: false,
            });
        }
    }

    fn texts(blocks: &[Block]) -> Vec<String> {
        blocks.iter().map(Block::joined).collect()
    }

    #[test]
    fn words_have_places_in_their_line() {
        let mut lines = Lines::default();
        write(&mut lines, "two words", 100.0, 50.0);
        let blocks = lines.finish();
        let line = &blocks[0].lines[0];
        assert_eq!((line.at, line.text.as_str()), (Rect::new(100, 50, 90, 20), "two words"));
        assert_eq!(line.spans, [0, 30, 10, 50]);
    }

    #[test]
    fn columns_that_are_drawn_row_by_row_are_apart() {
        let mut lines = Lines::default();
        write(&mut lines, "left", 0.0, 0.0);
        write(&mut lines, "right", 200.0, 0.0);
        assert_eq!(texts(&lines.finish()), ["left", "right"]);
    }

    #[test]
    fn lines_at_a_usual_distance_are_a_paragraph_and_a_hyphen_joins_them() {
        let mut lines = Lines::default();
        write(&mut lines, "an exam", 0.0, 0.0);
        lines.push(Letter { letter: '-', at: [70.0, 0.0, 80.0, 20.0], angle: 0.0, is_hyphen: true });
        write(&mut lines, "ple of it", 0.0, 24.0);
        write(&mut lines, "Another", 0.0, 80.0);
        assert_eq!(texts(&lines.finish()), ["an example of it", "Another"]);
    }

    #[test]
    fn a_line_of_hebrew_begins_at_its_right_edge_and_its_number_is_read_forwards() {
        let mut lines = Lines::default();
        for (letter, left) in "אב 12 ג".chars().zip([60.0, 50.0, 40.0, 20.0, 30.0, 10.0, 0.0]) {
            lines.push(Letter { letter, at: [left, 0.0, left + 10.0, 20.0], angle: 0.0, is_hyphen: false });
        }
        let blocks = lines.finish();
        let line = &blocks[0].lines[0];
        assert_eq!((line.rtl, line.text.as_str(), blocks.len()), (true, "אב 12 ג", 1));
        let places: Vec<u32> = line.words().map(|(_, place)| place.left).collect();
        assert_eq!(places, [50, 20, 0]);
    }

    #[test]
    fn a_year_and_a_word_stand_in_a_line_of_hebrew() {
        let mut lines = Lines::default();
        let places =
            [270, 260, 250, 210, 220, 230, 240, 200, 190, 180, 170, 120, 130, 140, 150, 160, 110, 100];
        for (letter, left) in "אב 1948 גד tides ה".chars().zip(places.map(f64::from)) {
            lines.push(Letter { letter, at: [left, 0.0, left + 10.0, 20.0], angle: 0.0, is_hyphen: false });
        }
        assert_eq!(texts(&lines.finish()), ["אב 1948 גד tides ה"]);
    }

    #[test]
    fn words_from_top_to_bottom_have_places_too() {
        let mut lines = Lines::default();
        for (index, letter) in "ab c".chars().enumerate() {
            let top = 10.0 * index as f64;
            lines.push(Letter { letter, at: [0.0, top, 20.0, top + 10.0], angle: 90.0, is_hyphen: false });
        }
        let blocks = lines.finish();
        let line = &blocks[0].lines[0];
        assert_eq!(
            (line.angle, line.at, &line.spans[..]),
            (90, Rect::new(0, 0, 20, 40), &[0, 20, 10, 10][..])
        );
    }
}
