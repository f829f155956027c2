//! The words and form values of a page, and the document's outline, as PDFium tells them. The words of a tagged
//! page are in the order of its [`structure`](super::structure). A page whose words are garbage, because its fonts do not
//! say which letters they show, has none.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use edgezoom_text::{Block, Entry, Line, MAX_WORDS, Page, Rect, Target, Text};
use pdfium_render::prelude::{
    PdfBookmark, PdfDestinationViewSettings, PdfDocument, PdfPage, PdfPageRenderRotation, PdfPageText,
    PdfPageTextChar,
};

use super::annotations::{self, Copies};
use super::coordinates::ToPage;
use super::dictionaries::{Dictionaries, tagged};
use super::elements::blocks_of;
use super::hidden::leave_out;
use super::layout::Area;
use super::letters::{add_unread, by_place, items, letters_of, with_spaces};
use super::links::{destination_in, links};
use super::marks::Marks;
use super::structure::{Structure, Tagged};
use super::texts::Texts;
use crate::formats::lines::put_capitals;

/// Time for the text of a document. A page takes about a millisecond; one of 16,000 letters half a second.
const TIME: Duration = Duration::from_secs(5);
/// Time for the marked content of its pages.
const CONTENT_TIME: Duration = Duration::from_secs(2);
/// Units of a point in which text is kept until the size of the page in pixels is known.
const UNITS: f64 = 64.0;
/// Share of words with letters of several scripts from which a page's words are garbage.
const MAX_MIXED: f64 = 0.2;
/// Maximum number of entries of the outline that are looked at.
const MAX_ENTRIES: usize = 4000;
/// Maximum depth of the outline.
const MAX_DEPTH: u8 = 8;

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
            annotations::add(&mut found.blocks, &shown, &own, copy.as_ref(), &to_page, size);
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
    let read = |text: PdfPageText<'_>, piece_of: &mut dyn FnMut(&PdfPageTextChar<'_>) -> Option<usize>| {
        let mut items = with_spaces(items(&text, to_page, size, turned, &clips, piece_of)?, page, to_page);
        if let Some(marks) = marks {
            add_unread(&mut items, page, marks, to_page);
        }
        Some(items)
    };
    let blocks = page.text().map(|text| match tagged {
        Some((mut texts, tagged)) => {
            let items = read(text, &mut |character| texts.piece(character))?;
            Some(blocks_of(items, &tagged, to_page))
        }
        None => Some(by_place(read(text, &mut |_| None)?.into_iter().map(|(_, item)| item))),
    });
    page.set_rotation(rotation);
    let mut blocks = blocks.ok().flatten().filter(|blocks| !is_mixed(blocks)).unwrap_or_default();
    put_capitals(&mut blocks);
    blocks
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
}
