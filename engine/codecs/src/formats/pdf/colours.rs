//! The colours of words and paths. Greys alone, or one colour on white with its shades, fit into the palette of a PNG.
//!
//! Source: ISO 32000-1, 8.6.6.2 (patterns), 9.3.6 (text rendering modes).

use pdfium_render::prelude::{
    PdfColor, PdfPageObject, PdfPageObjectCommon, PdfPageTextRenderMode, PdfPathFillMode, PdfiumError,
};

/// Red, green and blue.
type Colour = [u8; 3];

const WHITE: Colour = [0xff; 3];
/// What PDFium says of a pattern that has colours of its own (`CPDF_ColorState::SetPattern`).
const PATTERN: Colour = [0xbf; 3];

/// The colours of a page.
#[derive(Default)]
pub struct Colours {
    /// The first one that is not white.
    first: Option<Colour>,
    /// True if there is another one.
    are_several: bool,
    /// True if one is no grey, or not known.
    has_others: bool,
}

impl Colours {
    /// Adds the colours of words or a path.
    pub fn add(&mut self, object: &PdfPageObject<'_>) {
        use PdfPageTextRenderMode as Mode;
        let (is_filled, is_stroked) = match object {
            PdfPageObject::Path(path) => (
                path.fill_mode().is_ok_and(|mode| mode != PdfPathFillMode::None),
                path.is_stroked().unwrap_or(true),
            ),
            PdfPageObject::Text(text) => match text.render_mode() {
                Mode::FilledUnstroked | Mode::FilledUnstrokedClipping => (true, false),
                Mode::StrokedUnfilled | Mode::StrokedUnfilledClipping => (false, true),
                _ => (true, true),
            },
            _ => return self.add_any(),
        };
        if is_filled {
            self.add_one(object.fill_color());
        }
        if is_stroked {
            self.add_one(object.stroke_color());
        }
    }

    /// Adds what may have any colours.
    pub fn add_any(&mut self) {
        (self.are_several, self.has_others) = (true, true);
    }

    fn add_one(&mut self, colour: Result<PdfColor, PdfiumError>) {
        match colour.map(|colour| [colour.red(), colour.green(), colour.blue()]) {
            Err(_) | Ok(PATTERN) => self.add_any(),
            Ok(WHITE) => {}
            Ok(colour) => {
                self.are_several |= self.first.is_some_and(|first| first != colour);
                self.has_others |= colour.iter().any(|part| *part != colour[0]);
                self.first.get_or_insert(colour);
            }
        }
    }

    /// Returns true if all are greys, or if there is only one besides white.
    pub fn are_few(&self) -> bool {
        !(self.are_several && self.has_others)
    }
}
