//! Letters of fonts that are not in the file: only those that PDFium draws alike are shown.

use edgezoom_test_support::pdf::{Pdf, drawing};

use super::likeness::{HEIGHT, WIDTH, drawn_by_resvg};
use super::{body, document};
use crate::{Pixels, Refusal};

const RECTANGLE: &str = "150 60 30 20 re f";
const LETTERS: &str = "BT /F1 12 Tf 20 60 Td (letters) Tj ET";

fn font(name: &str) -> String {
    format!(
        "/Font << /F1 << /Type /Font /Subtype /TrueType /BaseFont /{name} /Encoding /WinAnsiEncoding /FirstChar 97 /LastChar 122 \
         /Widths [{}] >> /F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>",
        "490 ".repeat(26)
    )
}

/// Draws a page, of which all that is drawn is seen.
fn shown(pdf: Pdf, content: &str, resources: &str) -> Option<Refusal> {
    let pdf = pdf.page_with(200, 100, &format!("{content} {RECTANGLE}"), resources);
    let drawing = document(pdf.bytes()).unwrap();
    let rgb = drawn_by_resvg(&drawing, 0.0);
    drawing.without_unseen(Pixels { width: WIDTH, height: HEIGHT, rgb: &rgb }).err()
}

#[test]
fn letters_that_pdfium_designs_are_refused() {
    let of =
        |name: &str, content: &str| shown(Pdf::new(), content, &format!("/Resources << {} >>", font(name)));
    for name in [
        "Arial",
        "ArialMT,Bold",
        "ABCDEF+Helvetica-BoldOblique",
        "TimesNewRomanPS-BoldItalicMT",
        "CourierNew",
        "CourierStd",
    ] {
        assert_eq!(of(name, LETTERS), None, "{name}");
    }
    for name in ["ArialNarrow", "Arial-Black", "ABCDEF+Verdana", "HelveticaNeue-Bold", "Cambria"] {
        assert_eq!(of(name, LETTERS), Some(Refusal::Letters), "{name}");
    }
    assert_eq!(of("Verdana", &LETTERS.replace("F1", "F2")), None, "it is not used");
    assert_eq!(of("Verdana", &LETTERS.replace("BT", "BT 3 Tr")), None, "it is invisible");
    assert_eq!(of("Verdana", &format!("1 g {LETTERS} 0 g")), None, "it is white on white");
    assert_eq!(of("Verdana", &format!("1 g {LETTERS} 0 g 20 58.6 60 .6 re f")), None, "and a line is near");
}

#[test]
fn letters_in_drawings_and_annotations_are_refused() {
    let with = |name: &str, entry: fn(usize) -> String| {
        let mut pdf = Pdf::new();
        let inner = drawing(&mut pdf, LETTERS, &font(name), "");
        let outer = drawing(&mut pdf, "/X Do", &format!("/XObject << /X {inner} 0 R >>"), "");
        shown(pdf, "/X Do", &entry(outer))
    };
    let form: fn(usize) -> String = |number| format!("/Resources << /XObject << /X {number} 0 R >> >>");
    let annotation: fn(usize) -> String = |number| {
        format!(
            "/Annots [<< /Type /Annot /Subtype /Stamp /Rect [0 0 200 100] /AS /On /AP << /N << /On {number} 0 R >> >> >>]"
        )
    };
    for entry in [form, annotation] {
        assert_eq!(with("Verdana", entry), Some(Refusal::Letters));
        assert_eq!(with("Arial", entry), None);
    }
}

#[test]
fn the_widths_of_letters_are_whole_thousandths_as_in_pdfium() {
    let drawn = |width: f32, text: &str| {
        let widths = format!("{width} ").repeat(26);
        let font = format!(
            "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /FirstChar 97 /LastChar 122 /Widths [{widths}] >> >>"
        );
        let content = format!("BT /F1 12 Tf 20 60 Td {text} ET");
        body(
            document(Pdf::new().page_with(200, 100, &content, &format!("/Resources << {font} >>")).bytes())
                .unwrap(),
        )
    };
    for text in
        ["(letters) Tj", "[(let) -50 (ters)] TJ", "(let) Tj 30 0 Td (ters) Tj", "80 Tz 2 Tc (letters) Tj"]
    {
        assert_eq!(drawn(490.9, text), drawn(490.0, text), "{text}");
        assert_ne!(drawn(491.0, text), drawn(490.0, text), "{text}");
    }
}
