//! Finds the words that a picture shows, while its rows pass. Where a word is shown, the picture has more than one colour.
//! So a word that is covered, cut off, transparent or in the colour of its ground is none, whatever the document says.
//!
//! A cover may be somewhat smaller or larger than the word's box, and leave a comma or an apostrophe. So only the core of
//! the box counts: the band that each letter crosses, without the ends. It is divided into cells, and most of them must
//! have ink.

use edgezoom_geometry::Size;

use crate::links::LinkMap;
use crate::{Block, Line, Link, Page, Rect, SOFT_HYPHEN, Text};

/// Largest difference of two samples of one colour, of 255. JPEG changes flat areas by less.
const ONE_COLOUR: u8 = 8;
/// The band that each letter crosses, as parts of the box's height from its top: small letters without what rises above
/// them or descends below the baseline, in fonts of any ascent and descent.
const BAND: (f64, f64) = (0.3, 0.75);
/// The same for Chinese and Japanese letters.
const FULL_BAND: (f64, f64) = (0.2, 0.85);
/// Height of a box, as a multiple of its letters' mean width, from which it holds more than a line: a curve, say.
const MAX_HEIGHT: f64 = 4.0;
/// Width of a comma, quotation mark or bracket, as a part of the height.
const SIGN: f64 = 0.3;
/// Length at each end of several letters that a cover may leave, as a part of the height.
const END: f64 = 0.2;
/// Width of a core, as a multiple of the height, from which its ends are left out.
const MIN_ENDS: f64 = 1.5;
/// Part of its shorter side by which a box that is not a word's own is cut at each edge: fields have borders.
const BORDER: f64 = 0.1;
/// Pixels around a picture or a link, where its edge contrasts with what surrounds it.
const AROUND: f64 = 2.0;
/// Shorter side of a box in pixels below which it cannot be judged.
const MIN_SIDE: f64 = 2.0;
/// Maximum number of cells of a core.
const MAX_CELLS: f64 = 8.0;
/// Maximum number of letters that are looked at one by one.
const MAX_LETTERS: usize = 1 << 20;
/// Number of looks at each pixel, on average, after which all other words count as hidden: boxes of honest documents
/// hardly overlap.
const LOOKS: u64 = 4;
/// Looks that a row of a box takes at least.
const MIN_LOOKS: u64 = 16;

/// The words of a picture, while its rows pass.
pub struct Ink<'a> {
    text: &'a Text,
    /// The areas in which ink is expected, in the order of the text.
    areas: Vec<Area>,
    /// Numbers of areas that the rows have not reached, the next one last.
    waiting: Vec<u32>,
    /// Those that the current row crosses.
    open: Vec<Open>,
    row: u32,
    looks: u64,
}

/// A part of the picture in which ink is expected.
struct Area {
    left: u32,
    top: u32,
    right: u32,
    bottom: u32,
    /// Number of cells, one beside the other or one below the other; 0 if it cannot be judged.
    cells: u8,
    is_vertical: bool,
    /// A bit for each cell with ink.
    inked: u8,
}

/// An area that the current row crosses.
struct Open {
    area: u32,
    /// The first pixel of each cell.
    first: [Option<[u8; 4]>; MAX_CELLS as usize],
}

/// The core of a box, in pixels of the picture.
struct Core {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    /// The shorter side of the box.
    shorter: f64,
    cells: u8,
    is_vertical: bool,
}

impl<'a> Ink<'a> {
    /// Begins with the first row of a picture, or of a version of it in another size. The text must be
    /// [bounded](Text::bounded).
    #[must_use]
    pub fn new(text: &'a Text, picture: Size, rows: Size) -> Self {
        let mut areas = Vec::new();
        let scale = (
            f64::from(rows.width) / f64::from(picture.width.max(1)),
            f64::from(rows.height) / f64::from(picture.height.max(1)),
        );
        let mut letters = MAX_LETTERS;
        for page in &text.pages {
            let mut add = |core: Core| areas.push(core.in_rows(page.at, scale, rows));
            for block in &page.blocks {
                block.at.into_iter().for_each(|at| add(Core::around(at)));
                for line in &block.lines {
                    let words = line.words();
                    words.for_each(|(word, at)| cores(line, word, at, &mut letters).for_each(&mut add));
                }
            }
            page.links.iter().for_each(|link| add(Core::around(link.at)));
        }
        let mut waiting: Vec<u32> = (0..areas.len() as u32).collect();
        waiting.retain(|&number| areas.get(number as usize).is_some_and(|area| area.cells > 0));
        waiting.sort_by_key(|&number| std::cmp::Reverse(areas.get(number as usize).map(|area| area.top)));
        let looks = LOOKS * rows.pixels();
        Self { text, areas, waiting, open: Vec::new(), row: 0, looks }
    }

    /// Adds the next row, whose pixels have this many samples.
    pub fn row(&mut self, pixels: &[u8], channels: usize) {
        while let Some(&area) = self.waiting.last()
            && self.areas.get(area as usize).is_some_and(|area| area.top <= self.row)
        {
            self.waiting.pop();
            self.open.push(Open { area, first: Default::default() });
        }
        let Self { areas, open, row, looks, .. } = self;
        open.retain_mut(|Open { area, first }| {
            let Some(area) = areas.get_mut(*area as usize) else { return false };
            let cost = MIN_LOOKS + u64::from(area.right.saturating_sub(area.left));
            let Some(left) = looks.checked_sub(cost) else { return false };
            *looks = left;
            area.look(*row, pixels, channels, first);
            area.bottom > *row + 1 && u32::from(area.cells) > area.inked.count_ones()
        });
        self.row += 1;
    }

    /// Returns the text without what the rows did not show. It stays [bounded](Text::bounded).
    #[must_use]
    pub fn shown(&self) -> Text {
        let mut areas = self.areas.iter().map(Area::is_shown);
        let mut letters = MAX_LETTERS;
        let pages = self.text.pages.iter().map(|page| shown_page(page, &mut areas, &mut letters));
        let pages = pages.collect();
        let Text { version, ref language, total, ref outline, .. } = *self.text;
        Text { version, language: language.clone(), total, pages, outline: outline.clone() }
    }
}

/// Returns a page without what is not shown. `areas` says what is, in the order of [`Ink::new`].
fn shown_page(page: &Page, areas: &mut impl Iterator<Item = bool>, letters: &mut usize) -> Page {
    let mut is_shown = || areas.next().unwrap_or(false);
    let links = LinkMap::new(&page.links);
    // For each link, whether it has words that are shown, and that are not.
    let mut of_links = vec![(false, false); page.links.len()];
    let mut blocks = Vec::new();
    for block in &page.blocks {
        let has_picture = block.at.is_some() && is_shown();
        let mut lines: Vec<Line> = Vec::new();
        for line in &block.lines {
            let words: Vec<String> = line
                .words()
                .map(|(word, at)| {
                    let shown: Vec<bool> = cores(line, word, at, letters).map(|_| is_shown()).collect();
                    let word = shown_letters(word, &shown);
                    if let Some(of_link) = links.index_at(at).and_then(|link| of_links.get_mut(link)) {
                        *of_link = (of_link.0 || !word.is_empty(), of_link.1 || word.is_empty());
                    }
                    word
                })
                .collect();
            if words.first().is_some_and(String::is_empty)
                && let Some(before) = lines.last_mut()
                && let Some(ended) = before.text.strip_suffix(SOFT_HYPHEN)
                && ended.ends_with(|letter: char| !letter.is_whitespace())
            {
                let length = ended.len();
                before.text.truncate(length);
            }
            lines.extend(line_of(line, &words));
        }
        if has_picture || !lines.is_empty() {
            let (at, alternative) =
                if has_picture { (block.at, block.alternative.clone()) } else { (None, None) };
            blocks.push(Block { role: block.role, lines, at, alternative });
        }
    }
    let links = page.links.iter().zip(of_links).filter_map(|(link, (has_shown, has_hidden))| {
        let has_edge = is_shown();
        (has_shown || has_edge && !has_hidden).then(|| Link::clone(link))
    });
    Page { at: page.at, label: page.label.clone(), blocks, links: links.collect() }
}

/// Returns what is left of a word: all or nothing, or, if its letters were looked at one by one, those that are shown. A
/// single letter may have no ink where it is expected.
fn shown_letters(word: &str, shown: &[bool]) -> String {
    if let [is_shown] = shown {
        return if *is_shown { word.to_owned() } else { String::new() };
    }
    let is_at = |index: usize| shown.get(index).copied().unwrap_or(true);
    let letters = word.chars().enumerate();
    letters
        .filter(|&(index, _)| is_at(index) || index.checked_sub(1).is_none_or(is_at) && is_at(index + 1))
        .map(|(_, letter)| letter)
        .collect()
}

/// Returns a line with what is left of its words; `None` if that is nothing.
fn line_of(line: &Line, words: &[String]) -> Option<Line> {
    let left: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let text = left.join(" ");
    if text == line.text {
        return Some(line.clone());
    }
    let places = line.places().zip(words).filter(|(_, word)| !word.is_empty()).map(|(place, _)| place);
    let line = Line { text, ..line.clone() }.with_places(places);
    (!line.text.trim_matches(SOFT_HYPHEN).is_empty()).then_some(line)
}

/// Returns the cores of a word: one, or one for each letter if spaces do not divide words in its script.
fn cores(line: &Line, word: &str, at: Rect, letters: &mut usize) -> impl Iterator<Item = Core> + use<> {
    let is_placed = !line.spans.is_empty() && line.angle.is_multiple_of(90);
    let count = word.chars().count();
    let each_letter =
        is_placed && word.chars().filter(|&letter| is_full(letter)).count() > 1 && *letters >= count;
    let one =
        (!each_letter).then(|| if is_placed { Core::of_word(line, word, at) } else { Core::within(at) });
    let mut each = Vec::new();
    if each_letter {
        *letters -= count;
        let width = |letter| if is_full(letter) { 2.0 } else { 1.0 };
        let all: f64 = word.chars().map(width).sum();
        let mut start = 0.0;
        each.extend(word.chars().map(|letter| {
            let from = start;
            start += width(letter);
            Core::of_letter(line, at, (from / all, start / all))
        }));
    }
    one.into_iter().chain(each)
}

impl Core {
    /// Returns the core of a box that is a word's own.
    fn of_word(line: &Line, word: &str, at: Rect) -> Self {
        let whole = Self::from(at);
        let (length, height) = whole.sides(line);
        let (all, signs) = (word.chars().count(), word.chars().filter(is_sign).count());
        if signs == all {
            // They say nothing, and some fonts draw the dots of a leader beside their boxes.
            let by = whole.shorter / 2.0;
            return whole.grown(by);
        }
        if 2 * signs > all || height > MAX_HEIGHT * length / all as f64 {
            return whole;
        }
        let (first, last) = (word.chars(), word.chars().rev());
        let mut ends = [first.take_while(is_sign).count(), last.take_while(is_sign).count()]
            .map(|signs| signs as f64 * SIGN * height);
        let most = length / 2.0 / ends.iter().sum::<f64>().max(1.0);
        ends = ends.map(|end| end * most.min(1.0));
        let mut rest = length - ends.iter().sum::<f64>();
        if rest > MIN_ENDS * height {
            ends = ends.map(|end| end + END * height);
            rest -= 2.0 * END * height;
        }
        let [start, end] = ends.map(|end| end / length.max(1.0));
        let cells = (rest / height.max(1.0)).clamp(1.0, MAX_CELLS) as u8;
        Self { cells, ..whole.part(line, (start, 1.0 - end), BAND) }
    }

    /// Returns the core of the letter at this part of a word's box.
    fn of_letter(line: &Line, at: Rect, (start, end): (f64, f64)) -> Self {
        let inset = (end - start) * BORDER;
        Self::from(at).part(line, (start + inset, end - inset), FULL_BAND)
    }

    /// Returns the core of a box that holds a word and more.
    fn within(at: Rect) -> Self {
        let whole = Self::from(at);
        let border = BORDER * whole.shorter;
        whole.grown(-border)
    }

    /// Returns the surroundings of a picture or link.
    fn around(at: Rect) -> Self {
        Self::from(at).grown(AROUND)
    }

    fn from(at: Rect) -> Self {
        let [left, top, width, height] = <[u32; 4]>::from(at).map(f64::from);
        let (right, bottom) = (left + width, top + height);
        Self { left, top, right, bottom, shorter: width.min(height), cells: 1, is_vertical: false }
    }

    fn grown(self, by: f64) -> Self {
        let (left, top) = (self.left - by, self.top - by);
        Self { left, top, right: self.right + by, bottom: self.bottom + by, ..self }
    }

    /// Returns its sides along and across a line.
    fn sides(&self, line: &Line) -> (f64, f64) {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        if line.angle % 180 == 90 { (height, width) } else { (width, height) }
    }

    /// Returns the part between these shares of the line's direction from its beginning, and of its height from its top.
    fn part(self, line: &Line, along: (f64, f64), across: (f64, f64)) -> Self {
        let reversed = |(from, to): (f64, f64)| (1.0 - to, 1.0 - from);
        let along = if matches!(line.angle, 180 | 270) == line.rtl { along } else { reversed(along) };
        let across = if matches!(line.angle, 90 | 180) { reversed(across) } else { across };
        let is_vertical = line.angle % 180 == 90;
        let (x, y) = if is_vertical { (across, along) } else { (along, across) };
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        Self {
            left: self.left + x.0 * width,
            top: self.top + y.0 * height,
            right: self.left + x.1 * width,
            bottom: self.top + y.1 * height,
            is_vertical,
            ..self
        }
    }

    /// Returns the area of a core on a page, in pixels of the rows.
    fn in_rows(self, page: Rect, scale: (f64, f64), rows: Size) -> Area {
        let side = |(from, to): (f64, f64), origin: u32, scale: f64, most: u32| {
            let [from, to] =
                [from, to].map(|at| ((at + f64::from(origin)) * scale).clamp(0.0, f64::from(most)));
            let start = from.round() as u32;
            // A pixel at least, unless it is outside.
            let middle = (f64::midpoint(from, to) as u32).min(most.saturating_sub(1));
            let end = to.round() as u32;
            if from < to && start >= end { (middle, middle + 1) } else { (start, end) }
        };
        let (left, right) = side((self.left, self.right), page.left, scale.0, rows.width);
        let (top, bottom) = side((self.top, self.bottom), page.top, scale.1, rows.height);
        let is_judged = self.shorter * scale.0.min(scale.1) >= MIN_SIDE;
        let cells = if is_judged { self.cells } else { 0 };
        Area { left, top, right, bottom, cells, is_vertical: self.is_vertical, inked: 0 }
    }
}

impl Area {
    /// Looks for ink in a row that crosses it.
    fn look(
        &mut self,
        row: u32,
        pixels: &[u8],
        channels: usize,
        first: &mut [Option<[u8; 4]>; MAX_CELLS as usize],
    ) {
        let (cells, height) = (u32::from(self.cells), self.bottom.saturating_sub(self.top).max(1));
        let width = u64::from(self.right.saturating_sub(self.left));
        let edge = |cell: u32| (u64::from(self.left) + width * u64::from(cell) / u64::from(cells)) as usize;
        let below = (u64::from(row - self.top) * u64::from(cells) / u64::from(height)) as u32;
        for (cell, first) in (0..cells).zip(first) {
            let bit = 1_u8 << cell;
            if self.inked & bit != 0 || self.is_vertical && cell != below {
                continue;
            }
            let (from, to) =
                if self.is_vertical { (edge(0), edge(cells)) } else { (edge(cell), edge(cell + 1)) };
            let pixels = pixels.get(from * channels..to * channels).unwrap_or_default();
            let has_ink = match channels {
                1 => has_other::<1>(pixels, first),
                3 => has_other::<3>(pixels, first),
                _ => has_other::<4>(pixels, first),
            };
            self.inked |= if has_ink { bit } else { 0 };
        }
    }

    fn is_shown(&self) -> bool {
        self.cells == 0 || 2 * self.inked.count_ones() > u32::from(self.cells)
    }
}

/// Returns true if a pixel has another colour than the first one of its cell.
fn has_other<const CHANNELS: usize>(pixels: &[u8], first: &mut Option<[u8; 4]>) -> bool {
    let (pixels, _) = pixels.as_chunks::<CHANNELS>();
    let Some(next) = pixels.first() else { return false };
    let first =
        first.get_or_insert_with(|| std::array::from_fn(|sample| next.get(sample).copied().unwrap_or(0)));
    // One comparison of bytes for a row of one colour, as those of covers are.
    let (flat, is_first) = (pixels.as_flattened(), first.starts_with(next));
    if is_first && flat.get(CHANNELS..) == flat.get(..flat.len() - CHANNELS) {
        return false;
    }
    let is_other = |pixel: &[u8; CHANNELS]| {
        pixel.iter().zip(first.iter()).any(|(sample, first)| sample.abs_diff(*first) > ONE_COLOUR)
    };
    pixels.iter().any(is_other)
}

/// Returns true for what need not cross the [`BAND`]: punctuation, accents that stand alone, and raised letters.
fn is_sign(letter: &char) -> bool {
    matches!(letter, 'ª' | '²' | '³' | '¹' | 'º' | '\u{2b0}'..='\u{2ff}' | '\u{2070}'..='\u{209f}')
        || !letter.is_alphanumeric()
}

/// Returns true for Chinese and Japanese letters and signs, all of one width (Unicode, East_Asian_Width W and F, by blocks).
fn is_full(letter: char) -> bool {
    matches!(letter, '\u{3001}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Role, Target};

    const SIZE: Size = Size { width: 400, height: 200 };
    const WHITE: u8 = 255;

    /// A grey picture with one column of strokes for each letter.
    struct Sheet(Vec<u8>);

    impl Sheet {
        fn new() -> Self {
            Self(vec![WHITE; (SIZE.width * SIZE.height) as usize])
        }

        fn fill(mut self, [left, top, width, height]: [u32; 4], grey: u8) -> Self {
            for y in top..top + height {
                self.0[(y * SIZE.width + left) as usize..][..width as usize].fill(grey);
            }
            self
        }

        /// Draws letters 8 wide in a box 16 high: a stroke of 2 pixels from a third of its height to the baseline.
        fn letters(self, count: u32, left: u32, top: u32, grey: u8) -> Self {
            (0..count).fold(self, |sheet, index| sheet.fill([left + 8 * index + 3, top + 5, 2, 8], grey))
        }

        fn shown(&self, text: &Text) -> Text {
            let text = text.clone().bounded(SIZE);
            let mut ink = Ink::new(&text, SIZE, SIZE);
            self.0.chunks_exact(SIZE.width as usize).for_each(|row| ink.row(row, 1));
            let shown = ink.shown();
            assert_eq!(shown.clone().bounded(SIZE), shown, "what is shown is bounded");
            shown
        }

        /// Returns what is shown of these lines.
        fn words(&self, lines: Vec<Line>) -> String {
            self.shown(&page(vec![Block::lines(Role::P, lines)], vec![])).plain().trim_end().to_owned()
        }
    }

    fn page(blocks: Vec<Block>, links: Vec<Link>) -> Text {
        let page = Page { blocks, links, ..Page::new(Rect::new(0, 0, SIZE.width, SIZE.height)) };
        Text { pages: vec![page], total: 1, ..Text::default() }
    }

    /// Returns a line of letters 8 wide in a box 16 high.
    fn line(text: &str, left: u32, top: u32) -> Line {
        let length = |word: &str| 8 * word.chars().count() as i32;
        let spans =
            text.split(' ').enumerate().flat_map(|(index, word)| [8 * index.min(1) as i32, length(word)]);
        Line::new(Rect::new(left, top, length(text) as u32, 16), text, spans.collect())
    }

    #[test]
    fn a_word_under_a_cover_is_dropped_and_its_neighbours_keep_their_places() {
        let sheet = Sheet::new().letters(15, 20, 40, 0);
        let words = || vec![line("one secret word", 20, 40)];
        assert_eq!(sheet.words(words()), "one secret word");
        let text = page(vec![Block::lines(Role::P, words())], vec![]);
        // Exactly on the box, larger, and smaller: a cover of capital letters that leaves descenders.
        for cover in [[52, 40, 48, 16], [49, 36, 54, 24], [54, 43, 44, 10]] {
            let sheet = Sheet::new().letters(15, 20, 40, 0).fill(cover, 9);
            let shown = sheet.shown(&text);
            let [line] = &shown.pages[0].blocks[0].lines[..] else { panic!("{shown:?}") };
            assert_eq!(
                (line.text.as_str(), &line.spans[..]),
                ("one word", &[0, 24, 64, 32][..]),
                "{cover:?}"
            );
        }
    }

    #[test]
    fn a_cover_may_leave_a_comma_and_what_has_no_ink_is_dropped() {
        let sheet = Sheet::new().letters(9, 20, 40, 0).fill([20, 38, 64, 20], 0).fill([86, 52, 2, 4], 0);
        assert_eq!(sheet.words(vec![line("Miller's,", 20, 40)]), "");
        let faint = |grey| Sheet::new().letters(5, 20, 40, grey).words(vec![line("faint", 20, 40)]);
        assert_eq!((faint(WHITE - 3).as_str(), faint(0xcc).as_str()), ("", "faint"));
        assert_eq!(Sheet::new().words(vec![line("below", 20, 150), line("above", 20, 10)]), "");
    }

    #[test]
    fn words_of_signs_alone_and_small_ones_are_kept() {
        let sheet = Sheet::new().fill([20, 53, 8, 1], 0).fill([41, 40, 2, 3], 0);
        assert_eq!(sheet.words(vec![line("_ ' —", 20, 40)]), "_ '");
        assert_eq!(sheet.words(vec![line("_ ˆ ²", 20, 40)]), "_ ˆ", "an accent alone is above the band");
        let dots = [29, 45, 61].into_iter().fold(Sheet::new(), |sheet, left| sheet.fill([left, 53, 2, 2], 0));
        assert_eq!(dots.words(vec![line(". . .", 20, 40)]), ". . .", "dots beside their boxes");
        let small = Line::new(Rect::new(9, 9, 4, 1), "small", vec![0, 4]);
        assert_eq!(Sheet::new().words(vec![small]), "small");
    }

    #[test]
    fn lines_in_each_direction_are_looked_at_where_their_letters_are() {
        for (angle, rtl) in [(0, true), (90, false), (180, false), (270, false), (270, true)] {
            let is_upright = angle % 180 == 0;
            let at = if is_upright { Rect::new(20, 40, 64, 16) } else { Rect::new(20, 40, 16, 64) };
            let line = Line { angle, rtl, ..Line::new(at, "abc, defg", vec![0, 32, 8, 24]) };
            let at = line.words().last().unwrap().1;
            let cover = <[u32; 4]>::from(at);
            let strokes = (0..16).fold(Sheet::new(), |sheet, index| {
                let along = 4 * index + 1;
                sheet.fill(if is_upright { [20 + along, 44, 2, 8] } else { [24, 40 + along, 8, 2] }, 0)
            });
            let words = strokes.fill(cover, 0).words(vec![line]);
            assert_eq!(words, "abc,", "{angle} {rtl}");
        }
        // The enclosing box of a turned line counts as a whole.
        let turned = Line { angle: 31, ..Line::new(Rect::new(20, 20, 100, 80), "turned words", vec![]) };
        assert_eq!(Sheet::new().words(vec![turned.clone()]), "");
        assert_eq!(Sheet::new().letters(1, 90, 70, 0).words(vec![turned]), "turned words");
    }

    #[test]
    fn letters_of_chinese_are_looked_at_one_by_one() {
        let chinese = |text: &str| Line::new(Rect::new(20, 40, 96, 16), text, vec![0, 96]);
        let strokes = (0..6).fold(Sheet::new(), |sheet, index| sheet.letters(2, 20 + 16 * index, 40, 0));
        assert_eq!(strokes.words(vec![chinese("他是张三丰。")]), "他是张三丰。");
        let covered = strokes.fill([52, 38, 48, 20], 0);
        assert_eq!(covered.words(vec![chinese("他是张三丰。")]), "他是。");
    }

    #[test]
    fn a_word_that_goes_on_in_a_hidden_one_ends() {
        let sheet = Sheet::new().letters(7, 20, 40, 0);
        let lines = vec![line("an exam\u{ad}", 20, 40), line("ple", 20, 60)];
        assert_eq!(sheet.words(lines), "an exam");
    }

    #[test]
    fn pictures_and_links_go_with_what_they_show() {
        let at = Rect::new(100, 100, 40, 30);
        let url = |at, url: &str| Link { at, to: Target::Url(format!("mailto:{url}")) };
        let text = page(
            vec![
                Block::picture(at, "a bar".to_owned()),
                Block::lines(Role::P, vec![line("one secret", 20, 40)]),
            ],
            vec![
                url(Rect::new(18, 38, 28, 20), "one"),
                url(Rect::new(50, 38, 52, 20), "secret"),
                url(at, "bar"),
            ],
        );
        let counts = |sheet: &Sheet| {
            let shown = sheet.shown(&text);
            let Some(page) = shown.pages.first() else { panic!("{shown:?}") };
            let links: Vec<_> = page.links.iter().map(|link| link.at.left).collect();
            (page.blocks.len(), links)
        };
        let sheet = Sheet::new().letters(10, 20, 40, 0);
        assert_eq!(counts(&Sheet::new()), (0, vec![]));
        assert_eq!(counts(&sheet), (1, vec![18, 50]));
        let sheet = sheet.fill([51, 40, 50, 17], 0).fill([100, 100, 40, 30], 0);
        assert_eq!(counts(&sheet), (2, vec![18, 100]), "a bar is a picture, and a cover hides a link");
        let sheet = sheet.fill([90, 90, 60, 50], 0);
        assert_eq!(counts(&sheet), (1, vec![18]));
    }

    #[test]
    fn boxes_as_large_as_the_page_take_bounded_work() {
        let all: Vec<Line> = (0..20_000)
            .map(|index| Line::new(Rect::new(0, 0, SIZE.width, SIZE.height - index % 20), "w", vec![0, 400]))
            .collect();
        let text = page(vec![Block::lines(Role::P, all)], vec![]).bounded(SIZE);
        let mut ink = Ink::new(&text, SIZE, SIZE);
        Sheet::new().0.chunks_exact(SIZE.width as usize).for_each(|row| ink.row(row, 1));
        assert!(ink.looks < LOOKS * SIZE.pixels() && ink.open.is_empty());
        assert!(ink.shown().is_empty());
    }
}
