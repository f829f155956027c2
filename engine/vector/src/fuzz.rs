//! Fuzz target for drawings, which come from hostile files and go to browsers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_syntax::Pdf;
use resvg::usvg::{Options, Tree};

use crate::{Document, Pixels, check, is_lean, tree};

/// Pixels with which a drawing is compared.
const BLACK: Pixels<'_> = Pixels { width: 32, height: 24, rgb: &[0; 32 * 24 * 3] };

/// Draws the first page of a PDF, or an SVG, and compares it with pixels.
///
/// # Panics
/// If the SVG is not lean.
pub fn vector(bytes: &[u8]) {
    let drawing = if bytes.starts_with(b"%PDF") {
        // The parser of the syntax is not ours, and panics are what the renderer expects of it.
        let Ok(Ok(pdf)) = catch_unwind(AssertUnwindSafe(|| Pdf::new(bytes.to_vec()))) else { return };
        Document::new(&pdf).page(0)
    } else {
        let Ok(source) = Tree::from_data(bytes, &Options::default()) else { return };
        tree(&source)
    };
    let Ok(drawing) = drawing else { return };
    if let Ok(svg) = drawing.svg(0.1) {
        assert!(is_lean(&svg), "{svg}");
        let _ = check(&drawing, BLACK);
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    const PDF: &[u8] = br#"%PDF-1.7
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 5 0 R >> /Pattern << /P 6 0 R /S << /PatternType 2 /Shading << /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 200 0] /Extend [true true] /Function << /FunctionType 2 /Domain [0 1] /C0 [1 0 0] /C1 [0 0 1] /N 1 >> >> >> >> /ExtGState << /G << /ca .5 >> >> >> >> endobj
4 0 obj << /Length 420 >> stream
q 10 10 50 50 re W n 1 0 0 rg 0 0 30 30 re f Q
q 1 0 0 1 5 5 cm [3 2] 1 d 2 w 1 j 1 J 0 0 m 50 50 l 90 5 l S Q
q /G gs 0 1 0 RG .2 0 .1 3 0 0 cm 0 0 m 100 20 30 40 50 6 c b* Q
BT /F 12 Tf 20 40 Td (Letters) Tj 2 Tr (lines) Tj 7 Tr (clip) Tj ET
/Pattern cs /P scn 0 0 80 80 re f
/Pattern cs /S scn 0 0 80 80 re f
q 30 0 0 30 100 20 cm /X Do Q
BI /W 2 /H 2 /CS /G /BPC 8 ID abcd EI
0 g 20 30 60 20 re f
endstream endobj
5 0 obj << /Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 4 >> stream
abcd
endstream endobj
6 0 obj << /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 10 10] /XStep 10 /YStep 10 /Resources << >> /Length 24 >> stream
1 0 0 rg 0 0 5 5 re f   
endstream endobj
trailer << /Root 1 0 R >>
"#;

    const SVG: &[u8] = br##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100"><defs><linearGradient id="l"><stop stop-color="red"/><stop offset="1" stop-color="#00f"/></linearGradient><radialGradient id="r" fx=".3"><stop stop-color="red"/><stop offset="1" stop-color="#00f"/></radialGradient><pattern id="p" width="10" height="10" patternUnits="userSpaceOnUse"><path d="M0 0h5v5z"/></pattern><clipPath id="c"><circle cx="50" cy="50" r="40"/></clipPath></defs><g clip-path="url(#c)" opacity=".5"><path fill="url(#l)" d="M0 0H100V50z"/><rect fill="url(#r)" width="50" height="50"/><path fill="url(#p)" stroke="#123" stroke-width="3" stroke-dasharray="5 1" transform="skewX(20)" d="M9 9c20 0 30 50 60 9z"/></g><image width="20" height="20" href="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="/></svg>"##;

    #[test]
    fn a_drawing_of_any_bytes_is_lean_or_refused() {
        hunt(&[Target { name: "vector", run: vector, seeds: &[PDF, SVG] }]);
    }

    #[test]
    fn the_seeds_are_drawn() {
        let pdf = Pdf::new(PDF.to_vec()).unwrap();
        Document::new(&pdf).page(0).unwrap().svg(0.1).unwrap();
        tree(&Tree::from_data(SVG, &Options::default()).unwrap()).unwrap().svg(0.1).unwrap();
    }
}
