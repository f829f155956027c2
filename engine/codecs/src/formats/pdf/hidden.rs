//! Texts that the page does not draw, though PDFium reads them: those of a layer that is off, and letters outside the
//! clipping path. The picture's pixels hide them where it is empty, but not where it shows something else.

use std::collections::HashMap;

use pdfium_render::prelude::{PdfPage, PdfPageObjectCommon, PdfPageTextChar, PdfRect};

use super::marks::{Area, Marks, common, is_empty};
use super::texts::{each_text, matrix_of};

/// The clipping paths of texts that are cut, by the matrices of the texts.
#[derive(Default)]
pub struct Clips(HashMap<[u32; 6], Option<Area>>);

/// Makes PDFium leave out the texts that are not drawn, and returns where others are cut.
pub fn leave_out(page: &PdfPage<'_>, marks: &Marks) -> Clips {
    if marks.texts.iter().all(|text| text.within.is_none()) {
        return Clips::default();
    }
    let (mut hidden, mut clips, mut known) = (Vec::new(), HashMap::new(), marks.texts.iter());
    let is_known = each_text(page, |object, outer| {
        let within = known.next()?.within;
        let text = object.as_text_object()?;
        let at = text.bounds().ok().map(|at| area(&at.transform(outer).to_rect()));
        if within.is_some_and(|within| at.is_some_and(|at| is_outside(at, within))) {
            hidden.push(object);
        } else {
            let cuts = |within: &Area| at.is_some_and(|at| common(at, *within) != at);
            let clip = within.filter(cuts);
            // Several texts have this matrix: which one a letter belongs to is unknown.
            let known = clips.entry(matrix_of(text)?).or_insert(clip);
            *known = known.filter(|_| *known == clip);
        }
        Some(())
    });
    if is_known.is_none() || known.next().is_some() {
        return Clips::default();
    }
    for mut text in hidden {
        let _ = text.set_inactive();
    }
    clips.retain(|_, clip| clip.is_some());
    Clips(clips)
}

impl Clips {
    /// Returns true for a letter outside the clipping path.
    pub fn hide(&self, letter: &PdfPageTextChar<'_>) -> bool {
        let clip = || *self.0.get(&matrix_of(&letter.text_object().ok()?)?)?;
        let is_clipped = |clip| letter.tight_bounds().is_ok_and(|at| is_outside(area(&at), clip));
        !self.0.is_empty() && clip().is_some_and(is_clipped)
    }
}

fn area(of: &PdfRect) -> Area {
    [of.left(), of.bottom(), of.right(), of.top()].map(|edge| f64::from(edge.value))
}

fn is_outside(at: Area, within: Area) -> bool {
    is_empty(common(at, within))
}
