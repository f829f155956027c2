//! The words of annotations as they are shown: typed notes, stamps, values of fields, captions of buttons and choices of
//! lists. PDFium's text of a page has none of them, so a copy of the page makes them its own.
//!
//! Source: ISO 32000-1, 12.5.3 (flags), 12.5.5 (appearance streams).

use std::collections::HashSet;

use edgezoom_text::{Block, Line, Rect, Role};
use pdfium_render::prelude::{
    PdfDocument, PdfFormField, PdfPage, PdfPageAnnotation, PdfPageAnnotationCommon, PdfPageObjectsCommon,
};

use super::coordinates::ToPage;
use super::letters::{Item, by_place, items_of};
use crate::formats::lines::{Letter, rect};

/// Maximum number of annotations of a page that are looked at.
pub const MAX_ANNOTATIONS: usize = 2000;

/// A copy of the document, opened for the first page that needs it.
pub struct Copies<'a> {
    open: &'a dyn Fn() -> Option<PdfDocument<'static>>,
    document: Option<Option<PdfDocument<'static>>>,
}

/// An annotation that shows words.
pub struct Shown {
    /// Its number on the page.
    number: usize,
    /// Left, bottom, right and top.
    at: [f64; 4],
    /// The value of a field, for one without an appearance.
    value: Option<String>,
    has_appearance: bool,
}

impl<'a> Copies<'a> {
    pub fn new(open: &'a dyn Fn() -> Option<PdfDocument<'static>>) -> Self {
        Self { open, document: None }
    }

    /// Returns a page that has the words of these annotations in its text.
    pub fn page(&mut self, number: i32, shown: &[Shown]) -> Option<PdfPage<'_>> {
        if !shown.iter().any(|shown| shown.has_appearance) {
            return None;
        }
        let document = self.document.get_or_insert_with(self.open).as_ref()?;
        let mut page = document.pages().get(number).ok()?;
        let taken: HashSet<usize> = shown.iter().map(|shown| shown.number).collect();
        for (number, mut annotation) in page.annotations().iter().enumerate() {
            // PDFium takes those that are printed.
            let is_taken = taken.contains(&number);
            let _ = annotation.set_is_printed(is_taken);
            let _ = annotation.set_is_hidden(!is_taken);
        }
        page.flatten().ok()?;
        Some(page)
    }
}

/// Hides the annotations with these numbers, whose layers are off. PDFium would draw them.
pub fn hide(page: &PdfPage<'_>, off: &[usize]) {
    for &number in off {
        let annotation = page.annotations().get(number);
        let _ = annotation.and_then(|mut annotation| annotation.set_is_hidden(true));
    }
}

/// Returns the annotations of a page that show words.
pub fn shown(page: &PdfPage<'_>) -> Vec<Shown> {
    let annotations = page.annotations().iter().enumerate().take(MAX_ANNOTATIONS);
    annotations.filter_map(|(number, annotation)| shows(number, &annotation)).collect()
}

fn shows(number: usize, annotation: &PdfPageAnnotation<'_>) -> Option<Shown> {
    let value = match annotation {
        PdfPageAnnotation::FreeText(_) | PdfPageAnnotation::Stamp(_) => None,
        _ => match annotation.as_form_field()? {
            PdfFormField::Text(field) if !field.is_password() => field.value(),
            PdfFormField::ComboBox(field) => field.value(),
            PdfFormField::ListBox(field) => field.value(),
            PdfFormField::PushButton(_) | PdfFormField::Signature(_) => None,
            _ => return None,
        },
    };
    if annotation.is_hidden() || annotation.is_printable_but_not_viewable() {
        return None;
    }
    let at = annotation.bounds().ok()?;
    let at = [at.left(), at.bottom(), at.right(), at.top()].map(|edge| f64::from(edge.value));
    Some(Shown { number, at, value, has_appearance: !annotation.objects().is_empty() })
}

/// Adds the words that annotations show. The copy of the page has them in its text.
pub fn add(
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
            words.extend(annotation.value.as_ref().and_then(|value| self::value(value, rect(at))));
        }
        insert(blocks, rect(at), words);
    }
}

/// Returns the value of a field as a paragraph.
fn value(value: &str, at: Rect) -> Option<Block> {
    let lines = value.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<Line> = lines.map(|line| Line::new(at, line, Vec::new())).collect();
    (!lines.is_empty()).then(|| Block::lines(Role::P, lines))
}

/// Puts paragraphs after those that a reader sees before them: above, or in the same line.
fn insert(blocks: &mut Vec<Block>, at: Rect, found: Vec<Block>) {
    let (right, bottom) = (at.left + at.width, at.top + at.height);
    let is_before = |line: &Line| {
        let middle = line.at.top + line.at.height / 2;
        let is_beside = (at.top..bottom).contains(&middle) && line.at.left <= at.left;
        let is_above = middle < at.top && line.at.left < right && at.left < line.at.left + line.at.width;
        is_beside || is_above
    };
    let before = blocks.iter().rposition(|block| block.lines.iter().any(is_before));
    let place = before.map_or(0, |before| before + 1);
    blocks.splice(place..place, found);
}
