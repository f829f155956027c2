//! The words of annotations as they are shown: typed notes, stamps, values of fields, captions of buttons and choices of
//! lists. PDFium's text of a page has none of them, so a copy of the page makes them its own.
//!
//! Source: ISO 32000-1, 12.5.3 (flags), 12.5.5 (appearance streams).

use edgezoom_text::{Block, Line, Rect, Role};
use pdfium_render::prelude::{
    PdfDocument, PdfFormField, PdfPage, PdfPageAnnotation, PdfPageAnnotationCommon, PdfPageObjectsCommon,
};

/// Maximum number of annotations of a page that are looked at.
const MAX_ANNOTATIONS: usize = 2000;

/// A copy of the document, opened for the first page that needs it.
pub struct Copies<'a> {
    open: &'a dyn Fn() -> Option<PdfDocument<'static>>,
    document: Option<Option<PdfDocument<'static>>>,
}

/// An annotation that shows words.
pub struct Shown {
    /// Left, bottom, right and top.
    pub at: [f64; 4],
    /// The value of a field, for one without an appearance.
    pub value: Option<String>,
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
        for mut annotation in page.annotations().iter() {
            // PDFium takes those that are printed.
            let is_taken = shows(&annotation).is_some();
            let _ = annotation.set_is_printed(is_taken);
            let _ = annotation.set_is_hidden(!is_taken);
        }
        page.flatten().ok()?;
        Some(page)
    }
}

/// Returns the annotations of a page that show words.
pub fn shown(page: &PdfPage<'_>) -> Vec<Shown> {
    page.annotations().iter().take(MAX_ANNOTATIONS).filter_map(|annotation| shows(&annotation)).collect()
}

fn shows(annotation: &PdfPageAnnotation<'_>) -> Option<Shown> {
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
    Some(Shown { at, value, has_appearance: !annotation.objects().is_empty() })
}

/// Returns the value of a field as a paragraph.
pub fn value(value: &str, at: Rect) -> Option<Block> {
    let lines = value.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<Line> = lines.map(|line| Line::new(at, line, Vec::new())).collect();
    (!lines.is_empty()).then(|| Block::lines(Role::P, lines))
}

/// Puts paragraphs after those that a reader sees before them: above, or in the same line.
pub fn insert(blocks: &mut Vec<Block>, at: Rect, found: Vec<Block>) {
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
