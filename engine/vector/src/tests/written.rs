//! Pages that are written, and pages that are refused because they cannot be.

use edgezoom_test_support::pdf::{Mask, Pdf, grey_picture};

use super::{body, document, drawn, page, refusal, written};
use crate::Refusal;

#[test]
fn a_path_is_whole_units_from_the_top_left() {
    assert_eq!(
        written("1 0 0 rg 10 20 m 20 20 l 20 30 l f"),
        r##"<path fill="#f00" d="M5000 40000h5000v-5000"/>"##
    );
}

#[test]
fn lines_of_one_style_are_one_path_and_no_thinner_than_asked() {
    let one = written("0 0 1 RG .01 w 10 20 m 20 20 l S 10 30 m 20 30 l S");
    assert_eq!(
        one,
        r##"<path fill="none" stroke="#00f" stroke-width="50" stroke-miterlimit="10" d="M5000 40000h5000M5000 35000h5000"/>"##
    );
}

#[test]
fn letters_are_outlines_on_the_grid() {
    let svg = written("BT /F1 12 Tf 10 20 Td (ooo) Tj ET");
    assert_eq!(svg.matches("<path").count(), 1);
    let letters: Vec<&str> = svg.split('M').skip(1).map(|letter| letter.split_once('c').unwrap().1).collect();
    assert!(letters.len() >= 3 && letters[0].trim_end_matches(['"', '/', '>']) == letters[1], "{svg}");
}

#[test]
fn a_letter_that_comes_again_is_as_if_it_were_alone() {
    let letter = |size: u32, place: &str| format!("BT /F1 {size} Tf {place} Tm (o) Tj ET ");
    let again = ["1 0 0 1 150 60", "0 1 -1 0 60 20", "-1 0 0 1 60 60"];
    let all: String = again.iter().flat_map(|place| [letter(12, place), letter(30, place)]).collect();
    let all = written(&format!("{}{all}", letter(12, "1 0 0 1 10 20")));
    for (place, size) in again.iter().flat_map(|place| [(place, 12), (place, 30)]) {
        let alone = written(&letter(size, place));
        let data = alone.split_once(r#"d=""#).unwrap().1.trim_end_matches(r#""/>"#);
        assert!(all.contains(data), "{place} {size}: {data} is not in {all}");
    }
}

#[test]
fn a_clip_that_holds_all_of_an_object_is_none() {
    assert!(!written("0 0 100 100 re W n 10 10 20 20 re f").contains("<g"));
    let cut = written("q 0 0 15 15 re W n 10 10 20 20 re f Q q 0 0 15 15 re W n 5 5 20 20 re f Q");
    assert_eq!((cut.matches("<clipPath").count(), cut.matches("<g ").count()), (1, 1), "{cut}");
}

#[test]
fn rectangles_within_each_other_are_one_clip() {
    let svg = written("0 0 50 50 re W n 10 10 50 50 re W n 0 0 90 90 re f");
    assert_eq!((svg.matches("<clipPath").count(), svg.matches("<g ").count()), (1, 1), "{svg}");
    assert!(svg.contains(r#"d="M5000 25000h20000v20000h-20000z""#), "{svg}");
}

#[test]
fn a_gradient_is_a_band_for_each_shade() {
    let shading = "/Resources << /Shading << /S << /ShadingType 2 /ColorSpace /DeviceGray /Coords [0 0 200 0] \
                   /Function << /FunctionType 2 /Domain [0 1] /C0 [0] /C1 [1] /N 1 >> >> >> >>";
    let shaded = |content: &str| document(Pdf::new().page_with(200, 100, content, shading).bytes());
    assert_eq!(shaded(&"/S sh ".repeat(3)).err(), None, "bands count as many edges");
    let svg = body(shaded("/S sh").unwrap());
    let bands = svg.matches("<path").count() - svg.matches("<clipPath").count();
    assert!((254..=257).contains(&bands), "{bands}");
    assert!(svg.contains(r##"fill="#808080""##), "{svg}");
}

#[test]
fn gradients_and_patterns_of_drawings_are_paths() {
    let radial = r##"<radialGradient id="r" fx=".4"><stop stop-color="#fff"/><stop offset="1" stop-color="#eee"/></radialGradient><circle cx="50" cy="50" r="50" fill="url(#r)"/>"##;
    let svg = body(drawn(radial).unwrap());
    assert_eq!(svg.matches("fill=\"").count(), 18, "{svg}");
    let pattern = r##"<pattern id="p" width="50" height="50" patternUnits="userSpaceOnUse"><path d="M10 10h5v5z"/></pattern><path fill="url(#p)" d="M0 0H100V100H0z"/>"##;
    assert_eq!(body(drawn(pattern).unwrap()).matches("<path d").count(), 4);
}

#[test]
fn a_picture_is_encoded_anew_and_cropped_to_what_shows() {
    let mut pdf = Pdf::new();
    let picture = grey_picture(&mut pdf, (100, 100), Some(Mask::Soft(100, 100)));
    let resources = format!("/Resources << /XObject << /X {picture} 0 R >> >>");
    let content = "0 0 9 9 re f 100 10 20 30 re W n q 100 0 0 100 100 0 cm /X Do Q";
    let svg = body(document(pdf.page_with(200, 100, content, &resources).bytes()).unwrap());
    assert!(
        svg.contains(r#"<image width="21" height="32""#) && svg.contains("data:image/png;base64,"),
        "{svg}"
    );
}

#[test]
fn a_scan_has_nothing_to_draw_sharp() {
    let mut pdf = Pdf::new();
    let picture = grey_picture(&mut pdf, (100, 100), None);
    let resources = format!("/Resources << /XObject << /X {picture} 0 R >> >>");
    let pdf = pdf.page_with(200, 100, "q 200 0 0 100 0 0 cm /X Do Q", &resources);
    assert_eq!(refusal(document(pdf.bytes())), Some(Refusal::NoOutlines));
    assert_eq!(refusal(page("")), Some(Refusal::NoOutlines));
}

#[test]
fn what_paths_cannot_show_is_refused() {
    let with = |resources: &str, content: &str| {
        refusal(document(
            Pdf::new().page_with(200, 100, content, &format!("/Resources << {resources} >>")).bytes(),
        ))
    };
    let state = |entries: &str| with(&format!("/ExtGState << /G << {entries} >> >>"), "/G gs 0 0 50 50 re f");
    assert_eq!(state("/BM /Multiply"), Some(Refusal::Blending));
    assert_eq!(state("/ca .5"), None);
    let short = "/Shading << /S << /ShadingType 2 /ColorSpace /DeviceGray /Coords [50 0 100 0] \
                 /Function << /FunctionType 2 /Domain [0 1] /C0 [0] /C1 [1] /N 1 >> >> >>";
    assert_eq!(with(short, "/S sh"), Some(Refusal::Gradient));
    let encoded = "/Font << /F << /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font \
                   /Subtype /CIDFontType0 /BaseFont /A /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 1 >> >>] >> >>";
    assert_eq!(with(encoded, "BT /F 12 Tf 10 10 Td (a) Tj ET"), Some(Refusal::Letters));
    assert_eq!(
        refusal(drawn(
            r##"<filter id="f"><feGaussianBlur stdDeviation="2"/></filter><path filter="url(#f)" d="M0 0h9v9z"/>"##
        )),
        Some(Refusal::Filter)
    );
    assert_eq!(
        refusal(drawn(
            r##"<mask id="m"><path fill="#fff" d="M0 0h5v9z"/></mask><path mask="url(#m)" d="M0 0h9v9z"/>"##
        )),
        Some(Refusal::Mask)
    );
    assert_eq!(refusal(page("-9999999 50 m 9999999 50 l S")), Some(Refusal::Coordinates));
}
