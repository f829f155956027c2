//! What a picture hides, the words do not show, and what it shows, they keep: in PDFs, drawings and pages.

use std::fs::File;
use std::path::Path;

use edgezoom_codecs::{DecodeOptions, DrawingOptions, Layout};
use edgezoom_content::SourceUrl;
use edgezoom_test_support::files::{BOUNDS, file};
use edgezoom_test_support::pdf::{self, Pdf, embedded_font};
use edgezoom_test_support::{Picture, pdf::grey_picture};
use edgezoom_text::Text;
use edgezoom_tiler::browser::Pages;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};

use crate::screenshot::{settings, stream_to_file};
use crate::site::Site;

/// The word that each document hides, between others.
const SECRET: &str = "Secretperson";
const FONT: &str =
    "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> >>";

fn drawing() -> DrawingOptions {
    DrawingOptions { page_width: 1000, svg_side: 1000, text: true, ..DrawingOptions::default() }
}

/// Returns the words that leave a renderer process.
async fn shown(source: File) -> Text {
    drawn(source, drawing()).await.0
}

/// Returns the words and the pages as vectors that leave a renderer process.
async fn drawn(source: File, drawing: DrawingOptions) -> (Text, Vec<String>) {
    let program = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let options = RenderOptions { drawing, ..RenderOptions::default() };
    let mut renderer = Renderer::start(program, source, &options, &Limits::default()).unwrap();
    let (mut text, mut vectors) = (Text::default(), Vec::new());
    loop {
        match renderer.next().await.unwrap() {
            Output::Text(words) => text = words,
            Output::Vectors(page) => vectors.push(page.svg),
            Output::Finished(_) => return (text, vectors),
            _ => {}
        }
    }
}

/// Returns the words as the file says them, and its picture.
fn stated(bytes: &[u8]) -> (Text, Picture) {
    let library = edgezoom_codecs::locate_pdfium().unwrap();
    let mut source = file(bytes);
    let prepared = edgezoom_codecs::prepare(&mut source, Some(&library)).unwrap();
    let options = DecodeOptions { drawing: drawing(), ..DecodeOptions::default() };
    let mut reader = prepared.open(source, BOUNDS, &options).unwrap();
    (reader.take_text().unwrap(), Picture::read(&mut *reader).unwrap())
}

/// Asserts that no form of a text has the secret, and that it has the words around it.
fn assert_hidden(name: &str, text: &Text) {
    let json = String::from_utf8(text.to_json().unwrap()).unwrap();
    for form in [text.plain(), text.html(), text.hocr(), text.beginning(), json] {
        assert!(!form.contains("ecretpers"), "{name}: {form}");
    }
    let words = text.plain().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Visible") && words.contains("words"), "{name}: {words}");
}

/// Returns a page of words. `secret` draws the one between them, and `after` what comes last. A link, a stamp and a field
/// are on a layer that is off.
fn document(name: &str, secret: &str, after: &str) -> (String, Vec<u8>) {
    stamped(name, secret, after, "")
}

/// Returns such a page with more annotations.
fn stamped(name: &str, secret: &str, after: &str, annotations: &str) -> (String, Vec<u8>) {
    let mut pdf = Pdf::new();
    let image = grey_picture(&mut pdf, (8, 8), None);
    let layer = pdf.object(b"<< /Type /OCG /Name (layer) >>");
    let words = format!("BT /F1 12 Tf 100 300 Td ({SECRET}) Tj ET");
    let drawing = pdf::drawing(&mut pdf, &words, FONT, &format!("/OC {layer} 0 R"));
    let words = format!("BT /F1 12 Tf 5 5 Td ({SECRET}) Tj ET");
    let stamp = pdf::drawing(&mut pdf, &words, FONT, "");
    let off = format!("/F 4 /OC {layer} 0 R /AP << /N {stamp} 0 R >>");
    let field = format!(
        "<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /V ({SECRET}) /Rect [100 100 300 120] {off} >>"
    );
    let field = pdf.object(field.as_bytes());
    let words = "BT /F1 12 Tf 5 5 Td (Otherperson) Tj ET";
    let other = pdf::drawing(&mut pdf, words, FONT, "");
    let annotations = annotations.replace("OTHER", &format!("/AP << /N {other} 0 R >>"));
    let resources = format!(
        "/Resources << {FONT} /XObject << /I {image} 0 R /D {drawing} 0 R >> /ExtGState << /Clear << /ca 0 >> >> \
         /Properties << /L {layer} 0 R /M << /Type /OCMD /OCGs [{layer} 0 R] >> /O << /Type /OCMD /VE [/Not {layer} 0 R] >> >> >> \
         /Annots [<< /Type /Annot /Subtype /Link /Rect [200 297 240 312] /OC {layer} 0 R \
         /A << /S /URI /URI (mailto:{SECRET}) >> >> \
         << /Type /Annot /Subtype /Stamp /Rect [100 150 300 170] {off} >> {field} 0 R {annotations}]"
    );
    let content = format!(
        "BT /F1 12 Tf 40 300 Td (Visible) Tj ET q BT /F1 12 Tf 100 300 Td {secret} ET Q \
         BT /F1 12 Tf 200 300 Td (words) Tj ET {after}"
    );
    let pdf = pdf
        .page_with(400, 400, &content, &resources)
        .catalogue(&format!(
            "/OCProperties << /OCGs [{layer} 0 R] /D << /OFF [{layer} 0 R] >> >> /AcroForm << /Fields [{field} 0 R] >>"
        ));
    (name.to_owned(), pdf.bytes())
}

#[tokio::test]
async fn no_form_of_a_document_has_what_it_hides() {
    let plain = format!("({SECRET}) Tj");
    let with = |before: &str| format!("{before} {plain}");
    let drawn = format!("BT /F1 12 Tf 100 300 Td {plain} ET");
    let in_layer = |name: &str| format!("ET /OC /{name} BDC {drawn} EMC BT");
    let clipped = |path: &str| format!("ET {path} W n {drawn} BT");
    // The word is 71 points wide, and its capital letter 8.6 high.
    let documents = [
        document("a cover on the box", &plain, "100 297.5 71.4 11.2 re f"),
        document("a cover of capital letters", &plain, "100.4 300 70.6 8.7 re f"),
        document("a large cover", &plain, "0.2 0.1 0.5 rg 90 280 85 50 re f"),
        document("a cover that leaves the genitive", &format!("({SECRET}'s) Tj"), "100 297 71.4 12 re f"),
        document("white on white", &with("1 g"), ""),
        document("nearly white", &with("0.985 g"), ""),
        document("no opacity", &with("/Clear gs"), ""),
        document("invisible without a scan", &with("3 Tr"), ""),
        document("a picture over it", &plain, "q 76 0 0 20 98 293 cm /I Do Q"),
        document("outside its clip", &clipped("0 0 50 50 re"), ""),
        document("a layer that is off", &in_layer("L"), ""),
    ];
    for (name, bytes) in documents {
        assert_hidden(&name, &shown(file(&bytes)).await);
    }
    let over = |name, secret: &str| document(name, secret, "BT /F1 12 Tf 100 300 Td (Otherperson) Tj ET");
    let stamp = "<< /Type /Annot /Subtype /Stamp /F 4 /Rect [95 295 295 315] OTHER >>";
    let below_words = [
        stamped("a layer that is off, below a stamp", &in_layer("L"), "", stamp),
        stamped("outside its clip, below a stamp", &clipped("0 0 50 50 re"), "", stamp),
        over("a layer that is off, below words", &in_layer("L")),
        over("a group of layers that are off", &in_layer("M")),
        over("a drawing of a layer that is off", "ET /D Do BT"),
        over("outside its clip, below words", &clipped("0 0 50 50 re")),
        over("above its clip, below words", &clipped("100 280 80 15 re")),
        over("partly outside its clip", &clipped("90 290 35 30 re").replace("300 Td (", "301 Td (Some ")),
    ];
    for (name, bytes) in below_words {
        assert_hidden(&name, &stated(&bytes).0); // whatever the pixels show
        let text = shown(file(&bytes)).await;
        assert_hidden(&name, &text);
        assert!(text.plain().contains("Otherperson"), "{name}: {}", text.plain());
    }
    let (_, seen) = document("a layer that is on", &in_layer("O"), "");
    assert!(shown(file(&seen)).await.plain().contains(SECRET));
    let (_, seen) = document("uncovered", &plain, "");
    assert!(shown(file(&seen)).await.plain().contains(SECRET));
    let (_, picture) = stated(&document("annotations of a layer that is off", "", "").1);
    let below_words = picture.pixels.len() / 3..;
    assert!(
        picture.pixels[below_words].iter().all(|&sample| sample == 255),
        "the stamp or the field is drawn"
    );
}

/// Returns the words of a page, and the page as vectors. Its font is embedded, so that PDFium's pixels have the same letters.
async fn words_and_vectors(secret: &str, after: &str) -> (Text, String) {
    let mut pdf = Pdf::new();
    let font = embedded_font(&mut pdf, include_bytes!("../../../engine/codecs/fonts/DejaVuSans.ttf"));
    let resources = format!("/Resources << /Font << /F1 {font} 0 R >> >>");
    let content = format!(
        "BT /F1 12 Tf 40 300 Td (Visible) Tj ET q BT /F1 12 Tf 100 300 Td {secret} ET Q \
         BT /F1 12 Tf 300 300 Td (words) Tj ET {after}"
    );
    let pdf = pdf.page_with(400, 400, &content, &resources).bytes();
    let (text, mut vectors) = words_and_vectors_of(&pdf).await;
    (text, vectors.pop().unwrap())
}

#[tokio::test]
async fn neither_words_nor_vectors_have_what_several_shapes_hide_or_no_pixel_shows() {
    let plain = format!("({SECRET}) Tj");
    let whole = "95 295 95 16 re f";
    for cover in [
        whole,
        "95 295 40 16 re f 135 295 55 16 re f",
        "95 295 40 16 re 135 295 55 16 re f",
        "95 295 95 8 re f 95 303 95 8 re f",
        "8 w 95 299 m 190 299 l 190 307 l 95 307 l S",
        "90 290 m 210 290 l 195 303 l 210 316 l 90 316 l f",
        "95 295 95 16 re 500 500 9 9 re f*",
    ] {
        let (text, vectors) = words_and_vectors(&plain, cover).await;
        assert_hidden(cover, &text);
        assert_eq!(vectors, words_and_vectors("", cover).await.1, "{cover}");
    }
    for (colour, name) in [("1 g", "white on white"), ("0.985 g", "nearly white")] {
        let (text, vectors) = words_and_vectors(&format!("{colour} {plain}"), "").await;
        assert_hidden(name, &text);
        assert_eq!(vectors, words_and_vectors("", "").await.1, "{name}");
    }
    let (text, vectors) = words_and_vectors(&plain, "95 295 40 16 re f").await;
    assert!(text.plain().contains("person") || text.plain().contains(SECRET), "{}", text.plain());
    assert_ne!(vectors, words_and_vectors("", "95 295 40 16 re f").await.1, "the end of the word is seen");
}

async fn words_and_vectors_of(bytes: &[u8]) -> (Text, Vec<String>) {
    drawn(file(bytes), DrawingOptions { vectors: true, ..drawing() }).await
}

fn svg(inside: &str) -> Vec<u8> {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300" font-size="20"><text x="20" y="40">Visible words</text>{inside}</svg>"#
    )
    .into_bytes()
}

#[tokio::test]
async fn no_form_of_a_drawing_has_what_it_hides() {
    let text = |style: &str| format!(r#"<text x="20" y="100" {style}>{SECRET}</text>"#);
    let drawings = [
        ("a cover", text("") + r##"<rect x="15" y="78" width="160" height="30" fill="#222"/>"##),
        (
            "a picture over it",
            text("")
                + r#"<image x="15" y="78" width="160" height="30" preserveAspectRatio="none" href="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNQSFgAAAHEASFiX4r9AAAAAElFTkSuQmCC"/>"#,
        ),
        ("without paint", text(r#"fill="none""#)),
        ("transparent", text(r#"fill-opacity="0""#)),
        ("nearly transparent", text(r#"opacity="0.01""#)),
        ("white on white", text(r#"fill="white""#)),
        (
            "the colour of its ground",
            format!(r##"<rect y="70" width="400" height="60" fill="#345"/>{}"##, text(r##"fill="#345""##)),
        ),
        (
            "outside its clip",
            format!(
                r#"<clipPath id="c"><rect width="9" height="9"/></clipPath><g clip-path="url(#c)">{}</g>"#,
                text("")
            ),
        ),
        (
            "behind a mask",
            format!(
                r#"<mask id="m"><rect width="9" height="9" fill="white"/></mask><g mask="url(#m)">{}</g>"#,
                text("")
            ),
        ),
        (
            "a turned cover",
            format!(
                r#"<g transform="rotate(90 200 100)">{}<rect x="15" y="78" width="160" height="30"/></g>"#,
                text("")
            ),
        ),
    ];
    for (name, inside) in drawings {
        let bytes = svg(&inside);
        assert!(
            stated(&bytes).0.plain().contains(SECRET) || name == "without paint" || name == "transparent",
            "{name}"
        );
        let (text, vectors) = words_and_vectors_of(&bytes).await;
        assert_hidden(name, &text);
        let without = words_and_vectors_of(&svg(&inside.replace(SECRET, ""))).await.1;
        assert_eq!(vectors, without, "{name}");
        assert_eq!(vectors.len(), usize::from(name != "behind a mask"), "{name}");
    }
    let (text, vectors) = words_and_vectors_of(&svg(&text(""))).await;
    assert!(text.plain().contains(SECRET));
    assert_ne!(vectors, words_and_vectors_of(&svg("")).await.1);
    // Of a word of which a part shows, only the letters that show are in the file.
    let part = r##"<text x="20" y="100">Secretperson</text><rect x="60" y="78" width="200" height="30" fill="#222"/>"##;
    let letters = |vectors: &[String]| vectors.concat().matches('M').count();
    let covered = words_and_vectors_of(&svg(part)).await.1;
    assert!(
        (3..9).contains(&(letters(&covered) - letters(&words_and_vectors_of(&svg("")).await.1))),
        "{covered:?}"
    );
}

#[tokio::test]
async fn no_form_of_a_page_has_what_its_picture_hides() {
    let pages = [
        (
            "a cover",
            "<i>Secretperson</i><div style='position:absolute;left:0;top:90px;width:600px;height:80px;background:#000'></div>",
        ),
        ("white on white", "<i style='color:#fff'>Secretperson</i>"),
        (
            "a picture over it",
            "<i>Secretperson</i><canvas style='position:absolute;left:-20px;top:-10px;width:600px;height:80px;background:#456'></canvas>",
        ),
        ("nearly transparent", "<i style='opacity:.01'>Secretperson</i>"),
        ("outside its clip", "<i style='clip-path:inset(50%)'>Secretperson</i>"),
        (
            "no colour on a pattern",
            "<i style='color:transparent;background:repeating-linear-gradient(45deg,#fff,#000 9px)'>Secretperson</i>",
        ),
        (
            "no opacity over words",
            "<i>Other words</i><i style='position:absolute;left:0;opacity:0'>Secretperson</i>",
        ),
        (
            "below a box's edge",
            "<b style='display:block;height:40px;overflow:hidden'>Other words<br>Secretperson</b><b>and more words</b>",
        ),
        (
            "behind an ellipsis",
            "<b style='display:block;width:150px;overflow:hidden;white-space:nowrap;text-overflow:ellipsis'>Other words and Secretperson</b>",
        ),
        ("a field's", "<input type=hidden value=Secretperson><input type=password value=Secretperson>"),
    ];
    for (name, html) in pages {
        let html = format!(
            "<!doctype html><meta charset=utf-8><body style='margin:0;font:30px/40px sans-serif'><p style='margin:20px'>Visible words</p><p style='position:absolute;top:100px;left:20px;margin:0'>{html}"
        );
        let site = Site::page(&html);
        let url = SourceUrl::parse(&site.url("/")).unwrap();
        let page = Pages::new(settings()).open(&url, None).await.unwrap();
        assert_hidden(name, &shown(stream_to_file(page).await.unwrap()).await);
    }
}

#[tokio::test]
async fn scans_keep_what_was_recognised_and_redacted_ones_lose_it() {
    let words = |size: f64, down: f64, mode: &str| {
        format!(
            "BT {mode} /F1 {size} Tf {} TL 60 {} Td (Visible words of a scan,) Tj T* (recognised: 12 of 14 \\205) Tj ET",
            1.4 * size,
            700.0 - down
        )
    };
    // Size of the letters, points by which recognition errs, grey of paper and ink, and grain.
    let scans = [
        (12.0, 0.0, 255, 0, 0),
        (12.0, 1.5, 250, 20, 0),
        (12.0, -2.0, 240, 40, 6),
        (9.0, 0.5, 235, 60, 12),
        (7.0, 0.0, 255, 0, 0),
        (6.0, 0.5, 245, 30, 8),
        (10.0, 0.0, 210, 150, 4),
        (11.0, -1.0, 90, 230, 4),
        (24.0, 3.0, 255, 90, 0),
        (48.0, 5.0, 250, 0, 20),
    ];
    for (size, off, paper, ink, grain) in scans {
        let printed =
            Pdf::new().page_with(612, 792, &words(size, 0.0, ""), &format!("/Resources << {FONT} >>"));
        let (_, mut picture) = stated(&printed.bytes());
        let mut noise = 7_u32;
        for sample in &mut picture.pixels {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let grey = ink + (paper - ink) * i32::from(*sample) / 255;
            *sample = (grey + (noise >> 16) as i32 % (2 * grain + 1) - grain).clamp(0, 255) as u8;
        }
        let scan = |picture: &Picture| pdf::scan(picture, &words(size, off, "3 Tr"));
        assert_eq!(picture.layout, Layout::Rgb);
        let read = shown(file(&scan(&picture))).await.plain();
        assert!(
            read.contains("Visible words of a scan, recognised: 12 of 14"),
            "{size} {off} {paper}: {read}"
        );
        // A cover from the second line on.
        let from = picture.width as usize
            * 3
            * ((92.0 - off + 0.35 * size) / 792.0 * f64::from(picture.height)) as usize;
        picture.pixels[from..].fill(0);
        let read = shown(file(&scan(&picture))).await.plain();
        assert!(
            read.contains("Visible words") && !read.contains("recognised"),
            "{size} {off} {paper}: {read}"
        );
    }
}

#[tokio::test]
async fn what_is_hard_to_see_is_kept() {
    let content = "BT /F1 3 Tf 40 380 Td (small print of a contract) Tj ET \
        BT 0.8 g /F1 9 Tf 40 360 Td (light grey on white) Tj ET BT 0 g /F1 12 Tf 40 340 Td (\\227 \\205 _ . : ' - ~ | l i I) Tj ET \
        q 1 0 0 1 40 170 cm 0 0 60 20 re W n /D Do Q q 1 0 0 1 200 170 cm 0 0 60 20 re W n /D Do Q \
        BT /F1 12 Tf 0 1 -1 0 300 100 Tm (upwards it goes) Tj ET BT /F1 12 Tf .87 .5 -.5 .87 60 100 Tm (askew it goes) Tj ET \
        q 40 280 200 30 re W n /S sh Q BT 1 g /F1 14 Tf 45 290 Td (on a gradient it is) Tj ET \
        BT 0 g /F1 12 Tf 6 Tc 40 250 Td (T R A C K E D wide) Tj ET BT 0 Tc 1 0 0 RG 1 Tr /F1 30 Tf 40 200 Td (outlined) Tj ET";
    let gradient = "/Shading << /S << /ShadingType 2 /ColorSpace /DeviceGray /Coords [40 0 240 0] /Extend [true true] \
        /Function << /FunctionType 2 /Domain [0 1] /C0 [0] /C1 [0.8] /N 1 >> >> >>";
    let mut pdf = Pdf::new();
    let drawing = pdf::drawing(&mut pdf, "BT /F1 12 Tf 5 5 Td (stamped) Tj ET", FONT, "");
    let resources = format!("/Resources << {FONT} {gradient} /XObject << /D {drawing} 0 R >> >>");
    let bytes = pdf.page_with(400, 400, content, &resources).bytes();
    let (all, _) = stated(&bytes);
    assert_eq!(shown(file(&bytes)).await.plain(), all.plain());
    let all = all.plain();
    assert_eq!(all.matches("stamped").count(), 2, "each in its own clip: {all}");
    for words in [
        "small print",
        "light grey",
        "\u{2014} \u{2026} _",
        "upwards it goes",
        "askew it goes",
        "on a gradient",
        "outlined",
    ] {
        assert!(all.contains(words), "{words}: {all}");
    }
    let bytes = svg(
        r##"<text x="20" y="80" fill="#ccc" font-size="9">faint</text><text x="20" y="110">“—” … , ‚ _ ¨ ·</text>
        <text x="200" y="100" transform="rotate(40 200 100)">askew it goes</text><text x="20" y="200" font-size="60" fill="none" stroke="red">line</text>
        <path id="p" d="M 100 250 Q 200 180 300 250" fill="none"/><text><textPath href="#p">along a river it flows</textPath></text>"##,
    );
    let (all, _) = stated(&bytes);
    assert_eq!(
        shown(file(&bytes)).await.plain(),
        all.bounded(edgezoom_content::Size { width: 1000, height: 750 }).plain()
    );
}
