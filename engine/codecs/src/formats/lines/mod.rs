//! From letters with places to lines and paragraphs, for documents whose text says nothing about either.

mod capitals;
mod columns;
mod gaps;
mod letters;

use std::mem::take;

use edgezoom_text::{Block, Line, Rect, Role, SOFT_HYPHEN};

pub use capitals::put_capitals;
use columns::by_columns;
use gaps::{gathered, with_unwritten, without_even};
use letters::in_order;
pub use letters::{Letter, around, is_rtl};

/// Movement across the direction of a line that begins another one, as a part of the letters' height. Superscripts move
/// less.
const NEXT_LINE: f64 = 0.5;
/// Gap that begins another column or cell, as a part of the letters' height. The spaces of justified text are smaller.
const NEXT_COLUMN: f64 = 1.0;
/// The same within one text of the document, and after the number or bullet of a paragraph.
pub const NEXT_COLUMN_IN_TEXT: f64 = 3.0;
/// The same after a letter that is written from right to left: a word or number of the other direction begins at its far
/// end.
const NEXT_COLUMN_BACKWARDS: f64 = 6.0;
/// Part of a letter's width that an accent covers.
const COVERED: f64 = 0.6;
/// Distance of two lines that begins another paragraph, from one's end to the other's beginning, as a part of their
/// height.
const NEXT_PARAGRAPH: f64 = 0.55;
/// Change of the letters' height that begins another paragraph.
const OTHER_HEIGHT: f64 = 0.2;
/// Difference of angles of one line, in degrees.
const SAME_ANGLE: f64 = 1.0;
/// Maximum number of letters in the number of a paragraph, as "(iv)".
const MAX_NUMBER: usize = 5;
/// Size of a capital over several lines, as a multiple of the letters beside it.
const LARGE_CAPITAL: f64 = 2.0;
/// The space between letters of which only the places say that they are of two words.
const AT_GAP: char = '\u{2005}';

/// Accents that are drawn apart from their letters, and the marks that letters have instead (Unicode, combining
/// diacritical marks).
const ACCENTS: [(char, char); 13] = [
    ('`', '\u{300}'),
    ('´', '\u{301}'),
    ('ˆ', '\u{302}'),
    ('˜', '\u{303}'),
    ('¯', '\u{304}'),
    ('˘', '\u{306}'),
    ('˙', '\u{307}'),
    ('¨', '\u{308}'),
    ('˚', '\u{30a}'),
    ('˝', '\u{30b}'),
    ('ˇ', '\u{30c}'),
    ('¸', '\u{327}'),
    ('˛', '\u{328}'),
];

/// Why a word may begin, the weakest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// PDFium ends a line: a word begins if there is a gap.
    AtGap,
    /// PDFium adds a space.
    Added,
    Written,
    /// It is a wide space within one text of the document.
    Wide,
}

/// Collects letters in logical order.
#[derive(Default)]
pub struct Lines {
    rows: Vec<Row>,
    /// The space before the next letter.
    space: Option<Space>,
}

/// A line in the making: its letters, and spaces between them.
struct Row {
    letters: Vec<Letter>,
    /// A letter that is as large as the line.
    whole: Letter,
    has_rtl: bool,
    /// True for letters of Chinese or Japanese one below the other.
    is_column: bool,
}

/// A word: its letters, and its beginning and end along the line.
struct Word {
    letters: String,
    ends: (f64, f64),
}

impl Lines {
    /// Adds a letter.
    pub fn push(&mut self, letter: Letter) {
        let space = self.space.take();
        match self.rows.last_mut().filter(|row| row.goes_on(&letter, space)) {
            Some(row) => row.push(letter, space),
            None => self.rows.push(Row::new(letter)),
        }
    }

    /// Adds a space.
    pub fn push_space(&mut self, space: Space) {
        self.space = self.space.max(Some(space));
    }

    /// Returns the paragraphs.
    pub fn finish(self) -> Vec<Block> {
        let (mut blocks, mut lines) = (Vec::new(), Vec::<Line>::new());
        for row in by_columns(joined(self.rows)) {
            let line = row.line();
            if lines.last().is_some_and(|before| is_other_paragraph(before, &line)) {
                blocks.push(Block::lines(Role::P, take(&mut lines)));
            }
            lines.push(line);
        }
        if !lines.is_empty() {
            blocks.push(Block::lines(Role::P, lines));
        }
        blocks
    }
}

impl Row {
    fn new(letter: Letter) -> Self {
        Self { letters: vec![letter], whole: letter, has_rtl: is_rtl(letter.letter), is_column: false }
    }

    /// Returns true if a letter goes on in this line.
    fn goes_on(&self, next: &Letter, space: Option<Space>) -> bool {
        let Some(last) = self.letters.last() else { return false };
        let turned = (last.angle - next.angle).rem_euclid(360.0);
        let is_level = is_level(last, next) || is_level(&self.whole, next);
        let is_after_capital = self.letters.len() == 1
            && last.letter.is_uppercase()
            && last.height() >= LARGE_CAPITAL * next.height();
        if turned.min(360.0 - turned) > SAME_ANGLE || !is_level || is_after_capital {
            return false;
        }
        let height = last.height().max(next.height());
        let (((start, _), _), ((next_start, next_end), _)) = (last.ends(), next.ends());
        // Letters that are written from right to left go back, and words and numbers among them go forth.
        let is_backwards = self.has_rtl || is_rtl(next.letter);
        let gap = if is_backwards { self.whole.gap(next) } else { last.gap(next) };
        let begins_number = is_rtl(last.letter) && !is_rtl(next.letter) && next_end <= start;
        let widest = if begins_number {
            NEXT_COLUMN_BACKWARDS
        } else if space == Some(Space::Wide) || self.is_number() && next.letter.is_alphabetic() {
            NEXT_COLUMN_IN_TEXT
        } else {
            NEXT_COLUMN
        };
        let goes_back = !is_backwards && next_start < start && gap > 0.0;
        gap <= widest * height && !goes_back
    }

    fn push(&mut self, mut letter: Letter, mut space: Option<Space>) {
        let Some(last) = self.letters.last_mut() else { return };
        let accent =
            |of: &Letter| ACCENTS.iter().find(|(accent, _)| *accent == of.letter).map(|&(_, mark)| mark);
        if covers(last, &letter) {
            if let Some(mark) = accent(last).filter(|_| letter.letter.is_alphabetic()) {
                letter.letter = if letter.letter == 'ı' { 'i' } else { letter.letter };
                std::mem::swap(last, &mut letter);
                letter.letter = mark;
                space = None;
            } else if let Some(mark) = accent(&letter).filter(|_| last.letter.is_alphabetic()) {
                letter.letter = mark;
                space = None;
            }
        }
        let space = match space {
            None => None,
            Some(Space::AtGap) => {
                Some(AT_GAP).filter(|_| last.is_apart(&letter, last.height().min(letter.height())))
            }
            Some(Space::Added) => Some(AT_GAP),
            Some(Space::Written | Space::Wide) => Some(' '),
        };
        let space = space.map(|space| Letter { letter: space, ..*last });
        self.letters.extend(space);
        self.has_rtl |= is_rtl(letter.letter);
        self.whole.at = around(self.whole.at, letter.at);
        self.letters.push(letter);
    }

    /// Returns true if the line so far is the number or the bullet of a paragraph.
    fn is_number(&self) -> bool {
        let mut letters = self.letters.iter().map(|letter| letter.letter);
        match (self.letters.len(), letters.next_back()) {
            (1, Some(bullet)) => "•◦▪■●○‣–—*".contains(bullet),
            (2..=MAX_NUMBER, Some('.' | ')')) => {
                letters.all(|letter| letter.is_alphanumeric() || ".(".contains(letter))
            }
            _ => false,
        }
    }

    /// Returns true if another line is a part of this one: PDFium may give parts of a line that is written from right to
    /// left in the order from left to right.
    fn is_part(&self, other: &Self) -> bool {
        let goes_back =
            |row: &Self| row.has_rtl || row.letters.iter().all(|letter| !letter.letter.is_alphabetic());
        let gap = self.whole.gap(&other.whole);
        (self.has_rtl || other.has_rtl)
            && goes_back(self)
            && goes_back(other)
            && self.whole.angle() == other.whole.angle()
            && is_level(&self.whole, &other.whole)
            && gap <= NEXT_COLUMN * self.whole.height().max(other.whole.height())
    }

    /// Returns true if another line is the next letter of a column.
    fn is_above(&self, other: &Self) -> bool {
        let ([.., last], [next]) = (&self.letters[..], &other.letters[..]) else { return false };
        let ([left, _, right, bottom], [next_left, next_top, next_right, next_bottom]) = (last.at, next.at);
        let (height, moved) = (next_bottom - next_top, (left + right - next_left - next_right) / 2.0);
        (self.is_column || self.letters.len() == 1 && last.angle() == 0)
            && next.angle() == 0
            && is_of_columns(last.letter)
            && is_of_columns(next.letter)
            && moved.abs() < 0.3 * height
            && (-0.3..0.7).contains(&((next_top - bottom) / height))
    }

    /// Adds the letters of another line.
    fn append(&mut self, mut other: Self) {
        self.whole.at = around(self.whole.at, other.whole.at);
        self.has_rtl |= other.has_rtl;
        if self.is_column {
            self.whole.angle = 90.0;
            self.letters
                .first_mut()
                .into_iter()
                .chain(&mut other.letters)
                .for_each(|letter| letter.angle = 90.0);
        }
        self.letters.append(&mut other.letters);
    }

    /// Returns the line.
    fn line(self) -> Line {
        let of_letters = |letters: &[Letter], is: fn(char) -> bool| {
            letters.iter().filter(|letter| letter.letter.is_alphabetic() && is(letter.letter)).count()
        };
        let rtl = 2 * of_letters(&self.letters, is_rtl) > of_letters(&self.letters, |_| true);
        let letters = if self.has_rtl {
            in_order(self.letters, rtl, self.whole.height(), AT_GAP)
        } else {
            with_unwritten(without_even(gathered(self.letters)))
        };
        let words = letters.split(|letter| letter.letter.is_whitespace());
        let mut words: Vec<Word> = words.filter(|letters| !letters.is_empty()).map(Word::of).collect();
        if let (true, Some(word)) = (letters.last().is_some_and(|last| last.is_hyphen), words.last_mut()) {
            word.letters.pop();
            word.letters.push(SOFT_HYPHEN);
        }
        let text = words.iter().map(|word| word.letters.as_str()).collect::<Vec<_>>().join(" ");
        let ((start, end), _) = self.whole.ends();
        let mut before = 0;
        let spans = words.iter().flat_map(|word| {
            let from = if rtl { end - word.ends.1 } else { word.ends.0 - start };
            let (from, width) = (from.round() as i32, (word.ends.1 - word.ends.0).round() as i32);
            let gap = from.saturating_sub(before);
            before = from.saturating_add(width);
            [gap, width]
        });
        let angle = self.whole.angle();
        let spans = if angle.is_multiple_of(90) { spans.collect() } else { Vec::new() };
        Line { at: rect(self.whole.at), spans, angle, rtl, text }
    }
}

impl Word {
    fn of(letters: &[Letter]) -> Self {
        let ends = letters.iter().map(|letter| letter.ends().0);
        let ends = ends.reduce(|(start, end), (from, to)| (start.min(from), end.max(to)));
        Self { letters: letters.iter().map(|letter| letter.letter).collect(), ends: ends.unwrap_or_default() }
    }
}

/// Returns true if the middle of one letter lies within the other, across their direction.
fn is_level(one: &Letter, other: &Letter) -> bool {
    let ((_, (top, bottom)), (_, (other_top, other_bottom))) = (one.ends(), other.ends());
    let moved = ((top + bottom) - (other_top + other_bottom)).abs() / 2.0;
    moved <= NEXT_LINE * one.height().max(other.height())
}

/// Returns true if most of one letter lies above the other.
fn covers(one: &Letter, other: &Letter) -> bool {
    let width = |letter: &Letter| letter.ends().0.1 - letter.ends().0.0;
    one.gap(other) < -COVERED * width(one).min(width(other))
}

/// Joins the parts of lines, and letters in columns, which are read from right to left.
fn joined(rows: Vec<Row>) -> Vec<Row> {
    let mut joined: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        match joined.last_mut() {
            Some(before) if before.is_above(&row) => {
                before.is_column = true;
                before.append(row);
            }
            Some(before) if before.is_part(&row) => before.append(row),
            _ => joined.push(row),
        }
    }
    let is_beside = |one: &Row, other: &Row| {
        let ([_, top, _, bottom], [_, other_top, _, other_bottom]) = (one.whole.at, other.whole.at);
        one.is_column && other.is_column && top < other_bottom && other_top < bottom
    };
    for columns in joined.chunk_by_mut(is_beside) {
        columns.sort_by(|one, other| other.whole.at[2].total_cmp(&one.whole.at[2]));
    }
    joined
}

/// Returns true for letters of scripts that are written in columns, too (Unicode, by blocks).
fn is_of_columns(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
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

/// Returns left, top, right and bottom as a rectangle.
pub fn rect([left, top, right, bottom]: [f64; 4]) -> Rect {
    let (left, top) = (left.max(0.0), top.max(0.0));
    let length = |from: f64, to: f64| (to.round() - from.round()).max(0.0) as u32;
    Rect::new(left.round() as u32, top.round() as u32, length(left, right), length(top, bottom))
}

#[cfg(test)]
mod tests;
