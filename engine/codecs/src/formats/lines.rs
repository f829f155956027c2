//! From letters with places to lines and paragraphs, for documents whose text says nothing about either.

use std::mem::take;

use edgezoom_text::{Block, Line, Rect, Role, SOFT_HYPHEN};

use super::letters::in_order;
pub use super::letters::{Letter, around, is_rtl};

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
/// Gap after such a capital, as a part of its height.
const AFTER_CAPITAL: f64 = 0.4;
/// Minimum number of lines of columns that are drawn row by row, of words in each, and the least that a usual line of a
/// column takes of its width. Tables have fewer words in their cells.
const COLUMN_LINES: usize = 4;
const COLUMN_WORDS: f64 = 3.0;
const COLUMN_FILLED: f64 = 0.7;
/// Minimum number of letters that are set apart evenly, and the widest gap between them, as a multiple of the usual one.
const SPREAD: usize = 4;
const SPREAD_GAP: f64 = 1.6;
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
            gathered(self.letters)
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

/// Puts columns of prose that are drawn row by row one after the other.
fn by_columns(rows: Vec<Row>) -> Vec<Row> {
    let ends = |row: &Row| row.whole.ends();
    let is_beside = |one: &Row, other: &Row| {
        one.whole.angle() == other.whole.angle()
            && is_level(&one.whole, &other.whole)
            && ends(one).0.1 < ends(other).0.0
    };
    let bands: Vec<&[Row]> = rows.chunk_by(is_beside).collect();
    let goes_on = |one: &&[Row], other: &&[Row]| {
        let is_below = |(one, other): (&Row, &Row)| {
            let (((start, _), (top, bottom)), ((next_start, _), (next_top, _))) = (ends(one), ends(other));
            let height = one.whole.height();
            (start - next_start).abs() < NEXT_LINE * height && next_top > top && next_top - bottom < height
        };
        one.len() > 1 && one.len() == other.len() && one.iter().zip(*other).all(is_below)
    };
    let is_prose = |bands: &[&[Row]], column: usize| {
        let lines = || bands.iter().filter_map(|band| band.get(column));
        let count = bands.len() as f64;
        let words =
            lines().map(|row| row.letters.iter().filter(|letter| letter.letter.is_whitespace()).count() + 1);
        let widths = || lines().map(|row| ends(row).0.1 - ends(row).0.0);
        words.sum::<usize>() as f64 >= COLUMN_WORDS * count
            && widths().sum::<f64>() >= COLUMN_FILLED * count * widths().fold(0.0, f64::max)
    };
    let mut places = Vec::with_capacity(rows.len());
    for (number, bands) in bands.chunk_by(goes_on).enumerate() {
        let columns = bands.first().map_or(0, |band| band.len());
        let is_turned = bands.len() >= COLUMN_LINES && (0..columns).all(|column| is_prose(bands, column));
        for band in bands {
            places.extend((0..band.len()).map(|column| (number, if is_turned { column } else { 0 })));
        }
    }
    let mut placed: Vec<((usize, usize), Row)> = places.into_iter().zip(rows).collect();
    // The sort is stable: lines of a column keep their order.
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, row)| row).collect()
}

/// Returns true for letters of scripts that are written in columns, too (Unicode, by blocks).
fn is_of_columns(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Removes the gaps of a line whose letters are set apart evenly, as those of headings.
fn gathered(mut letters: Vec<Letter>) -> Vec<Letter> {
    let words = || letters.split(|letter| letter.letter.is_whitespace());
    let is_spread = words().count() >= SPREAD
        && words().all(|word| matches!(word, [letter] if letter.letter.is_alphabetic()));
    if !is_spread {
        return letters;
    }
    let gap = |around: &[Letter]| match around {
        [one, space, other] if space.letter == AT_GAP => Some(one.gap(other)),
        _ => None,
    };
    let mut gaps: Vec<f64> = letters.windows(3).filter_map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    let widest = gaps.get(gaps.len() / 2).map_or(0.0, |usual| SPREAD_GAP * usual);
    let is_kept: Vec<bool> =
        letters.windows(3).map(|around| gap(around).is_none_or(|gap| gap > widest)).collect();
    let mut index = 0;
    letters.retain(|_| {
        index += 1;
        // The first window is that around the second letter.
        index < 2 || is_kept.get(index - 2).copied().unwrap_or(true)
    });
    letters
}

/// Puts large capitals at the beginning of a paragraph into its first word.
pub fn put_capitals(blocks: &mut Vec<Block>) {
    let mut index = 1;
    while let Some([before, block]) = blocks.get_mut(index - 1..=index) {
        let is_put = match (&before.lines[..], block.lines.first_mut()) {
            ([capital], Some(line)) => put_capital(capital, line),
            _ => false,
        };
        if is_put {
            blocks.remove(index - 1);
        } else {
            index += 1;
        }
    }
}

fn put_capital(capital: &Line, line: &mut Line) -> bool {
    let mut letters = capital.text.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
    let (large, small) = (capital.at, line.at);
    let height = f64::from(large.height);
    let gap = (f64::from(small.left) - f64::from(large.left + large.width)) / height;
    let middle = small.top + small.height / 2;
    let is_beside =
        (-0.1..AFTER_CAPITAL).contains(&gap) && (large.top..large.top + large.height).contains(&middle);
    let is_large = height >= LARGE_CAPITAL * f64::from(small.height);
    if !(is_capital && is_large && is_beside && line.text.starts_with(char::is_lowercase) && line.angle == 0)
    {
        return false;
    }
    line.text.insert_str(0, &capital.text);
    line.at =
        Rect { left: large.left, width: (small.left + small.width).saturating_sub(large.left), ..small };
    if let [first, width, ..] = &mut line.spans[..] {
        *width += *first + small.left as i32 - large.left as i32;
        *first = 0;
    }
    true
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
mod tests {
    use super::*;

    /// Adds text whose letters are 10 wide and 20 high.
    fn write(lines: &mut Lines, text: &str, left: f64, top: f64) {
        for (index, letter) in text.chars().enumerate() {
            let left = left + 10.0 * index as f64;
            push(lines, letter, [left, top, left + 10.0, top + 20.0], 0.0);
        }
    }

    fn push(lines: &mut Lines, letter: char, at: [f64; 4], angle: f64) {
        match letter {
            ' ' => lines.push_space(Space::Written),
            _ => lines.push(Letter { letter, at, angle, is_hyphen: false }),
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
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
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
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
        }
        assert_eq!(texts(&lines.finish()), ["אב 1948 גד tides ה"]);
    }

    #[test]
    fn words_from_top_to_bottom_have_places_too() {
        let mut lines = Lines::default();
        for (index, letter) in "ab c".chars().enumerate() {
            let top = 10.0 * index as f64;
            push(&mut lines, letter, [0.0, top, 20.0, top + 10.0], 90.0);
        }
        let blocks = lines.finish();
        let line = &blocks[0].lines[0];
        assert_eq!(
            (line.angle, line.at, &line.spans[..]),
            (90, Rect::new(0, 0, 20, 40), &[0, 20, 10, 10][..])
        );
    }

    #[test]
    fn an_accent_that_is_drawn_apart_is_a_mark_of_its_letter() {
        let mut lines = Lines::default();
        write(&mut lines, "d", 0.0, 0.0);
        push(&mut lines, '´', [11.0, 0.0, 19.0, 20.0], 0.0);
        push(&mut lines, 'ı', [10.0, 0.0, 20.0, 20.0], 0.0);
        write(&mut lines, "a", 20.0, 0.0);
        push(&mut lines, '¸', [21.0, 0.0, 29.0, 20.0], 0.0);
        write(&mut lines, "´s", 30.0, 0.0);
        assert_eq!(texts(&lines.finish()), ["di\u{301}a\u{327}´s"]);
    }

    #[test]
    fn letters_that_are_set_apart_evenly_are_a_word() {
        let mut lines = Lines::default();
        for (letter, left) in "HARBOUR".chars().zip([0.0, 18.0, 36.0, 54.0, 78.0, 96.0, 114.0]) {
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
            lines.push_space(Space::Added);
        }
        for (letter, left) in "a1".chars().zip([0.0, 18.0]) {
            push(&mut lines, letter, [left, 40.0, left + 10.0, 60.0], 0.0);
            lines.push_space(Space::Added);
        }
        assert_eq!(texts(&lines.finish()), ["HARB OUR", "a 1"]);
    }

    #[test]
    fn columns_of_prose_that_are_drawn_row_by_row_follow_each_other_and_cells_do_not() {
        let of = |cells: &[[&str; 2]]| {
            let mut lines = Lines::default();
            for (row, [left, right]) in cells.iter().enumerate() {
                write(&mut lines, left, 0.0, 24.0 * row as f64);
                write(&mut lines, right, 300.0, 24.0 * row as f64);
            }
            texts(&lines.finish())
        };
        let columns = [
            ["the tide is out", "when it returns"],
            ["and the boats of", "all of them may"],
            ["the harbour lie", "sail as soon as"],
            ["on the mud until", "the wind allows"],
        ];
        assert_eq!(
            of(&columns),
            [
                "the tide is out and the boats of the harbour lie on the mud until",
                "when it returns all of them may sail as soon as the wind allows"
            ]
        );
        let cells = [
            ["port", "a height of six"],
            ["Dover", "a little below"],
            ["Brest", "quite above it"],
            ["Cork", "about as high"],
        ];
        assert_eq!(of(&cells).concat(), cells.concat().concat());
    }

    #[test]
    fn letters_below_each_other_are_columns_from_right_to_left() {
        let mut lines = Lines::default();
        for (column, text) in [(0.0, "ています"), (40.0, "潮が満ち")] {
            for (row, letter) in text.chars().enumerate() {
                let top = 21.0 * row as f64;
                push(&mut lines, letter, [column, top, column + 20.0, top + 20.0], 0.0);
            }
        }
        let blocks = lines.finish();
        let lines: Vec<(u16, &str)> = blocks
            .iter()
            .flat_map(|block| &block.lines)
            .map(|line| (line.angle, line.text.as_str()))
            .collect();
        assert_eq!(lines, [(90, "潮が満ち"), (90, "ています")]);
    }

    #[test]
    fn a_large_capital_belongs_to_the_word_beside_it() {
        let mut lines = Lines::default();
        push(&mut lines, 'T', [0.0, 0.0, 40.0, 50.0], 0.0);
        write(&mut lines, "ides rise", 44.0, 5.0);
        write(&mut lines, "twice a day", 44.0, 29.0);
        let mut blocks = lines.finish();
        put_capitals(&mut blocks);
        assert_eq!(texts(&blocks), ["Tides rise twice a day"]);
        assert_eq!(blocks[0].lines[0].spans, [0, 84, 10, 40]);
    }

    #[test]
    fn parts_of_a_line_of_hebrew_are_one_and_brackets_match() {
        let mut lines = Lines::default();
        // The left part comes first; its bracket is as it is seen, that of the right part, too.
        for (letter, left) in "ד(".chars().zip([10.0, 0.0]) {
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
        }
        for (letter, left) in ")אב".chars().zip([50.0, 40.0, 30.0]) {
            push(&mut lines, letter, [left, 0.0, left + 10.0, 20.0], 0.0);
        }
        assert_eq!(texts(&lines.finish()), ["(אב ד)"]);
    }
}
