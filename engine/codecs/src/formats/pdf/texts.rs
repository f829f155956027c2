//! The texts of a page as PDFium has them. They come in the order of its content, so [`marks`](super::marks) tell more
//! of each.

use std::collections::HashMap;

use pdfium_render::prelude::{
    PdfMatrix, PdfPage, PdfPageObject, PdfPageObjectsCommon, PdfPageTextChar, PdfPageTextObject,
};

use super::marks::MAX_DEPTH;
use super::structure::Tagged;

/// The texts that are in marked content.
pub struct Texts {
    /// For each matrix of a text, its numbers and marked content. Few texts have the same.
    pieces: HashMap<[u32; 6], Vec<(usize, Option<usize>)>>,
    /// The matrix of the last letter's text, its number, and its marked content.
    last: Option<([u32; 6], usize, Option<usize>)>,
}

impl Texts {
    /// Finds PDFium's objects of the texts; `None` if it has others.
    pub fn of(page: &PdfPage<'_>, tagged: &Tagged) -> Option<Self> {
        let mut texts = Self { pieces: HashMap::new(), last: None };
        let mut known = tagged.texts.iter().enumerate();
        each_text(page, |text, _| {
            let (number, piece) = known.next()?;
            if text.is_active().unwrap_or(true) {
                let matrix = matrix_of(text.as_text_object()?)?;
                texts.pieces.entry(matrix).or_default().push((number, *piece));
            }
            Some(())
        })?;
        known.next().is_none().then_some(texts)
    }

    /// Returns the marked content of the next letter.
    pub fn piece(&mut self, letter: &PdfPageTextChar<'_>) -> Option<usize> {
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

/// Calls `visit` with each text of a page and of its drawings, and the matrix that places its drawing, until it returns
/// `None`.
pub fn each_text<'page>(
    page: &'page PdfPage<'_>,
    mut visit: impl FnMut(PdfPageObject<'page>, PdfMatrix) -> Option<()>,
) -> Option<()> {
    page.objects().iter().try_for_each(|object| walk(object, PdfMatrix::IDENTITY, 0, &mut visit))
}

fn walk<'page>(
    object: PdfPageObject<'page>,
    outer: PdfMatrix,
    depth: usize,
    visit: &mut impl FnMut(PdfPageObject<'page>, PdfMatrix) -> Option<()>,
) -> Option<()> {
    match &object {
        PdfPageObject::Text(_) => visit(object, outer),
        PdfPageObject::XObjectForm(form) if depth < MAX_DEPTH => {
            let outer = form.matrix().ok()?.multiply(outer);
            form.as_range().try_for_each(|index| walk(form.get(index).ok()?, outer, depth + 1, visit))
        }
        _ => Some(()),
    }
}

pub fn matrix_of(text: &PdfPageTextObject<'_>) -> Option<[u32; 6]> {
    let matrix = text.matrix().ok()?;
    Some([matrix.a(), matrix.b(), matrix.c(), matrix.d(), matrix.e(), matrix.f()].map(f32::to_bits))
}
