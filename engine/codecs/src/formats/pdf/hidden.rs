//! Texts that the page does not draw, though PDFium reads them: those of a layer that is off, and letters outside the
//! clipping path. The picture's pixels hide them where it is empty, but not where it shows something else.

use std::collections::HashMap;

use pdfium_render::prelude::{
    PdfMatrix, PdfPage, PdfPageObject, PdfPageObjectCommon, PdfPageObjectsCommon, PdfPageTextChar,
    PdfPageTextObject, PdfRect,
};

use super::marks::{Area, MAX_DEPTH, Marks, common, is_empty};

/// The clipping paths of texts that are cut, by the matrices of the texts.
#[derive(Default)]
pub struct Clips(HashMap<[u32; 6], Option<Area>>);

/// The texts of a page, as PDFium has them.
struct Texts<'page> {
    /// Those that are not drawn at all.
    hidden: Vec<PdfPageObject<'page>>,
    clips: Clips,
    number: usize,
}

/// Makes PDFium leave out the texts that are not drawn, and returns where others are cut.
pub fn leave_out(page: &PdfPage<'_>, marks: &Marks) -> Clips {
    if marks.texts.iter().all(|text| text.within.is_none()) {
        return Clips::default();
    }
    let mut texts = Texts { hidden: Vec::new(), clips: Clips::default(), number: 0 };
    let mut objects = page.objects().iter();
    let is_known = objects.try_for_each(|object| texts.add(object, PdfMatrix::IDENTITY, marks, 0)).is_some();
    if !is_known || texts.number != marks.texts.len() {
        return Clips::default();
    }
    for mut text in texts.hidden {
        let _ = text.set_inactive();
    }
    texts.clips.0.retain(|_, clip| clip.is_some());
    texts.clips
}

impl<'page> Texts<'page> {
    /// Adds an object of the page, or of a drawing that the matrix places on it. Returns `None` for more texts than the
    /// content has.
    fn add(
        &mut self,
        object: PdfPageObject<'page>,
        outer: PdfMatrix,
        marks: &Marks,
        depth: usize,
    ) -> Option<()> {
        match &object {
            PdfPageObject::Text(text) => {
                let within = marks.texts.get(self.number)?.within;
                self.number += 1;
                let at = text.bounds().ok().map(|at| area(&at.transform(outer).to_rect()));
                if within.is_some_and(|within| at.is_some_and(|at| is_outside(at, within))) {
                    self.hidden.push(object);
                } else {
                    let cuts = |within: &Area| at.is_some_and(|at| common(at, *within) != at);
                    let clip = within.filter(cuts);
                    // Several texts have this matrix: which one a letter belongs to is unknown.
                    let known = self.clips.0.entry(matrix_of(text)?).or_insert(clip);
                    *known = known.filter(|_| *known == clip);
                }
            }
            PdfPageObject::XObjectForm(form) if depth < MAX_DEPTH => {
                let outer = form.matrix().ok()?.multiply(outer);
                for index in form.as_range() {
                    self.add(form.get(index).ok()?, outer, marks, depth + 1)?;
                }
            }
            _ => {}
        }
        Some(())
    }
}

impl Clips {
    /// Returns true for a letter outside the clipping path.
    pub fn hide(&self, letter: &PdfPageTextChar<'_>) -> bool {
        let clip = || *self.0.get(&matrix_of(&letter.text_object().ok()?)?)?;
        let is_clipped = |clip| letter.tight_bounds().is_ok_and(|at| is_outside(area(&at), clip));
        !self.0.is_empty() && clip().is_some_and(is_clipped)
    }
}

pub fn matrix_of(text: &PdfPageTextObject<'_>) -> Option<[u32; 6]> {
    let matrix = text.matrix().ok()?;
    Some([matrix.a(), matrix.b(), matrix.c(), matrix.d(), matrix.e(), matrix.f()].map(f32::to_bits))
}

fn area(of: &PdfRect) -> Area {
    [of.left(), of.bottom(), of.right(), of.top()].map(|edge| f64::from(edge.value))
}

fn is_outside(at: Area, within: Area) -> bool {
    is_empty(common(at, within))
}
