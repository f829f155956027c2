//! Tests SVG: strips look like a drawing in one piece, and nothing outside the document is read.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use edgezoom_codecs::{DecodeOptions, DrawingOptions, Layout};
use edgezoom_content::{Failure, FailureCode, Size, TileFormat};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::of_source;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use flate2::Compression;
use flate2::write::GzEncoder;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, file};
use edgezoom_test_support::likeness::{Tolerance, compare};

const WHITE: [u8; 3] = [255; 3];

fn svg(attributes: &str, content: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {attributes}>{content}</svg>"#
    )
}

fn draw(document: impl AsRef<[u8]>, side: u32) -> Picture {
    let drawing = DrawingOptions { svg_side: side, ..DrawingOptions::default() };
    let options = DecodeOptions { drawing, ..DecodeOptions::default() };
    let mut file = file(document.as_ref());
    let prepared = edgezoom_codecs::prepare(&mut file, None).unwrap();
    Picture::read(&mut *prepared.open(file, BOUNDS, &options).unwrap()).unwrap()
}

#[test]
fn the_title_is_that_of_the_root_element_and_credits_are_in_its_rdf() {
    let metadata = |content: &str| {
        let mut file = file(svg("width='9' height='9'", content).as_bytes());
        let prepared = edgezoom_codecs::prepare(&mut file, None).unwrap();
        prepared.open(file, BOUNDS, &DecodeOptions::default()).unwrap().take_metadata().read()
    };
    let title = |content: &str| metadata(content).title;
    assert_eq!(title("<title>Old &amp; town</title><title>other</title>").as_deref(), Some("Old & town"));
    assert_eq!(title("<g><title>a part</title></g>"), None);
    assert_eq!(title("<title> </title>"), None);
    // As Inkscape writes it.
    let stated = metadata(
        "<metadata><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:cc='http://creativecommons.org/ns#' \
         xmlns:dc='http://purl.org/dc/elements/1.1/'><cc:Work rdf:about=''><dc:title>Work</dc:title><dc:creator><cc:Agent>\
         <dc:title>Ann</dc:title></cc:Agent></dc:creator><dc:rights><cc:Agent><dc:title>© Ann</dc:title></cc:Agent></dc:rights>\
         <cc:license rdf:resource='http://creativecommons.org/licenses/by/4.0/'/></cc:Work><cc:License rdf:about=''/></rdf:RDF>\
         </metadata>",
    );
    let stated = [stated.title, stated.creator, stated.copyright, stated.rights];
    let expected = [None, Some("Ann"), Some("© Ann"), Some("http://creativecommons.org/licenses/by/4.0/")];
    assert_eq!(stated.each_ref().map(Option::as_deref), expected);
    assert_eq!(title(&format!("<title>{}</title>", "a".repeat(9999))).map(|title| title.len()), Some(500));
}

fn failure(bytes: &[u8]) -> Failure {
    of_source(&files::decode(bytes).unwrap_err())
}

async fn render(bytes: &[u8], limits: &Limits) -> Result<u64, Failure> {
    let drawing = DrawingOptions { svg_side: 2048, ..DrawingOptions::default() };
    let options = RenderOptions { drawing, ..RenderOptions::default() };
    let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let mut renderer = Renderer::start(tiler, file(bytes), &options, limits).unwrap();
    let mut tiles = 0;
    loop {
        match renderer.next().await.map_err(crate::failure)? {
            Output::Tile(_) => tiles += 1,
            Output::Finished { .. } => return Ok(tiles),
            _ => {}
        }
    }
}

/// Drawings that would hold a browser, or the renderer, have their pixels, and no vectors.
#[tokio::test]
async fn bombs_have_their_pixels_alone() {
    let uses = |count: usize| r##"<use href="#a"/>"##.repeat(count);
    let levels: String = (1..6)
        .map(|at| format!(r##"<g id="{at}">{}</g>"##, format!(r##"<use href="#{}"/>"##, at - 1).repeat(10)))
        .collect();
    let path = |segments: usize| format!(r#"<path id="a" d="M0 0{}"/>"#, "h9v9h-9v-9".repeat(segments / 4));
    let picture = STANDARD.encode(grey_png(3000, 3000));
    let picture =
        format!(r#"<image id="a" x="-9999" width="9" height="9" href="data:image/png;base64,{picture}"/>"#);
    for (name, content, reason) in [
        (
            "uses of uses",
            format!(r##"<defs><path id="0" d="M0 0h1v1zM3 3h1v1z"/>{levels}</defs><use href="#5"/>"##),
            "the page is painted too often",
        ),
        ("ten million segments", path(1_000_000) + &uses(9), "the page has too many lines beside each other"),
        (
            "a line of tiny dashes",
            r#"<path stroke="red" stroke-dasharray=".0002 .0001" d="M0 50H100"/>"#.to_owned(),
            "the page has too many dashes",
        ),
        (
            "large pictures beside it",
            format!("{picture}{}<path d='M0 0h9v9z'/>", uses(50)),
            "the page's pictures are too large",
        ),
        (
            "many fills",
            r#"<path d="M0 1L100 0V99L0 100z" fill-opacity=".1"/>"#.repeat(60),
            "the page is painted too often",
        ),
    ] {
        let (tiles, vectors) = vectors(svg(r#"viewBox="0 0 100 100""#, &content).as_bytes()).await;
        assert_eq!((tiles, vectors), (14, Err(reason.to_owned())), "{name}");
    }
    let whole = vectors(svg(r#"viewBox="0 0 100 100""#, &path(30)).as_bytes()).await;
    assert!(whole.1.as_ref().is_ok_and(|svg| svg.contains("h18000v18000h-18000v-18000")), "{whole:?}");
}

/// Returns the number of tiles of a drawing, and its vectors or why it has none.
async fn vectors(bytes: &[u8]) -> (u64, Result<String, String>) {
    let drawing = DrawingOptions { svg_side: 1000, vectors: true, ..DrawingOptions::default() };
    let options = RenderOptions { drawing, ..RenderOptions::default() };
    let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let mut renderer = Renderer::start(tiler, file(bytes), &options, &Limits::default()).unwrap();
    let (mut tiles, mut drawn) = (0, Err("the process has ended".to_owned()));
    loop {
        match renderer.next().await.unwrap() {
            Output::Tile(_) => tiles += 1,
            Output::Vectors(page) => drawn = Ok(page.svg),
            Output::PixelsOnly(page) => drawn = Err(page.reason),
            Output::Finished(_) => return (tiles, drawn),
            _ => {}
        }
    }
}

fn grey_png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&vec![128; width as usize * height as usize]).unwrap();
    writer.finish().unwrap();
    file
}

/// A column eight times as high as wide, so that it is drawn in several strips.
const COLUMN: &str = r#"viewBox="0 0 100 800""#;

#[test]
fn strips_join_to_the_drawing_in_one_piece() {
    let groups_in_groups = r##"
        <clipPath id="round"><circle cx="50" cy="400" r="390"/></clipPath>
        <clipPath id="inner" clip-path="url(#round)"><rect x="5" y="5" width="90" height="700"/></clipPath>
        <linearGradient id="fade" x2="0" y2="1"><stop stop-color="white"/><stop offset="1" stop-color="black"/></linearGradient>
        <mask id="fading" maskUnits="userSpaceOnUse" x="0" y="0" width="100" height="800">
            <rect width="100" height="800" fill="url(#fade)"/></mask>
        <g opacity=".9"><g clip-path="url(#inner)"><g mask="url(#fading)"><g opacity=".8">
            <rect width="100" height="800" fill="#06c"/>
            <circle cx="50" cy="770" r="40" fill="red"/>
            <g style="mix-blend-mode:multiply"><rect x="20" y="100" width="40" height="650" fill="yellow"/></g>
        </g></g></g></g>"##;
    let lines = r##"
        <linearGradient id="g" gradientUnits="userSpaceOnUse" x2="0" y2="800"><stop stop-color="red"/><stop offset="1" stop-color="blue"/></linearGradient>
        <path d="M10 0V800" stroke="url(#g)" stroke-width="5"/>
        <path d="M0 399.3H100" stroke="#000" stroke-width="3" stroke-dasharray="7 2"/>
        <g transform="rotate(30 50 400)"><path d="M50 0V800" stroke="green" stroke-opacity=".5"/></g>
        <path d="M90 10 20 790" stroke="purple" fill="none" stroke-width="40" stroke-opacity=".3"/>"##;
    let picture = files::png(&Picture::photo(60, 480, Layout::Rgb), |_| {});
    let picture = format!(
        r#"<image x="20" y="100" width="60" height="480" xlink:href="data:image/png;base64,{}"/>"#,
        STANDARD.encode(picture)
    );
    // A pattern tile has more than four megapixels, too many to be buffered. It starts at a whole pixel, because resvg
    // blurs buffered tiles between pixels.
    let pattern = r##"
        <pattern id="p" x="-100" y="-200" width="100" height="400" patternUnits="userSpaceOnUse">
            <circle cx="50" cy="200" r="190" fill="#06c"/><path d="M-9 -9 109 409" stroke="red" stroke-width="9"/></pattern>
        <path d="M5 5 95 9 80 790 10 700z" fill="url(#p)" fill-opacity=".7" stroke="#000" stroke-width="2"/>"##;
    // The same without a pattern, because resvg draws patterns from a buffer, which blurs.
    let tile = r##"<circle cx="50" cy="200" r="190" fill="#06c"/><path d="M-9 -9 109 409" stroke="red" stroke-width="9"/>"##;
    let tiles = [-200, 200, 600]
        .map(|y| format!(r##"<g transform="translate(0 {y})"><g clip-path="url(#t)">{tile}</g></g>"##))
        .concat();
    let unrolled = format!(
        r##"
        <clipPath id="s"><path d="M5 5 95 9 80 790 10 700z"/></clipPath>
        <clipPath id="t"><rect width="100" height="400"/></clipPath>
        <g clip-path="url(#s)"><g opacity=".7">{tiles}</g></g>
        <path d="M5 5 95 9 80 790 10 700z" fill="none" stroke="#000" stroke-width="2"/>"##
    );
    for (name, content) in [("groups", groups_in_groups), ("lines", lines), ("a picture", &picture)] {
        let strips = draw(svg(COLUMN, content), 6000);
        let whole = in_one_piece(&svg(COLUMN, content), strips.size());
        // Edges between pixels round differently from another origin.
        compare(&strips, &whole, Tolerance::lossy(0.005, 0, 0.4))
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    // Opacity rounds differently in a layer.
    let drawn = |content: &str| draw(svg(COLUMN, content), 8192);
    compare(&drawn(pattern), &drawn(&unrolled), Tolerance::up_to(2)).unwrap();
}

#[test]
fn a_blur_has_no_seams() {
    let text = svg(
        COLUMN,
        r##"<filter id="f" filterUnits="userSpaceOnUse" x="0" y="0" width="100" height="800"><feGaussianBlur stdDeviation="9"/></filter>
        <path filter="url(#f)" d="M10 50 90 200 10 350 90 500 10 650 90 790" stroke="#c00" stroke-width="25" fill="none"/>"##,
    );
    let strips = draw(&text, 6000);
    let steepest = |rows: std::ops::Range<u32>| {
        let step = |y, x| i16::from(strips.at(x, y)[1]).abs_diff(i16::from(strips.at(x, y + 1)[1]));
        rows.flat_map(|y| (0..strips.width).step_by(16).map(move |x| step(y, x))).max().unwrap()
    };
    assert!(strips.pixels.iter().any(|&channel| channel < 100), "the drawing is not empty");
    assert!(steepest(0..strips.height - 1) <= 3, "{}", steepest(0..strips.height - 1));
}

#[test]
fn a_slow_filter_is_drawn_once_and_looks_like_in_one_piece() {
    let rotated = r##"
        <filter id="f" filterUnits="userSpaceOnUse" x="0" y="0" width="100" height="800"><feGaussianBlur stdDeviation="3"/></filter>
        <g transform="rotate(10 50 400)"><path filter="url(#f)" d="M10 50 90 200 10 350 90 500 10 650 90 790" stroke="#c00" stroke-width="25" fill="none"/></g>"##;
    let noise = r##"
        <filter id="f"><feTurbulence baseFrequency=".02" numOctaves="2000000000" type="fractalNoise"/></filter>
        <g transform="rotate(10 50 400)"><rect x="20" y="300" width="60" height="250" filter="url(#f)"/></g>"##;
    for (name, content) in [("a rotated blur", rotated), ("noise", noise)] {
        let strips = draw(svg(COLUMN, content), 4096);
        // This also tests that invisible octaves are removed: resvg alone would not finish.
        let whole = in_one_piece(&svg(COLUMN, &content.replace("2000000000", "10")), strips.size());
        compare(&strips, &whole, Tolerance::lossy(0.1, 3, 3.5)).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(strips.pixels.iter().any(|&channel| channel < 200), "{name}: the drawing is not empty");
    }
}

/// Draws the whole document with resvg alone.
fn in_one_piece(text: &str, size: Size) -> Picture {
    let tree = Tree::from_str(text, &Options::default()).unwrap();
    let mut pixmap = Pixmap::new(size.width, size.height).unwrap();
    pixmap.fill(Color::WHITE);
    let (width, height) = (tree.size().width(), tree.size().height());
    let transform = Transform::from_scale(size.width as f32 / width, size.height as f32 / height);
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    Picture::without_opacity(size.width, size.height, 4, pixmap.data())
}

#[test]
fn nothing_outside_the_document_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let green = folder.path().join("green.png");
    fs::write(&green, files::png(&Picture::new(8, 8, Layout::Rgb, |_, _| [0, 255, 0, 0]), |_| {})).unwrap();
    let path = green.to_str().unwrap();
    let nested = STANDARD
        .encode(svg(r#"width="8" height="8""#, &format!(r#"<image width="8" height="8" href="{path}"/>"#)));
    let entity = format!(
        r#"<!DOCTYPE svg [<!ENTITY e SYSTEM "file://{path}">]>{}"#,
        svg(r#"viewBox="0 0 8 8""#, "<desc>&e;</desc>")
    );
    assert_eq!(failure(entity.as_bytes()).code, FailureCode::CorruptSource);
    for content in [
        format!(r#"<image width="8" height="8" xlink:href="{path}"/>"#),
        format!(r#"<image width="8" height="8" href="file://{path}"/>"#),
        format!(r#"<image width="8" height="8" href="data:image/svg+xml;base64,{nested}"/>"#),
        format!(
            r#"<filter id="f"><feImage href="{path}"/></filter><rect width="8" height="8" filter="url(#f)"/>"#
        ),
        format!(r#"<style>@import url("{path}");</style><rect width="8" height="8" fill="url({path}#a)"/>"#),
        format!(r#"<use href="{path}#a"/>"#),
        r#"<image width="8" height="8" href="http://127.0.0.1:1/a.png"/>"#.to_owned(),
    ] {
        let picture = draw(svg(r#"viewBox="0 0 8 8""#, &content), 64);
        assert!(picture.pixels.chunks(3).all(|pixel| pixel != [0, 255, 0]), "{content}");
    }
}

#[test]
fn pictures_inside_the_document_are_drawn() {
    let black = Picture::new(8, 8, Layout::Rgb, |_, _| [0; 4]);
    let nested = svg(r#"width="8" height="8""#, r#"<rect width="8" height="8"/>"#);
    for (kind, bytes) in [
        ("png", files::png(&black, |_| {})),
        ("jpeg", files::jpeg(&black, files::Jpeg::default())),
        ("webp", files::webp(&black, None)),
        ("svg+xml", nested.into_bytes()),
    ] {
        let content = format!(
            r#"<image width="8" height="8" href="data:image/{kind};base64,{}"/>"#,
            STANDARD.encode(bytes)
        );
        assert_eq!(draw(svg(r#"viewBox="0 0 8 8""#, &content), 64).at(32, 32), [0; 3], "{kind}");
    }
}

#[test]
fn text_is_drawn_even_without_system_fonts() {
    for family in ["Arial", "serif", "No Such Font", ""] {
        let text = svg(
            r#"viewBox="0 0 100 20""#,
            &format!(r#"<text x="2" y="16" font-size="16" font-family="{family}">Ägypten ☃</text>"#),
        );
        // The source is not prepared, so only the built-in font is available.
        let drawing = DrawingOptions { svg_side: 1000, ..DrawingOptions::default() };
        let options = DecodeOptions { drawing, ..DecodeOptions::default() };
        let mut reader = edgezoom_codecs::open_with(file(text.as_bytes()), BOUNDS, &options).unwrap();
        let picture = Picture::read(&mut *reader).unwrap();
        let dark = picture.pixels.iter().filter(|&&channel| channel < 64).count();
        assert!(dark * 50 > picture.pixels.len(), "{family}: {dark} of {}", picture.pixels.len());
    }
}

#[test]
fn the_size_is_that_of_the_document_enlarged() {
    let size = |attributes: &str, side| draw(svg(attributes, ""), side).size();
    let square = |side| Size { width: side, height: side };
    assert_eq!(size(r#"viewBox="0 0 30 15""#, 600), Size { width: 600, height: 300 });
    assert_eq!(size(r#"width="100" height="400" viewBox="0 0 1 1""#, 600), Size { width: 150, height: 600 });
    assert_eq!(size(r#"width="100%" height="100%" viewBox="0 0 1 1""#, 600), square(600));
    assert_eq!(size(r#"width="10in" height="10in""#, 600), square(960));
}

#[test]
fn without_a_size_it_has_the_size_that_browsers_use() {
    let size = |attributes: &str| draw(svg(attributes, r#"<rect width="9" height="9"/>"#), 600).size();
    let sized = |width, height| Size { width, height };
    for attributes in ["", r#"width="100%" height="100%""#, r#"viewBox="0 0 0 0""#, r#"width="x""#] {
        assert_eq!(size(attributes), sized(600, 300), "{attributes}");
    }
    assert_eq!(size(r#"width="100""#), sized(400, 600));
    assert_eq!(size(r#"height="75""#), sized(600, 150));
    let right = draw(svg("", r#"<rect x="50%" width="50%" height="100%" fill="red"/>"#), 600);
    assert_eq!((right.at(150, 299), right.at(450, 299)), ([255; 3].as_slice(), [255, 0, 0].as_slice()));
}

#[test]
fn the_background_is_white_unless_transparency_is_requested() {
    let text = svg(r#"viewBox="0 0 8 8""#, r#"<rect width="4" height="8" fill="red" fill-opacity=".5"/>"#);
    let drawing = DrawingOptions { svg_side: 64, ..DrawingOptions::default() };
    let options = DecodeOptions { drawing, transparent: true, ..DecodeOptions::default() };
    let mut file = file(text.as_bytes());
    let strips = edgezoom_codecs::prepare(&mut file, None).unwrap().open(file, BOUNDS, &options);
    let transparent = Picture::read(&mut *strips.unwrap()).unwrap();
    assert_eq!((transparent.layout, transparent.at(60, 5)), (Layout::Rgba, [0; 4].as_slice()));
    assert_eq!(transparent.at(5, 5), [255, 0, 0, 128]);
    let opaque = draw(&text, 64);
    assert_eq!((opaque.layout, opaque.at(60, 5)), (Layout::Rgb, WHITE.as_slice()));
    assert_eq!(opaque.at(5, 5), [255, 127, 127]);
}

#[test]
fn it_may_be_gzipped_or_in_another_encoding() {
    let text = svg(r#"viewBox="0 0 8 8""#, "<!-- ä --><rect width='8' height='8'/>");
    let gzipped = gzip(text.as_bytes());
    let utf_16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    let latin_1: Vec<u8> = text.chars().map(|char| char as u8).collect();
    for bytes in [gzipped, utf_16, latin_1] {
        assert_eq!(draw(&bytes, 64).at(9, 9), [0; 3]);
    }
    assert_eq!(failure(&gzip(b"no picture at all")).code, FailureCode::CorruptSource);
    assert_eq!(failure(&gzip(b"<html/>")).code, FailureCode::UnsupportedFormat);
    assert_eq!(failure(&gzip(text.as_bytes())[..60]).code, FailureCode::CorruptSource);
}

#[test]
fn a_gzip_bomb_is_too_large() {
    assert_eq!(failure(&gzip(&vec![b' '; 80 << 20])).code, FailureCode::SourceTooLarge);
}

#[tokio::test]
async fn bombs_end_with_a_reason() {
    let deep = svg(COLUMN, &format!("{}{}", "<g>".repeat(50_000), "</g>".repeat(50_000)));
    assert_eq!(
        render(deep.as_bytes(), &Limits::default()).await.unwrap_err().code,
        FailureCode::CorruptSource
    );

    let laughs = (1..10).fold(r#"<!ENTITY e0 "lol">"#.to_owned(), |all, level| {
        let ten = format!("&e{};", level - 1).repeat(10);
        format!(r#"{all}<!ENTITY e{level} "{ten}">"#)
    });
    let laughs = format!("<!DOCTYPE svg [{laughs}]>{}", svg(COLUMN, "<text>&e9;</text>"));
    assert_eq!(
        render(laughs.as_bytes(), &Limits::default()).await.unwrap_err().code,
        FailureCode::CorruptSource
    );

    // One level of entities, which the parser allows: 60 KB repeated twenty thousand times.
    let quadratic = format!(
        r#"<!DOCTYPE svg [<!ENTITY e "{}">]>{}"#,
        "x".repeat(60_000),
        svg(COLUMN, &"<desc a='&e;'/>".repeat(20_000))
    );
    assert_eq!(
        render(quadratic.as_bytes(), &Limits::default()).await.unwrap_err().code,
        FailureCode::TooManyPixels
    );
}

#[tokio::test]
async fn deep_groups_are_drawn_unless_they_take_too_much_memory() {
    let plain =
        svg(COLUMN, &format!("{}<rect width='9' height='9'/>{}", "<g>".repeat(900), "</g>".repeat(900)));
    assert!(render(plain.as_bytes(), &Limits::default()).await.is_ok());
    let layers = plain.replace("<g>", "<g opacity='.99'>");
    let failure = render(layers.as_bytes(), &Limits::default()).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TooManyPixels, "{}", failure.message);
}

#[tokio::test]
async fn the_renderer_keeps_transparency_if_png_is_requested() {
    let text = svg(r#"viewBox="0 0 8 8""#, "<rect width='4' height='4'/>");
    let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let drawing = DrawingOptions { svg_side: 64, ..DrawingOptions::default() };
    for (format, expected) in [(None, TileFormat::Jpg), (Some(TileFormat::Png), TileFormat::Png)] {
        let options =
            RenderOptions { format, threads: NonZeroUsize::MIN, drawing, ..RenderOptions::default() };
        let source = file(text.as_bytes());
        let mut renderer = Renderer::start(tiler, source, &options, &Limits::default()).unwrap();
        let Output::Started(dzi) = renderer.next().await.unwrap() else { panic!("no start") };
        assert_eq!((dzi.tile_format, dzi.size), (expected, Size { width: 64, height: 64 }));
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
