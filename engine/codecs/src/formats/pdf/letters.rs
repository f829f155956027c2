//! The letters of a page as PDFium tells them, each with its place, and the spaces between them.

use std::ops::RangeInclusive;

use edgezoom_text::{Block, MAX_PAGE_WORDS};
use pdfium_render::prelude::{PdfPage, PdfPageObjectCommon, PdfPageText, PdfPageTextChar};

use super::clusters::{Clusters, Ink, is_clustered};
use super::coordinates::ToPage;
use super::hidden::Clips;
use super::marks::Marks;
use super::texts::{each_text, matrix_of};
use crate::formats::lines::{Letter, Lines, NEXT_COLUMN_IN_TEXT, Space, is_rtl};

/// Maximum number of letters of a page.
const MAX_LETTERS: usize = 8 * MAX_PAGE_WORDS;
/// Share of letters that are none from which a page's words are garbage.
const MAX_NO_LETTERS: f64 = 0.1;
/// The codes of symbol fonts (Symbol, Wingdings), whose signs have no letters. They say nothing about other fonts.
const SYMBOLS: RangeInclusive<u32> = 0xf020..=0xf0ff;
/// The letter at which PDFium divides a word.
const DIVIDED: [u32; 2] = [0x02, 0xfffe];

/// A part of a page's text.
#[derive(Clone, Copy)]
pub enum Item {
    Letter(Letter),
    Space(Space),
}

/// Returns the letters of a page, with the marked content to which they belong; `None` if they are garbage.
pub fn items(
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
        // The angle is that of the matrix: letters of a negative size stand the other way.
        let is_over = character.unscaled_font_size().value < 0.0;
        let angle =
            character.angle_degrees().map_or(0.0, f64::from) + turned + if is_over { 180.0 } else { 0.0 };
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

/// Adds the letters that PDFium drops, at the places of the texts that draw them.
pub fn add_unread(
    items: &mut Vec<(Option<usize>, Item)>,
    page: &PdfPage<'_>,
    marks: &Marks,
    to_page: &ToPage,
) {
    let mut numbers = 0..;
    let mut unread = marks.unread.iter().peekable();
    let _ = each_text(page, |text, outer| {
        let number = numbers.next()?;
        let Some((_, letters)) = unread.next_if(|(of, _)| *of == number) else {
            return unread.peek().map(|_| ());
        };
        let at = to_page.rect(&text.bounds().ok()?.transform(outer).to_rect());
        let middle = (at[1] + at[3]) / 2.0;
        let end = |(index, (piece, item)): (usize, &(Option<usize>, Item))| match item {
            Item::Letter(letter)
                if letter.at[0] < at[0] && (letter.at[1]..letter.at[3]).contains(&middle) =>
            {
                Some((letter.at[2], index, *piece))
            }
            _ => None,
        };
        let before = items.iter().enumerate().filter_map(end);
        let before = before.max_by(|one, other| one.0.total_cmp(&other.0));
        let (place, piece) = before.map_or((0, None), |(_, index, piece)| (index + 1, piece));
        let letter = |letter| Item::Letter(Letter { letter, at, angle: 0.0, is_hyphen: false });
        let gap = Item::Space(Space::AtGap);
        let added = [gap].into_iter().chain(letters.chars().map(letter)).chain([gap]);
        items.splice(place..place, added.map(|item| (piece, item)));
        Some(())
    });
}

/// Returns true if two letters belong to one text.
fn is_same_text(one: &PdfPageTextChar<'_>, other: &PdfPageTextChar<'_>) -> bool {
    let matrix = |of: &PdfPageTextChar<'_>| matrix_of(&of.text_object().ok()?);
    matrix(one).is_some_and(|one| matrix(other) == Some(one))
}

/// Puts the spaces between clusters where the page has them.
pub fn with_spaces(
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
pub fn by_place(items: impl Iterator<Item = Item>) -> Vec<Block> {
    let mut lines = Lines::default();
    for item in items {
        match item {
            Item::Letter(letter) => lines.push(letter),
            Item::Space(space) => lines.push_space(space),
        }
    }
    lines.finish()
}

/// Returns all letters of a page as it is, hidden ones too, in any order.
pub fn letters_of(page: &PdfPage<'_>, to_page: &ToPage, size: (f64, f64)) -> Vec<Letter> {
    let items = items_of(page, to_page, size).unwrap_or_default();
    items
        .into_iter()
        .filter_map(|(_, item)| if let Item::Letter(letter) = item { Some(letter) } else { None })
        .collect()
}

pub fn items_of(
    page: &PdfPage<'_>,
    to_page: &ToPage,
    size: (f64, f64),
) -> Option<Vec<(Option<usize>, Item)>> {
    let turned = page.rotation().map_or(0.0, |rotation| f64::from(rotation.as_degrees()));
    items(&page.text().ok()?, to_page, size, turned, &Clips::default(), |_| None)
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

#[cfg(test)]
mod tests {
    use super::*;

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
