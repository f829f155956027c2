//! PDF and SVG files, compared with poppler's `pdftoppm` and librsvg's `rsvg-convert`.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::Command;

use edgezoom_codecs::{Bounds, Damage, DecodeOptions, DrawingOptions, Layout, Metadata, SourceError};
use edgezoom_content::{Failure, FailureCode, Size};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::of_source;
use edgezoom_tiler::renderer::{Built, Output, RenderOptions, Renderer};

use edgezoom_test_support::files::{self, BOUNDS, file};
use edgezoom_test_support::likeness::{Tolerance, similarity};
use edgezoom_test_support::pdf::{Mask, Pdf};
use edgezoom_test_support::reference::{Detail, Judge, Reference, packages};
use edgezoom_test_support::{Picture, pdf};

use crate::chromium;

pub const POPPLER: Judge = Judge { set: "poppler", version: || packages(&["poppler-utils"]) };
const LIBRSVG: Judge = Judge { set: "librsvg", version: || packages(&["librsvg2-bin", "iso-flags-svg"]) };
const SPECIFICATION: &str = "/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf";

fn library() -> PathBuf {
    edgezoom_codecs::locate_pdfium().expect("libpdfium.so is missing: `cargo xtask setup` installs it")
}

fn draw_with(bytes: &[u8], drawing: &DrawingOptions) -> Result<Picture, SourceError> {
    let mut file = file(bytes);
    let prepared = edgezoom_codecs::prepare(&mut file, Some(&library()))?;
    let options = DecodeOptions { drawing: *drawing, ..DecodeOptions::default() };
    Picture::read(&mut *prepared.open(file, BOUNDS, &options)?)
}

fn draw(bytes: &[u8]) -> Picture {
    draw_with(bytes, &DrawingOptions { page_width: 1000, ..DrawingOptions::default() }).unwrap()
}

fn failure(bytes: &[u8]) -> Failure {
    of_source(&draw_with(bytes, &DrawingOptions::default()).unwrap_err())
}

fn page(number: u32) -> DrawingOptions {
    DrawingOptions { page: NonZeroU32::new(number), page_width: 2000, ..DrawingOptions::default() }
}

/// Renders a page with poppler.
fn by_poppler(name: &str, pdf: &[u8], page: u32, size: Size) -> Reference {
    let render = || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.pdf");
        fs::write(&path, pdf).unwrap();
        let output = Command::new("pdftoppm")
            .args(["-f", &page.to_string(), "-l", &page.to_string()])
            .args(["-scale-to-x", &size.width.to_string(), "-scale-to-y", &size.height.to_string()])
            .arg(path)
            .output()
            .expect("pdftoppm is missing: install poppler-utils");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let header = format!("P6\n{} {}\n255\n", size.width, size.height);
        let pixels = output.stdout.strip_prefix(header.as_bytes()).expect("another size").to_vec();
        Some(Picture { width: size.width, height: size.height, layout: Layout::Rgb, pixels })
    };
    POPPLER.picture(name, Detail::Means, render).unwrap()
}

/// Renders a drawing on white with librsvg.
fn by_librsvg(path: &Path, size: Size) -> Reference {
    let render = || {
        let output = Command::new("rsvg-convert")
            .args(["--width", &size.width.to_string(), "--height", &size.height.to_string()])
            .args(["--background-color", "white"])
            .arg(path)
            .output()
            .expect("rsvg-convert is missing: install librsvg2-bin");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let whole = files::decode(&output.stdout).unwrap();
        Some(Picture::without_opacity(whole.width, whole.height, whole.layout.channels(), &whole.pixels))
    };
    LIBRSVG.picture(path.file_stem().unwrap().to_str().unwrap(), Detail::Means, render).unwrap()
}

/// Asserts that two pictures look alike. Renderers differ at all edges of strokes and letters, so the structural
/// similarity checks that the shapes agree.
fn assert_like(ours: &Picture, theirs: &Reference, least: f64, tolerance: Tolerance, what: &str) {
    let similar = similarity(&theirs.of(ours).unwrap(), &theirs.picture);
    assert!(similar > least, "{what}: {}", theirs.judge.signed(format!("the similarity is {similar:.3}")));
    theirs.compare(ours, tolerance).unwrap_or_else(|why| panic!("{what}: {why}"));
}

#[test]
fn pages_of_text_look_as_poppler_draws_them() {
    let manual = chromium::manual();
    for number in [1, 2, 4, 7] {
        let ours = draw_with(&manual, &page(number)).unwrap();
        assert_eq!(ours.width, 2000);
        let name = format!("page {number}");
        let theirs = by_poppler(&name, &manual, number, ours.size());
        // Poppler draws thin strokes slightly bolder.
        assert_like(&ours, &theirs, 0.965, Tolerance::lossy(5.0, 104, 20.0), &name);
    }
}

/// Some of the most complex drawings in Debian's package iso-flags-svg: the arms of Serbia and the Dominican Republic
/// have thousands of paths.
const FLAGS: [&str; 6] = ["rs", "do", "me", "es", "mx", "gb"];

fn flag(name: &str) -> PathBuf {
    let path = PathBuf::from(format!("/usr/share/iso-flags-svg/country-4x3/{name}.svg"));
    assert!(path.is_file(), "{} is missing: install iso-flags-svg", path.display());
    path
}

#[test]
fn third_party_drawings_look_as_librsvg_draws_them() {
    for name in FLAGS {
        let options = DrawingOptions { svg_side: 1600, ..DrawingOptions::default() };
        let ours = draw_with(&fs::read(flag(name)).unwrap(), &options).unwrap();
        let theirs = by_librsvg(&flag(name), ours.size());
        assert_like(&ours, &theirs, 0.999, Tolerance::lossy(0.15, 16, 2.9), name);
    }
}

#[test]
fn third_party_documents_look_as_poppler_draws_them() {
    // The PDF of the first is large.
    for name in &FLAGS[1..] {
        let pdf = LIBRSVG.file(&format!("{name}.pdf"), || {
            let made = Command::new("rsvg-convert").arg("--format=pdf").arg(flag(name)).output();
            made.expect("rsvg-convert is missing: install librsvg2-bin").stdout
        });
        let ours = draw(&pdf);
        let theirs = by_poppler(name, &pdf, 1, ours.size());
        assert_like(&ours, &theirs, 0.994, Tolerance::lossy(0.44, 76, 5.4), name);
    }
}

#[test]
fn forms_annotations_and_fonts_that_are_not_embedded_show() {
    let form = pdf::form();
    let ours = draw(&form);
    let theirs = by_poppler("form", &form, 1, ours.size());
    // PDFium's Helvetica is not the one of the system, which Poppler takes.
    assert_like(&ours, &theirs, 0.996, Tolerance::lossy(0.7, 112, 12.0), "the form");
    // The field's text, the note's red square, and the text in a standard font are visible.
    for (what, area) in [("the field", (50, 100)), ("the note", (550, 100)), ("the text", (50, 600))] {
        let dark = (0..100)
            .flat_map(|y| (0..200).map(move |x| (x, y)))
            .filter(|&(x, y)| ours.at(area.0 + x, area.1 + y)[1] < 128);
        assert!(dark.count() > 200, "{what}");
    }
}

#[test]
fn several_pages_are_laid_out_in_a_grid_and_one_can_be_chosen() {
    let four = Pdf::new()
        .page(100, 100, "1 0 0 rg 0 0 100 100 re f")
        .page(100, 100, "0 1 0 rg 0 0 100 100 re f")
        .page(100, 100, "0 0 1 rg 0 0 100 100 re f")
        .page(50, 100, "0 g 0 0 50 100 re f")
        .bytes();
    let all = draw(&four);
    // Two columns and two rows of 1,000 pixels, with gaps of 20 pixels between and around them.
    assert_eq!(all.size(), Size { width: 2060, height: 2060 });
    assert_eq!(all.at(10, 10), [0xdd; 3]);
    assert_eq!(all.at(20, 20), [255, 0, 0]);
    assert_eq!(all.at(1019, 1019), [255, 0, 0]);
    assert_eq!(all.at(1020, 1019), [0xdd; 3]);
    assert_eq!(all.at(1040, 20), [0, 255, 0]);
    assert_eq!(all.at(20, 1040), [0, 0, 255]);
    assert_eq!((all.at(1289, 1500), all.at(1290, 1500)), ([0xdd; 3].as_slice(), [0; 3].as_slice()));

    let second = draw_with(&four, &page(2)).unwrap();
    assert_eq!(
        (second.size(), second.at(1000, 1000)),
        (Size { width: 2000, height: 2000 }, [0, 255, 0].as_slice())
    );
    let failure = of_source(&draw_with(&four, &page(5)).unwrap_err());
    assert_eq!(failure.code, FailureCode::SourceNotFound);
    assert_eq!(failure.message, "The document has no page 5: its last one is 4.");
}

#[test]
fn the_title_and_credits_are_those_of_the_document_information_or_its_xmp() {
    let packet = "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\
        <rdf:Description rdf:about='' xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:creator><rdf:Seq><rdf:li>XMP</rdf:li></rdf:Seq>\
        </dc:creator><dc:rights><rdf:Alt><rdf:li xml:lang='x-default'>© XMP</rdf:li></rdf:Alt></dc:rights></rdf:Description></rdf:RDF></x:xmpmeta>";
    let metadata = |entries: &str, has_xmp: bool| {
        let mut pdf = Pdf::new().page(100, 100, "");
        if has_xmp {
            let stream = format!(
                "<< /Type /Metadata /Subtype /XML /Length {} >>\nstream\n{packet}\nendstream",
                packet.len()
            );
            let number = pdf.object(stream.as_bytes());
            pdf = pdf.catalogue(&format!("/Metadata {number} 0 R"));
        }
        let mut file = file(&pdf.information(entries).bytes());
        let prepared = edgezoom_codecs::prepare(&mut file, Some(&library())).unwrap();
        prepared.open(file, BOUNDS, &DecodeOptions::default()).unwrap().take_metadata().read()
    };
    let title = |entries: &str| metadata(entries, false).title;
    assert_eq!(title("/Title (Tide \\(tables\\))").as_deref(), Some("Tide (tables)"));
    assert_eq!(title("/Title <FEFF00C46D77>").as_deref(), Some("Ä海"));
    let credits = |entries: &str, has_xmp: bool| {
        let Metadata { title, creator, copyright, .. } = metadata(entries, has_xmp);
        [title, creator, copyright].map(Option::unwrap_or_default)
    };
    assert_eq!(credits("/Author (Somebody)", false), ["", "Somebody", ""]);
    assert_eq!(credits("/Author (Somebody)", true), ["", "Somebody", "© XMP"]);
    assert_eq!(credits("/Author ( )", true), ["", "XMP", "© XMP"]);
    let long = credits(&format!("/Author ({})", "a".repeat(1 << 20)), false);
    assert_eq!(long[1].len(), 1000);
}

#[test]
fn pages_beyond_the_limit_are_left_out_and_counted() {
    let three = Pdf::new().page(100, 100, "").page(100, 100, "").page(100, 100, "").bytes();
    let damage = |pages: usize, page: Option<NonZeroU32>| {
        let bounds = Bounds { pdf_pages: NonZeroUsize::new(pages).unwrap(), ..BOUNDS };
        let drawing = DrawingOptions { page, page_width: 100, ..DrawingOptions::default() };
        let options = DecodeOptions { drawing, strict: true, ..DecodeOptions::default() };
        let mut file = file(&three);
        let prepared = edgezoom_codecs::prepare(&mut file, Some(&library())).unwrap();
        let mut reader = prepared.open(file, bounds, &options).unwrap();
        Picture::read(&mut *reader).unwrap();
        reader.damage()
    };
    assert_eq!(damage(2, None), Some(Damage::MorePages { shown: 2, total: 3 }));
    assert_eq!((damage(3, None), damage(2, NonZeroU32::new(3))), (None, None));
}

#[test]
fn strips_of_a_page_join_without_a_seam() {
    // Slanted edges across a page that is high enough for several strips.
    let bytes =
        Pdf::new().page(100, 900, "0 g 0 0 m 100 900 l 100 0 l f 5 w 1 0 0 RG 0 900 m 100 0 l S").bytes();
    let whole = draw_with(&bytes, &DrawingOptions { page_width: 3000, ..DrawingOptions::default() }).unwrap();
    assert_eq!(whole.size(), Size { width: 3000, height: 27_000 });
    let edge = |y: u32| (0..whole.width).position(|x| whole.at(x, y)[1] < 128).unwrap() as i64;
    for y in 0..whole.height - 1 {
        let step = edge(y) - edge(y + 1);
        assert!((-1..=1).contains(&step) || (13_400..13_600).contains(&y), "row {y}: a step of {step}");
    }
}

#[test]
fn a_scanned_page_keeps_its_own_pixels() {
    let scan = Picture::photo(850, 1100, Layout::Rgb);
    let as_jpeg = files::decode(&files::jpeg(&scan, files::Jpeg::default())).unwrap();
    for hidden in ["", "BT /F1 12 Tf 3 Tr 100 100 Td (what was recognised) Tj ET"] {
        assert!(draw(&pdf::scan(&scan, hidden)) == as_jpeg, "the page shows the pixels of the JPEG");
    }
    // With visible text, it is rendered like any other page, at 200 dpi.
    assert_eq!(draw(&pdf::scan(&scan, "BT /F1 12 Tf 100 100 Td (stamped) Tj ET")).width, 1700);
}

/// Returns the width with which a page of 5 by 4 inches is drawn, at 200 dpi and more. `{I}` in `content` is its picture.
fn width_with(picture: (u32, u32), mask: Option<Mask>, content: &str, notes: &str) -> u32 {
    let mut pdf = Pdf::new();
    let image = pdf::grey_picture(&mut pdf, picture, mask);
    let inner =
        pdf::drawing(&mut pdf, "q 360 0 0 288 0 0 cm /I Do Q", &format!("/XObject << /I {image} 0 R >>"), "");
    let words = pdf::drawing(
        &mut pdf,
        "BT /F1 9 Tf 20 20 Td (fine print) Tj ET",
        "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>",
        "",
    );
    let more = format!(
        "{notes} /Resources << /XObject << /I {image} 0 R /Inner {inner} 0 R /Words {words} 0 R >> \
         /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    );
    let content = content.replace("{I}", "q 360 0 0 288 0 0 cm /I Do Q");
    draw(&pdf.page_with(360, 288, &content, &more).bytes()).width
}

#[test]
fn a_page_has_the_pixels_of_its_only_picture_and_of_the_mask_of_that() {
    let coarse = (125, 100);
    for (content, what) in [
        ("{I}", "a picture"),
        ("q 2 0 0 2 0 0 cm 180 0 0 144 0 0 cm /I Do Q", "a picture in two steps"),
        ("/Inner Do", "a picture in a drawing"),
        ("1 0 0 rg 0 0 100 100 re f BT /F1 9 Tf 20 20 Td (under it) Tj ET {I}", "a picture over a drawing"),
        ("{I} BT /F1 9 Tf 3 Tr 20 20 Td (recognised) Tj ET", "a picture with recognised text"),
        ("q 0 288 -360 0 360 0 cm /I Do Q", "a picture that is turned"),
    ] {
        let width = width_with(coarse, None, content, "");
        // A turned picture has its columns along the height of the page.
        let expected = if what.ends_with("turned") { 156 } else { 125 };
        assert_eq!(width, expected, "{what}");
    }
    for mask in [Mask::Stencil(1500, 1200), Mask::Soft(1500, 1200)] {
        assert_eq!(width_with(coarse, Some(mask), "{I}", ""), 1500);
        assert_eq!(width_with(coarse, Some(mask), "/Inner Do", ""), 1500);
    }
    assert_eq!(width_with(coarse, Some(Mask::Soft(50, 40)), "{I}", ""), 125, "a mask that is coarser");
}

#[test]
fn a_page_with_anything_over_its_picture_is_drawn_at_the_usual_resolution() {
    let field = "/Annots [<< /Type /Annot /Subtype /FreeText /F 4 /Rect [20 20 200 60] /Contents (a comment) \
        /DA (/Helv 10 Tf 0 g) >>]";
    let widget =
        "/Annots [<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /V (a value) /F 4 /Rect [20 20 200 60] >>]";
    let link = "/Annots [<< /Type /Annot /Subtype /Link /Rect [20 20 200 60] >> \
        << /Type /Annot /Subtype /Stamp /F 2 /Rect [20 20 200 60] >>]";
    for (content, notes, expected) in [
        ("{I} BT /F1 9 Tf 20 20 Td (over it) Tj ET", "", 1000),
        ("{I} 0 0 0 rg 10 10 20 20 re f", "", 1000),
        ("{I} /Words Do", "", 1000),
        ("{I} q 36 0 0 36 9 9 cm /I Do Q", "", 1000),
        ("{I}", field, 1000),
        ("{I}", widget, 1000),
        ("{I}", link, 125),
    ] {
        assert_eq!(width_with((125, 100), None, content, notes), expected, "{content} {notes}");
    }
    // A fine picture on a page with text is not drawn coarser than it is; a logo decides nothing.
    assert_eq!(width_with((3000, 2400), None, "{I} BT /F1 9 Tf 20 20 Td (over it) Tj ET", ""), 3000);
    let logo = "BT /F1 9 Tf 20 20 Td (text) Tj ET q 36 0 0 36 9 9 cm /I Do Q";
    assert_eq!(width_with((3000, 2400), None, logo, ""), 1000);
}

#[test]
fn greys_or_one_colour_are_few() {
    let has_few = |pdf: Pdf| {
        let mut file = file(&pdf.bytes());
        let prepared = edgezoom_codecs::prepare(&mut file, Some(&library())).unwrap();
        prepared.open(file, BOUNDS, &DecodeOptions::default()).unwrap().has_few_colours()
    };
    let page = |content: &str| Pdf::new().page(100, 100, content);
    let words = |colour: &str| page(&format!("{colour} BT /F1 12 Tf 10 50 Td (words) Tj ET"));
    for (content, expected) in [
        ("", true),
        ("0.5 g 10 10 50 50 re f 1 w 0 0 m 99 99 l S", true),
        ("1 0 0 rg 0 g 10 10 50 50 re f", true),
        ("1 0 0 RG 10 10 50 50 re f", true),
        ("0 0 0 1 k 10 10 50 50 re f", true),
        ("1 0 0 rg 10 10 50 50 re f 1 g 20 20 9 9 re f", true),
        ("1 0 0 rg 10 10 50 50 re f 0 g 20 20 9 9 re f", false),
        ("1 0 0 RG 10 10 50 50 re B", false),
        ("BI /W 1 /H 1 /CS /G /BPC 8 ID \u{7f} EI", false),
    ] {
        assert_eq!(has_few(page(content)), expected, "{content}");
    }
    for (colour, expected) in
        [("0 g", true), ("0.2 0.2 0.2 rg", true), ("1 0 0 rg", true), ("1 0 0 RG 2 Tr", false)]
    {
        assert_eq!(has_few(words(colour)), expected, "{colour}");
    }
    let colourful = "1 0 0 rg 0 0 9 9 re f 0 g 9 9 9 9 re f";
    assert!(!has_few(page("0 g 0 0 9 9 re f").page(100, 100, colourful)), "each page counts");
    let hidden = "0 g 9 9 9 9 re f BT /F1 12 Tf 3 Tr 1 0 0 rg 0 1 0 RG (hidden) Tj ET";
    assert!(has_few(page(hidden)), "the words of a recognised scan");
    let note = "/Annots [<< /Type /Annot /Subtype /Square /Rect [10 10 50 50] /C [1 0 0] >>]";
    assert!(!has_few(Pdf::new().page_with(100, 100, "", note)), "an annotation may have any colour");
    let function = "<< /FunctionType 2 /N 1 /Domain [0 1] /C0 [1 0 0] /C1 [0 0 1] >>";
    let shading = format!(
        "<< /PatternType 2 /Shading << /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 99 0] /Function {function} >> >>"
    );
    let tiling = "<< /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 9 9] /XStep 9 /YStep 9 /Resources << >> /Length 24 >>\n\
                  stream\n1 0 0 rg 0 0 5 5 re f    \nendstream";
    for pattern in [shading.as_str(), tiling] {
        let mut pdf = Pdf::new();
        let pattern = pdf.object(pattern.as_bytes());
        let resources = format!("/Resources << /Pattern << /P {pattern} 0 R >> >>");
        let pdf = pdf.page_with(100, 100, "/Pattern cs /P scn 10 10 50 50 re f", &resources);
        assert!(!has_few(pdf), "a pattern has colours of its own");
    }
}

#[test]
fn a_page_is_as_large_as_its_unit_says() {
    let draw = |pdf: Pdf| {
        draw_with(&pdf.bytes(), &DrawingOptions { page_width: 1, ..DrawingOptions::default() }).unwrap()
    };
    let width = |unit: &str| draw(Pdf::new().page_with(72, 36, "1 0 0 rg 0 0 36 36 re f", unit)).size();
    assert_eq!(width(""), Size { width: 200, height: 100 });
    assert_eq!(width("/UserUnit 10"), Size { width: 2000, height: 1000 });
    assert_eq!(width("/UserUnit 2.5"), Size { width: 500, height: 250 });
    for invalid in ["/UserUnit 0", "/UserUnit -3", "/UserUnit (ten)"] {
        assert_eq!(width(invalid), Size { width: 200, height: 100 }, "{invalid}");
    }
    // A page of 18 kilometres.
    let size = width("/UserUnit 700000");
    let pixels = BOUNDS.page_pixels as f64;
    assert!((0.9..=1.01).contains(&(size.pixels() as f64 / pixels)), "{size:?}");
    // Pages of a document are to scale.
    let both = draw(Pdf::new().page(72, 72, "").page_with(72, 72, "", "/UserUnit 3"));
    assert_eq!(both.at(both.width - 300, 300), [255; 3]);
    assert!(both.width > 800, "{}", both.width);
}

#[test]
fn documents_that_cannot_be_opened_fail_with_the_reason() {
    let encrypted = failure(include_bytes!("encrypted.pdf"));
    assert_eq!(encrypted.code, FailureCode::SourceForbidden, "{}", encrypted.message);
    for (what, bytes) in [
        ("no pages", Pdf::new().bytes()),
        ("only a header", b"%PDF-1.7\n".to_vec()),
        ("noise", [b"%PDF-1.7\n".as_slice(), &Picture::noise(64, 64, Layout::Rgb).pixels].concat()),
        ("cut off", fs::read(SPECIFICATION).unwrap()[..300].to_vec()),
    ] {
        assert_eq!(failure(&bytes).code, FailureCode::CorruptSource, "{what}");
    }
}

#[tokio::test]
async fn progress_rises_in_small_steps() {
    library();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/documents");
    for path in [Path::new(SPECIFICATION), &folder.join("shapes.svg")] {
        let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
        let drawing = DrawingOptions { page: NonZeroU32::new(1), ..DrawingOptions::default() };
        let options = RenderOptions { drawing, ..RenderOptions::default() };
        let source = fs::File::open(path).unwrap();
        let mut renderer = Renderer::start(tiler, source, &options, &Limits::default()).unwrap();
        let mut steps = vec![0.0];
        loop {
            match renderer.next().await.unwrap() {
                Output::Progress(done) => steps.push(done),
                Output::Finished { .. } => break,
                _ => {}
            }
        }
        assert_eq!(steps.last(), Some(&1.0));
        assert!(steps.windows(2).all(|pair| (0.0..=0.05).contains(&(pair[1] - pair[0]))), "{steps:?}");
    }
}

/// Renders in a renderer process with a memory limit, and returns the number of pixels.
async fn render(bytes: &[u8], options: RenderOptions, memory: u64) -> Result<u64, Failure> {
    let limits = Limits { renderer_memory: memory, page_pixels: 1_000_000_000, ..Limits::default() };
    let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let mut renderer = Renderer::start(tiler, file(bytes), &options, &limits).unwrap();
    loop {
        if let Output::Finished(Built { dzi, .. }) = renderer.next().await.map_err(crate::failure)? {
            return Ok(dzi.size.pixels());
        }
    }
}

#[tokio::test]
async fn two_hundred_megapixels_are_rendered_in_300_mib() {
    library();
    let text = fs::read(SPECIFICATION).unwrap();
    let drawing = DrawingOptions { page_width: 13_000, ..page(1) };
    let page = RenderOptions { drawing, ..RenderOptions::default() };
    assert!(render(&text, page, 300 << 20).await.unwrap() > 200_000_000);
    let circles: String = (0..2_000)
        .map(|index| {
            format!(
                r#"<circle cx="{}" cy="{}" r="7" fill="none" stroke="red"/>"#,
                index % 50 * 20,
                index / 50 * 25
            )
        })
        .collect();
    let svg = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000">{circles}</svg>"#);
    let drawing = DrawingOptions { svg_side: 15_000, ..DrawingOptions::default() };
    let drawing = RenderOptions { drawing, ..RenderOptions::default() };
    assert!(render(svg.as_bytes(), drawing, 300 << 20).await.unwrap() > 200_000_000);
}

#[test]
fn drawings_look_as_librsvg_draws_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/documents");
    let (plain, with_text) = (Tolerance::lossy(0.18, 8, 0.9), Tolerance::lossy(0.42, 88, 8.2));
    for (name, tolerance) in [("shapes.svg", plain), ("text.svg", with_text), ("groups.svg", plain)] {
        let path = folder.join(name);
        let options = DrawingOptions { svg_side: 1200, ..DrawingOptions::default() };
        let ours = draw_with(&fs::read(&path).unwrap(), &options).unwrap();
        let theirs = by_librsvg(&path, ours.size());
        assert_like(&ours, &theirs, 0.998, tolerance, name);
    }
}
