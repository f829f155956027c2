//! The words and form values of a page, and the document's outline, as PDFium tells them. The words of a tagged
//! page are in the order of its [`structure`](super::structure). A page whose words are garbage, because its fonts do not
//! say which letters they show, has none.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use edgezoom_text::{Block, Entry, Line, MAX_PAGE_WORDS, MAX_WORDS, Page, Rect, Target, Text};
use pdfium_render::prelude::{
    PdfBookmark, PdfDestinationViewSettings, PdfDocument, PdfPage, PdfPageObject, PdfPageObjectsCommon,
    PdfPageRenderRotation, PdfPageText, PdfPageTextChar,
};

use super::annotations::{self, Copies, Shown};
use super::clusters::{Clusters, Ink, is_clustered};
use super::coordinates::ToPage;
use super::dictionaries::{Dictionaries, tagged};
use super::hidden::{Clips, leave_out, matrix_of};
use super::layout::Area;
use super::links::{destination_in, links};
use super::marks::{MAX_DEPTH as MAX_DRAWINGS, Marks};
use super::structure::{Structure, Tagged};
use crate::formats::lines::{Letter, Lines, NEXT_COLUMN_IN_TEXT, Space, around, is_rtl, put_capitals, rect};

/// Time for the text of a document. A page takes about a millisecond; one of 16,000 letters half a second.
const TIME: Duration = Duration::from_secs(5);
/// Time for the marked content of its pages.
const CONTENT_TIME: Duration = Duration::from_secs(2);
/// Units of a point in which text is kept until the size of the page in pixels is known.
const UNITS: f64 = 64.0;
/// Maximum number of letters of a page.
const MAX_LETTERS: usize = 8 * MAX_PAGE_WORDS;
/// Share of letters that are none from which a page's words are garbage.
const MAX_NO_LETTERS: f64 = 0.1;
/// Share of words with letters of several scripts from which a page's words are garbage.
const MAX_MIXED: f64 = 0.2;
/// Maximum number of entries of the outline that are looked at.
const MAX_ENTRIES: usize = 4000;
/// Maximum depth of the outline.
const MAX_DEPTH: u8 = 8;

/// The codes of symbol fonts (Symbol, Wingdings), whose signs have no letters. They say nothing about other fonts.
const SYMBOLS: RangeInclusive<u32> = 0xf020..=0xf0ff;
/// The letter at which PDFium divides a word.
const DIVIDED: [u32; 2] = [0x02, 0xfffe];

/// Collects the text of a document's pages.
pub struct Collector {
    /// Time that is left.
    time: Duration,
    content_time: Duration,
    words: usize,
    pages: Vec<Found>,
}

/// The text of a page, in [`UNITS`] of a point.
struct Found {
    page: Page,
    to_page: ToPage,
    /// Width of the page in those units.
    width: f64,
}

impl Collector {
    pub fn new() -> Self {
        Self { time: TIME, content_time: CONTENT_TIME, words: 0, pages: Vec::new() }
    }

    /// Returns true if the next page's text will be read.
    fn has_time(&self) -> bool {
        !self.time.is_zero() && self.words < MAX_WORDS
    }

    /// Reads the text of the next page.
    pub fn read(
        &mut self,
        page: &mut PdfPage<'_>,
        number: i32,
        dictionaries: &Dictionaries,
        structure: &mut Option<Structure<'_>>,
        copies: &mut Copies<'_>,
    ) {
        let (began, unit) = (Instant::now(), dictionaries.unit(number));
        let (width, height) = (f64::from(page.width().value) * unit, f64::from(page.height().value) * unit);
        let size = (width * UNITS, height * UNITS);
        let to_page = ToPage::of(page, size);
        let mut found = Page::new(Rect::new(0, 0, size.0.ceil() as u32, size.1.ceil() as u32));
        if self.has_time() {
            let marks = dictionaries.marks(number, began + self.content_time);
            self.content_time = self.content_time.saturating_sub(began.elapsed());
            let tagged = marks.as_ref().and_then(|marks| tagged(structure, number, marks));
            let shown = annotations::shown(page);
            let copy = copies.page(number, &shown);
            // Before hidden ones are left out, which would count as the annotations'.
            let own = copy.as_ref().map(|_| letters_of(page, &to_page, size)).unwrap_or_default();
            found.blocks = blocks(page, &to_page, size, marks.as_ref(), tagged);
            add_shown(&mut found.blocks, &shown, &own, copy.as_ref(), &to_page, size);
            found.links = links(page, &dictionaries.links(number), &to_page, &found.blocks);
            self.words += found.blocks.iter().flat_map(|block| &block.lines).map(count).sum::<usize>();
        }
        let position = (number + 1).to_string();
        found.label = page.label().map(str::to_owned).filter(|label| *label != position);
        self.pages.push(Found { page: found, to_page, width: size.0 });
        self.time = self.time.saturating_sub(began.elapsed());
    }

    /// Returns the text of a picture with the pages at these places. `first` is the number of the first page.
    pub fn finish(self, document: &PdfDocument<'_>, first: i32, areas: &[Area]) -> Text {
        let began = Instant::now();
        let total = document.pages().len().unsigned_abs();
        let in_picture =
            |page: i32| u32::try_from(page - first).ok().filter(|&page| (page as usize) < areas.len());
        let mut outline = Vec::new();
        let mut seen = 0;
        let mut down = document.bookmarks().root().into_iter().map(|root| (root, 0)).collect::<Vec<_>>();
        // The next one on top, so that entries come in their order.
        while let Some((bookmark, depth)) = down.pop() {
            seen += 1;
            if seen > MAX_ENTRIES || began.elapsed() > self.time {
                break;
            }
            down.extend(bookmark.next_sibling().map(|next| (next, depth)));
            if depth < MAX_DEPTH {
                down.extend(bookmark.first_child().map(|child| (child, depth + 1)));
            }
            let target = destination_of(&bookmark).and_then(|(page, y)| Some((in_picture(page)?, y)));
            let place = target.map(|(page, y)| {
                let y = y.and_then(|y| {
                    let (found, area) = (self.pages.get(page as usize)?, areas.get(page as usize)?);
                    let (_, y) = found.to_page.point(0.0, y);
                    Some((y.max(0.0) * f64::from(area.size.width) / found.width).round() as u32)
                });
                (page, y)
            });
            outline.extend(bookmark.title().map(|title| (depth, title, place)));
        }
        let outline = entries(outline);
        let pages = self.pages.into_iter().zip(areas).map(|(found, area)| {
            let at = Rect::new(area.left, area.top, area.size.width, area.size.height);
            let mut page = found.page.moved(at, f64::from(area.size.width) / found.width);
            page.links.retain_mut(|link| match &mut link.to {
                Target::Page(page) => in_picture(*page as i32).is_some_and(|number| {
                    *page = number;
                    true
                }),
                Target::Url(_) => true,
            });
            page
        });
        let language = document.catalog().get_language().ok().filter(|language| !language.is_empty());
        Text { language, total, pages: pages.collect(), outline, ..Text::default() }
    }
}

/// Returns the entries of an outline. One without a place of its own, a part, leads to the first one below it.
fn entries(found: Vec<(u8, String, Option<Place>)>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (depth, title, place) in found.into_iter().rev() {
        let below = entries.last().filter(|below| below.depth > depth).map(|below| (below.page, below.y));
        entries.extend(place.or(below).map(|(page, y)| Entry { depth, title, page, y }));
    }
    entries.reverse();
    entries
}

/// A page, and the distance from its top in pixels.
type Place = (u32, Option<u32>);

/// A part of a page's text.
#[derive(Clone, Copy)]
enum Item {
    Letter(Letter),
    Space(Space),
}

/// Returns the paragraphs of a page.
fn blocks(
    page: &mut PdfPage<'_>,
    to_page: &ToPage,
    size: (f64, f64),
    marks: Option<&Marks>,
    tagged: Option<Tagged>,
) -> Vec<Block> {
    let rotation = page.rotation().unwrap_or(PdfPageRenderRotation::None);
    let turned = f64::from(rotation.as_degrees());
    // PDFium orders lines from the top of a page down, and gets those of a page that lies on its side in the wrong order.
    if turned % 180.0 != 0.0 {
        page.set_rotation(PdfPageRenderRotation::None);
    }
    let clips = marks.map(|marks| leave_out(page, marks)).unwrap_or_default();
    let tagged = tagged.and_then(|tagged| Some((Texts::of(page, &tagged)?, tagged)));
    let blocks = page.text().map(|text| match tagged {
        Some((mut texts, tagged)) => {
            let items = items(&text, to_page, size, turned, &clips, |character| texts.piece(character))?;
            Some(blocks_of(with_spaces(items, page, to_page), &tagged, to_page))
        }
        None => {
            let items = items(&text, to_page, size, turned, &clips, |_| None)?;
            let items = with_spaces(items, page, to_page);
            Some(by_place(items.into_iter().map(|(_, item)| item)))
        }
    });
    page.set_rotation(rotation);
    let mut blocks = blocks.ok().flatten().filter(|blocks| !is_mixed(blocks)).unwrap_or_default();
    put_capitals(&mut blocks);
    blocks
}

/// Returns the letters of a page, with the marked content to which they belong; `None` if they are garbage.
fn items(
    text: &PdfPageText<'_>,
    to_page: &ToPage,
    size: (f64, f64),
    turned: f64,
    clips: &Clips,
    mut piece_of: impl FnMut(&PdfPageTextChar<'_>) -> Option<usize>,
) -> Option<Vec<(Option<usize>, Item)>> {
    let characters = text.chars();
    let mut items = Vec::with_capacity(characters.len().min(MAX_LETTERS));
    let (mut letters, mut none) = (0, 0);
    let (mut surrogate, mut piece, mut space) = (None, None, None);
    let mut clusters = Clusters::default();
    let mut last: Option<(PdfPageTextChar<'_>, Letter)> = None;
    for character in characters.iter().take(MAX_LETTERS) {
        let value = character.unicode_value();
        if matches!(value, 0x0a | 0x0d) {
            space = space.max(Some(Space::AtGap));
            continue;
        }
        let Some(value) = joined(value, &mut surrogate) else { continue };
        if SYMBOLS.contains(&value) {
            continue;
        }
        letters += 1;
        let Some(letter) = letter_of(value) else {
            none += 1;
            continue;
        };
        let Some(mut at) = place(&character, to_page, size).filter(|_| !clips.hide(&character)) else {
            continue;
        };
        if letter.is_whitespace() {
            let is_added = at[0] == at[2] || at[1] == at[3] || character.is_generated().unwrap_or(false);
            space = space.max(Some(if is_added { Space::Added } else { Space::Written }));
            continue;
        }
        let angle = character.angle_degrees().map_or(0.0, f64::from) + turned;
        let is_hyphen = DIVIDED.contains(&value) || letter == '-' && character.is_hyphen().unwrap_or(false);
        let origin = if is_clustered(letter) || is_rtl(letter) { character.origin().ok() } else { None };
        let origin = origin.map(|(x, y)| to_page.point(x.value.into(), y.value.into()));
        if let Some((left, _)) = origin.filter(|_| is_rtl(letter) && angle == 0.0) {
            at[0] = left.min(at[2]);
        }
        let letter = Letter { letter, at, angle, is_hyphen };
        match origin {
            Some(origin) => items.truncate(clusters.push(&letter, origin, items.len())),
            None => items.truncate(clusters.end().unwrap_or(items.len())),
        }
        let before = std::mem::replace(&mut piece, piece_of(&character));
        if let Some(space) = space.take() {
            let is_wide = last.as_ref().is_some_and(|(of_last, last)| {
                let gap = last.gap(&letter) / last.height().max(letter.height());
                (1.0..NEXT_COLUMN_IN_TEXT).contains(&gap)
                    && (space == Space::Written && piece.is_some() && piece == before
                        || is_same_text(of_last, &character))
            });
            items.push((before, Item::Space(if is_wide { Space::Wide } else { space })));
        }
        items.push((piece, Item::Letter(letter)));
        last = Some((character, letter));
    }
    items.truncate(clusters.end().unwrap_or(items.len()));
    let is_garbage = f64::from(none) > MAX_NO_LETTERS * f64::from(letters);
    (!is_garbage).then_some(items)
}

/// Returns true if two letters belong to one text.
fn is_same_text(one: &PdfPageTextChar<'_>, other: &PdfPageTextChar<'_>) -> bool {
    let matrix = |of: &PdfPageTextChar<'_>| matrix_of(&of.text_object().ok()?);
    matrix(one).is_some_and(|one| matrix(other) == Some(one))
}

/// Puts the spaces between clusters where the page has them.
fn with_spaces(
    items: Vec<(Option<usize>, Item)>,
    page: &PdfPage<'_>,
    to_page: &ToPage,
) -> Vec<(Option<usize>, Item)> {
    let is_clustered = |letter: &Letter| is_clustered(letter.letter) && letter.angle == 0.0;
    if !items.iter().any(|(_, item)| matches!(item, Item::Letter(letter) if is_clustered(letter))) {
        return items;
    }
    let ink = Ink::of(page, to_page);
    let mut spaced = Vec::with_capacity(items.len());
    let (mut last, mut space): (Option<(Option<usize>, Letter)>, _) = (None, None);
    for (piece, item) in items {
        let letter = match item {
            Item::Space(found) => {
                space = space.max(Some(found));
                continue;
            }
            Item::Letter(letter) => letter,
        };
        if let Some((before, last)) = last {
            let mut found = space.take();
            if found < Some(Space::Written) && (is_clustered(&last) || is_clustered(&letter)) {
                let (seen, end) = ink.space(&last, &letter);
                found = seen.filter(|seen| *seen == Space::Written || found.is_some());
                if let Some((_, Item::Letter(last))) = spaced.last_mut() {
                    last.at[2] = end;
                }
            }
            spaced.extend(found.map(|space| (before, Item::Space(space))));
        }
        spaced.push((piece, Item::Letter(letter)));
        last = Some((piece, letter));
    }
    spaced
}

/// Returns paragraphs by the places of letters.
fn by_place(items: impl Iterator<Item = Item>) -> Vec<Block> {
    let mut lines = Lines::default();
    for item in items {
        match item {
            Item::Letter(letter) => lines.push(letter),
            Item::Space(space) => lines.push_space(space),
        }
    }
    lines.finish()
}

/// Returns the blocks of a tagged page. Letters outside its structure, as those of headers, come last: screen readers
/// leave them out, but readers see, search and select them.
fn blocks_of(mut items: Vec<(Option<usize>, Item)>, tagged: &Tagged, to_page: &ToPage) -> Vec<Block> {
    // The sort is stable: letters of a piece keep their order.
    items.sort_by_key(|(piece, _)| piece.unwrap_or(usize::MAX));
    let items = spell(items, tagged);
    let corners = |[left, bottom, right, top]: [f64; 4]| to_page.corners((left, bottom), (right, top));
    let mut places: Vec<Option<[f64; 4]>> =
        tagged.elements.iter().map(|element| element.at.map(corners)).collect();
    let mut of_elements = vec![Vec::new(); tagged.elements.len()];
    let piece = |piece: &Option<usize>| piece.and_then(|piece| tagged.pieces.get(piece));
    let mut outside = Vec::new();
    let mut items = items.into_iter().peekable();
    while let Some((first, item)) = items.next() {
        let mut of_element = vec![item];
        let element = piece(&first).map(|piece| piece.element);
        let mut picture = piece(&first).and_then(|piece| piece.picture);
        while let Some((next, item)) =
            items.next_if(|(next, _)| piece(next).map(|piece| piece.element) == element)
        {
            picture = picture.or(piece(&next).and_then(|piece| piece.picture));
            of_element.push(item);
        }
        if let Some(place) = picture.and_then(|picture| places.get_mut(picture)) {
            let letters = of_element.iter().filter_map(|item| match item {
                Item::Letter(letter) => Some(letter.at),
                Item::Space(_) => None,
            });
            *place = letters.fold(*place, |place, at| Some(place.map_or(at, |place| around(place, at))));
        }
        let blocks = by_place(of_element.into_iter());
        match element.and_then(|element| of_elements.get_mut(element)) {
            Some(lines) => *lines = blocks.into_iter().flat_map(|block| block.lines).collect(),
            None => outside = blocks,
        }
    }
    let elements = tagged.elements.iter().zip(places).zip(of_elements);
    let blocks = elements.filter_map(|((element, place), lines)| match (&element.alternative, place) {
        (Some(alternative), Some(place)) => Some(Block::picture(rect(place), alternative.clone())),
        _ => (!lines.is_empty()).then(|| Block::lines(element.role, lines)),
    });
    blocks.chain(outside).collect()
}

/// Puts the letters that elements have instead of those that are drawn into the same place.
fn spell(items: Vec<(Option<usize>, Item)>, tagged: &Tagged) -> Vec<(Option<usize>, Item)> {
    let text_of = |(piece, _): &(Option<usize>, Item)| tagged.pieces.get((*piece)?)?.spelled;
    let mut spelled = Vec::with_capacity(items.len());
    for run in items.chunk_by(|one, other| text_of(one) == text_of(other)) {
        let letters = || {
            run.iter().filter_map(|(_, item)| match item {
                Item::Letter(letter) => Some(*letter),
                Item::Space(_) => None,
            })
        };
        let text = run.first().and_then(text_of).and_then(|number| tagged.spelled.get(number));
        let at = letters().map(|letter| letter.at).reduce(around);
        let highest = letters().map(|letter| letter.height()).fold(0.0, f64::max);
        let (Some(text), Some(at), Some((piece, _)), Some(first)) = (text, at, run.first(), letters().next())
        else {
            spelled.extend_from_slice(run);
            continue;
        };
        let whole = Letter { at, ..first };
        let is_line = whole.height() < 1.5 * highest;
        if !is_line
            || text.chars().filter(|letter| !letter.is_whitespace()).eq(letters().map(|letter| letter.letter))
        {
            spelled.extend_from_slice(run);
            continue;
        }
        let [left, top, right, bottom] = at;
        let width = (right - left) / text.chars().count() as f64;
        for (letter, number) in text.chars().zip(0..) {
            let number = f64::from(if text.chars().any(is_rtl) {
                text.chars().count() as i32 - 1 - number
            } else {
                number
            });
            let part = [left + width * number, top, left + width * (number + 1.0), bottom];
            let at = if first.angle == 0.0 { part } else { at };
            let letter = Letter { letter, at, is_hyphen: false, ..first };
            let item = if letter.letter.is_whitespace() {
                Item::Space(Space::Written)
            } else {
                Item::Letter(letter)
            };
            spelled.push((*piece, item));
        }
        spelled.extend(run.last().filter(|(_, item)| matches!(item, Item::Space(_))).copied());
    }
    spelled
}

/// The texts of a page that are in marked content.
struct Texts {
    /// For each matrix of a text, its numbers and marked content. Few texts have the same.
    pieces: HashMap<[u32; 6], Vec<(usize, Option<usize>)>>,
    /// The matrix of the last letter's text, its number, and its marked content.
    last: Option<([u32; 6], usize, Option<usize>)>,
}

impl Texts {
    /// Finds PDFium's objects of the texts; `None` if it has others.
    fn of(page: &PdfPage<'_>, tagged: &Tagged) -> Option<Self> {
        let mut texts = Self { pieces: HashMap::new(), last: None };
        let mut number = 0;
        for object in page.objects().iter() {
            texts.add(&object, tagged, &mut number, 0)?;
        }
        (number == tagged.texts.len()).then_some(texts)
    }

    fn add(
        &mut self,
        object: &PdfPageObject<'_>,
        tagged: &Tagged,
        number: &mut usize,
        depth: usize,
    ) -> Option<()> {
        match object {
            PdfPageObject::Text(text) => {
                let piece = tagged.texts.get(*number)?;
                if object.is_active().unwrap_or(true) {
                    self.pieces.entry(matrix_of(text)?).or_default().push((*number, *piece));
                }
                *number += 1;
            }
            PdfPageObject::XObjectForm(form) if depth < MAX_DRAWINGS => {
                for index in form.as_range() {
                    self.add(&form.get(index).ok()?, tagged, number, depth + 1)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Returns the marked content of the next letter.
    fn piece(&mut self, letter: &PdfPageTextChar<'_>) -> Option<usize> {
        // Letters that PDFium adds have no object.
        let matrix = letter.text_object().ok().and_then(|text| matrix_of(&text));
        if let Some((last, _, piece)) = self.last
            && matrix.is_none_or(|matrix| matrix == last)
        {
            return piece;
        }
        let texts = self.pieces.get(&matrix?)?;
        let after = self.last.map_or(0, |(_, number, _)| number);
        let (number, piece) = *texts.iter().find(|(number, _)| *number >= after).or(texts.first())?;
        self.last = Some((matrix?, number, piece));
        piece
    }
}

/// Returns the value of a character; `None` for the first half of a pair (UTF-16), which is kept until the second comes.
fn joined(value: u32, first: &mut Option<u32>) -> Option<u32> {
    match (value, first.take()) {
        (0xd800..=0xdbff, _) => {
            *first = Some(value);
            None
        }
        (0xdc00..=0xdfff, Some(high)) => Some(0x1_0000 + ((high - 0xd800) << 10) + (value - 0xdc00)),
        (value, _) => Some(value),
    }
}

/// Returns the letter with a value; `None` if it is that of no letter. A font may have a tab for its space.
fn letter_of(value: u32) -> Option<char> {
    if DIVIDED.contains(&value) {
        return Some('-');
    }
    if char::from_u32(value).is_some_and(char::is_whitespace) {
        return Some(' ');
    }
    let is_private = matches!(value, 0xe000..=0xf8ff | 0xf_0000..);
    char::from_u32(value)
        .filter(|&letter| !is_private && !letter.is_control() && !matches!(value, 0 | 0xfff0..=0xffff))
}

/// Returns the place of a letter, if it is on the page.
fn place(letter: &PdfPageTextChar<'_>, to_page: &ToPage, size: (f64, f64)) -> Option<[f64; 4]> {
    let at = to_page.rect(&letter.loose_bounds().ok()?);
    let is_within = |from: f64, to: f64, length: f64| (0.0..=length).contains(&((from + to) / 2.0));
    (is_within(at[0], at[2], size.0) && is_within(at[1], at[3], size.1)).then_some(at)
}

fn count(line: &Line) -> usize {
    line.text.split(' ').count()
}

/// Returns true if more than a fifth of the words have letters of several scripts: then all are likely wrong.
fn is_mixed(blocks: &[Block]) -> bool {
    let lines = || blocks.iter().flat_map(|block| &block.lines);
    let words = lines().flat_map(|line| line.text.split(' '));
    let mixed = words.filter(|word| {
        let scripts: HashSet<u8> = word.chars().filter_map(script).collect();
        scripts.len() > 1
    });
    mixed.count() as f64 > MAX_MIXED * lines().map(count).sum::<usize>().max(5) as f64
}

/// Returns a number for the script of a letter, if words of that script have no letters of others. Greek letters stand in
/// Latin words of science, and Chinese, Japanese and Korean mix scripts.
fn script(letter: char) -> Option<u8> {
    match letter {
        'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{24f}' => Some(0),
        '\u{400}'..='\u{52f}' => Some(1),
        '\u{590}'..='\u{5ff}' => Some(2),
        '\u{600}'..='\u{6ff}' => Some(3),
        '\u{900}'..='\u{dff}' => Some(4),
        '\u{e00}'..='\u{eff}' => Some(5),
        '\u{10a0}'..='\u{10ff}' => Some(6),
        _ => None,
    }
}

/// Adds the words that annotations show. The copy of the page has them in its text.
fn add_shown(
    blocks: &mut Vec<Block>,
    shown: &[Shown],
    own: &[Letter],
    copy: Option<&PdfPage<'_>>,
    to_page: &ToPage,
    size: (f64, f64),
) {
    let of_copy = copy.and_then(|copy| items_of(copy, to_page, size)).unwrap_or_default();
    let key = |letter: &Letter| (letter.letter, letter.at.map(|edge| edge.round() as i64));
    let own: HashSet<(char, [i64; 4])> = own.iter().map(key).collect();
    for annotation in shown {
        let [left, bottom, right, top] = annotation.at;
        let at = to_page.corners((left, bottom), (right, top));
        let is_within = |item: &Item| match item {
            Item::Letter(letter) => {
                let (x, y) = ((letter.at[0] + letter.at[2]) / 2.0, (letter.at[1] + letter.at[3]) / 2.0);
                (at[0]..=at[2]).contains(&x) && (at[1]..=at[3]).contains(&y) && !own.contains(&key(letter))
            }
            Item::Space(_) => true,
        };
        let mut words = by_place(of_copy.iter().map(|(_, item)| *item).filter(is_within));
        if words.is_empty() {
            words.extend(annotation.value.as_ref().and_then(|value| annotations::value(value, rect(at))));
        }
        annotations::insert(blocks, rect(at), words);
    }
}

/// Returns all letters of a page as it is, hidden ones too, in any order.
fn letters_of(page: &PdfPage<'_>, to_page: &ToPage, size: (f64, f64)) -> Vec<Letter> {
    let items = items_of(page, to_page, size).unwrap_or_default();
    items
        .into_iter()
        .filter_map(|(_, item)| if let Item::Letter(letter) = item { Some(letter) } else { None })
        .collect()
}

fn items_of(page: &PdfPage<'_>, to_page: &ToPage, size: (f64, f64)) -> Option<Vec<(Option<usize>, Item)>> {
    let turned = page.rotation().map_or(0.0, |rotation| f64::from(rotation.as_degrees()));
    items(&page.text().ok()?, to_page, size, turned, &Clips::default(), |_| None)
}

/// Returns the page that an entry of the outline leads to, and the place on it in points.
fn destination_of(bookmark: &PdfBookmark<'_>) -> Option<(i32, Option<f64>)> {
    let action = bookmark.action();
    let direct = bookmark.destination();
    let destination = direct.or_else(|| destination_in(action.as_ref()?))?;
    let y = match destination.view_settings() {
        Ok(
            PdfDestinationViewSettings::SpecificCoordinatesAndZoom(_, y, _)
            | PdfDestinationViewSettings::FitPageHorizontallyToWindow(y),
        ) => y.map(|y| f64::from(y.value)),
        _ => None,
    };
    Some((destination.page_index().ok()?, y))
}

#[cfg(test)]
mod tests {
    use edgezoom_text::Role;

    use super::*;

    fn blocks(text: &str) -> Vec<Block> {
        vec![Block::lines(Role::P, vec![Line::new(Rect::default(), text, vec![])])]
    }

    #[test]
    fn words_of_several_scripts_are_garbage_unless_they_are_few_or_science() {
        assert!(is_mixed(&blocks("aж бb cд dе fж")));
        assert!(!is_mixed(&blocks("one two three aж five six seven")));
        assert!(!is_mixed(&blocks("αβ-decay μm Ωcm σ-bond πr 漢字kana かなA")));
    }

    #[test]
    fn a_part_without_a_place_leads_to_its_first_chapter() {
        let entry =
            |depth, title: &str, page| (depth, title.to_owned(), Option::map(page, |page| (page, None)));
        let found = vec![
            entry(0, "I", None),
            entry(1, "1", None),
            entry(2, "1.1", Some(4)),
            entry(0, "II", None),
            entry(0, "Index", Some(9)),
        ];
        let entries = entries(found);
        let places: Vec<(&str, u32)> =
            entries.iter().map(|entry| (entry.title.as_str(), entry.page)).collect();
        assert_eq!(places, [("I", 4), ("1", 4), ("1.1", 4), ("Index", 9)]);
    }

    #[test]
    fn two_halves_of_a_character_are_one_and_private_ones_are_none() {
        let mut first = None;
        assert_eq!(joined(0xd835, &mut first), None);
        assert_eq!(joined(0xdc00, &mut first).and_then(letter_of), Some('\u{1d400}'));
        assert_eq!(joined(0xdc00, &mut first).and_then(letter_of), None);
        assert_eq!(letter_of(0xe001), None);
        assert_eq!(letter_of(0xfffe), Some('-'));
    }
}
