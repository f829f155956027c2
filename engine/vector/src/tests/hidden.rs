//! What the picture hides, the vectors do not show.

use edgezoom_test_support::pdf::{Pdf, drawing, grey_picture};

use super::likeness::{HEIGHT, WIDTH, pixels};
use super::{body, document, page, refusal, sized, written};
use crate::{Pixels, Refusal};

/// Letters in red, so that their path is known.
const NAME: &str = "1 0 0 rg BT /F1 12 Tf 20 40 Td (name) Tj ET 0 g";

fn shows_name(cover: &str) -> bool {
    written(&format!("{NAME} {cover}")).contains("#f00")
}

#[test]
fn letters_below_something_opaque_are_dropped() {
    assert!(shows_name(""));
    for cover in [
        "10 30 60 30 re f",
        "20 w 10 44 m 80 44 l S",
        "15 30 m 70 32 l 70 60 l 15 58 l f",
        "10 35 m 10 32 12 30 15 30 c 75 30 l 78 30 80 32 80 35 c 80 55 l 80 58 78 60 75 60 c 15 60 l 12 60 10 58 10 55 c f",
        "q 5 5 120 80 re W n 10 30 160 30 re f Q",
    ] {
        assert!(!shows_name(cover), "{cover}");
    }
    for cover in [
        "10 30 20 30 re f",
        "10 30 60 30 re S",
        "[3 3] 0 d 20 w 10 44 m 80 44 l S",
        "q 5 5 20 80 re W n 10 30 60 30 re f Q",
        "10 30 m 80 30 l 40 50 l 80 60 l 10 60 l f",
        "10 30 60 30 re 15 35 50 20 re f*",
    ] {
        assert!(shows_name(cover), "{cover}");
    }
    assert!(written(&format!("10 30 60 30 re f {NAME}")).contains("#f00"), "what is above shows");
}

#[test]
fn letters_below_several_shapes_are_dropped() {
    for covers in [
        "10 30 25 30 re f 35 30 35 30 re f",
        "10 30 25 30 re 35 30 35 30 re f",
        "10 30 35 30 re 30 30 40 30 re f",
        "10 30 25.004 30 re f* 35.011 30 35 30 re f*",
        "10 30 60 14 re f 10 44 60 16 re f",
        "10 30 20 12 re f 30 30 40 12 re f 10 42 30 18 re f 40 42 30 18 re f",
        "10 30 m 70 30 l 10 60 l f 70 30 m 70 60 l 10 60 l f",
        "8 w 10 38 m 80 38 l 80 46 l 10 46 l 10 52 l 80 52 l S",
        "q 10 30 30 30 re W n 0 0 200 100 re f Q q 40 30 40 30 re W n 0 0 200 100 re f Q",
    ] {
        assert!(!shows_name(covers), "{covers}");
    }
    for covers in [
        "10 30 25 30 re f 35.5 30 35 30 re f",
        "10 30 25 30 re 35.5 30 35 30 re f",
        "10 30 35 30 re 30 30 40 30 re f*",
        "10 30 35 30 re 70 30 -40 30 re f",
        "10 30 20 12 re f 30 30 40 12 re f 10 42 30 18 re f 42 42 30 18 re f",
        "8 w 10 38 m 80 38 l 80 46 l S",
    ] {
        assert!(shows_name(covers), "{covers}");
    }
}

#[test]
fn what_the_pixels_do_not_show_is_dropped() {
    let shown = |content: &str, seen: &str| {
        let rgb = pixels(seen, 0.0);
        let seen = page(content).unwrap().without_unseen(Pixels { width: WIDTH, height: HEIGHT, rgb: &rgb });
        seen.map(|drawing| body(drawing).contains("#f00"))
    };
    let rest = "120 20 30 40 re f";
    let beyond_covers = "5 25 m 100 25 l 80 45 l 100 65 l 5 65 l f";
    for content in
        [format!("{NAME} {beyond_covers} {rest}"), format!("1 0 0 rg 0 0 200 100 re f {NAME} {rest}")]
    {
        assert!(written(&content).contains("#f00"), "no cover hides it");
    }
    assert_eq!(
        shown(&format!("{NAME} {beyond_covers} {rest}"), &format!("{beyond_covers} {rest}")),
        Ok(false)
    );
    assert_eq!(shown(&format!("{NAME} {rest}"), rest), Ok(false), "another program hides it");
    assert_eq!(shown(&format!("{NAME} {rest}"), &format!("{NAME} {rest}")), Ok(true));
    let tiny = format!("{} {rest}", NAME.replace("12 Tf", "1 Tf"));
    assert_eq!(shown(&tiny, rest), Ok(true), "too small to tell");

    let letters = |content: &str| {
        let rgb = pixels(content, 0.0);
        let seen = page(content).unwrap().without_unseen(Pixels { width: WIDTH, height: HEIGHT, rgb: &rgb });
        body(seen.unwrap())
    };
    let in_colour = |ground: &str, name: &str| format!("{ground} {} {rest}", NAME.replace("1 0 0 rg", name));
    let (white, red) = (letters(rest), letters(&format!("1 0 0 rg 0 0 200 100 re f 0 g {rest}")));
    assert_eq!(letters(&in_colour("", "1 g")), white, "white on white");
    assert_eq!(letters(&in_colour("", "0.99 g")), white, "nearly white");
    assert_eq!(letters(&in_colour("1 0 0 rg 0 0 200 100 re f", "1 0 0 rg")), red);
    assert_ne!(letters(&in_colour("1 0 0 rg 0 0 200 100 re f", "1 g")), red);
    let ground = "1 0 0 rg 0 0 200 100 re f 1 g 5 5 20 20 re f";
    assert!(letters(&format!("{ground} 0 g {rest}")).contains("#fff"), "it may hide something");

    assert_eq!(shown(NAME, "1 g 0 0 9 9 re f"), Err(Refusal::NoOutlines));
    let lines = |count| format!("{NAME} {} {rest}", "0 g 3 w 0 0 m 200 100 l S ".repeat(count));
    assert_eq!(shown(&lines(9), &format!("{NAME} {rest}")), Ok(true));
    assert_eq!(shown(&lines(9), "0 0 1 1 re f"), Ok(false));
    assert_eq!(shown(&lines(20), "0 0 1 1 re f"), Err(Refusal::Area), "there is more to look at than time");
}

#[test]
fn a_page_with_a_picture_that_its_pixels_do_not_show_is_refused() {
    let refusal = |seen: &str| {
        let content = "q 50 0 0 50 10 10 cm BI /W 2 /H 2 /CS /G /BPC 8 ID !~~! EI Q 120 20 30 40 re f";
        let drawing = page(content).unwrap();
        let rgb = pixels(seen, 0.0);
        drawing.without_unseen(Pixels { width: WIDTH, height: HEIGHT, rgb: &rgb }).err()
    };
    assert_eq!(refusal("120 20 30 40 re f"), Some(Refusal::Unlike));
    assert_eq!(refusal("20 20 30 30 re f 120 20 30 40 re f"), None);
}

#[test]
fn something_translucent_hides_nothing() {
    let fonts = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
    let resources = format!("/Resources << {fonts} /ExtGState << /G << /ca .9 >> >> >>");
    let pdf = Pdf::new().page_with(200, 100, &format!("{NAME} /G gs 10 30 60 30 re f"), &resources);
    assert!(body(document(pdf.bytes()).unwrap()).contains("#f00"));
}

#[test]
fn objects_outside_the_page_and_their_clip_are_dropped() {
    let whole = written("0 0 20 20 re f");
    assert_eq!(written("0 0 20 20 re f 300 10 20 20 re f"), whole);
    assert_eq!(written("0 0 20 20 re f 0 0 10 10 re W n 50 50 20 20 re f"), whole);
}

#[test]
fn pixels_of_a_scan_below_a_bar_are_blank() {
    let svg = |cover: &str| {
        let mut pdf = Pdf::new();
        let picture = grey_picture(&mut pdf, (100, 100), None);
        let resources = format!("/Resources << /XObject << /X {picture} 0 R >> >>");
        let content = format!("q 100 0 0 100 0 0 cm /X Do Q 1 0 0 rg {cover}");
        let drawing = document(pdf.page_with(200, 100, &content, &resources).bytes()).unwrap();
        drawing.svg(0.1).unwrap()
    };
    let picture = |svg: &str| {
        let url = svg.split("base64,").nth(1).unwrap().split('"').next().unwrap();
        let file = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, url).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    };
    let red = |pixels: &[u8]| pixels.chunks_exact(4).filter(|pixel| pixel[..3] == [255, 0, 0]).count();
    assert_eq!(red(&picture(&svg("10 10 5 5 re S"))), 0);
    // 50 by 20 pixels, without the outermost.
    assert_eq!(red(&picture(&svg("10 10 50 20 re f"))), 48 * 18);
    assert_eq!(red(&picture(&svg("10 10 20 20 re 30 10 30 20 re f"))), 48 * 18, "no seam is left");
}

#[test]
fn a_page_with_a_redaction_is_refused() {
    let annotation = "/Annots [<< /Type /Annot /Subtype /Redact /Rect [0 0 50 50] >>]";
    let pdf = Pdf::new().page_with(200, 100, "0 0 50 50 re f", annotation);
    assert_eq!(refusal(document(pdf.bytes())), Some(Refusal::Redactions));
}

#[test]
fn layers_that_are_off_are_off() {
    // The group is object 3, the page's content 4.
    let layered = |group: &str, configuration: &str, mark: &str| {
        let mut pdf = Pdf::new();
        let layer = pdf.object(group.as_bytes());
        let resources = format!(
            "/Resources << /Properties << /L {} >> >>",
            mark.replace("LAYER", &format!("{layer} 0 R"))
        );
        let properties = format!(
            "/OCProperties << /OCGs [{layer} 0 R] {} >>",
            configuration.replace("LAYER", &format!("{layer} 0 R"))
        );
        let content = "/OC /L BDC 1 0 0 rg 0 0 50 50 re f EMC 60 0 50 50 re f";
        let pdf = pdf.page_with(200, 100, content, &resources).catalogue(&properties);
        document(pdf.bytes()).map(|drawing| body(drawing).contains("M0 "))
    };
    let plain = "<< /Type /OCG /Name (A) >>";
    assert_eq!(layered(plain, "/D << >>", "LAYER"), Ok(true));
    assert_eq!(layered(plain, "/D << /OFF [LAYER] >>", "LAYER"), Ok(false));
    assert_eq!(layered(plain, "/D << /BaseState /OFF >>", "LAYER"), Ok(false));
    // PDFium hides these, and the interpreter does not.
    let unlike = Err(Refusal::Layers);
    assert_eq!(
        layered("<< /Type /OCG /Usage << /View << /ViewState /OFF >> >> >>", "/D << >>", "LAYER"),
        unlike
    );
    assert_eq!(layered(plain, "/D << >> /Configs [<< /Intent /View /OFF [LAYER] >>]", "LAYER"), unlike);
    assert_eq!(layered("<< /Type /OCMD /VE [/Not LAYER] >>", "/D << >>", "LAYER"), unlike);
    assert_eq!(layered(plain, "/D << /OFF [LAYER] >>", "<< /Type /OCMD /OCGs LAYER >>"), unlike);
}

#[test]
fn a_drawing_of_a_layer_that_is_off_is_off() {
    let mut pdf = Pdf::new();
    let layer = pdf.object(b"<< /Type /OCG /Name (A) >>");
    let form = drawing(&mut pdf, "1 0 0 rg 0 0 50 50 re f", "", &format!("/OC {layer} 0 R"));
    let resources = format!("/Resources << /XObject << /X {form} 0 R >> >>");
    let properties = format!("/OCProperties << /OCGs [{layer} 0 R] /D << /OFF [{layer} 0 R] >> >>");
    let pdf = pdf.page_with(200, 100, "/X Do 60 0 50 50 re f", &resources).catalogue(&properties);
    assert!(!body(document(pdf.bytes()).unwrap()).contains("#f00"));
}

#[test]
fn what_a_drawing_hides_is_dropped_too() {
    let svg = body(
        sized(
            100,
            100,
            r##"<path fill="red" d="M20 20h9v9z"/><rect x="10" y="10" width="30" height="30" rx="4"/>"##,
        )
        .unwrap(),
    );
    assert!(!svg.contains("#f00"), "{svg}");
}
