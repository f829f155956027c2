//! Pages as vectors, drawn by Chromium as the viewer does, at 4 pixels per point. They look like the pixels that PDFium draws
//! at this scale, by the rule that accepted them at a coarser one, apart from thin lines ([`likeness`]).

mod bombs;
mod likeness;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use edgezoom_codecs::{DecodeOptions, DrawingOptions, PageVectors, PixelsOnly};
use edgezoom_test_support::documents::{manual, paper, plan};
use edgezoom_test_support::files::{BOUNDS, file};
use edgezoom_test_support::pdf::Pdf;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use edgezoom_vector::is_lean;

use crate::chromium::{Driven, Window};
use crate::judge::files;
use likeness::Both;

/// Dots per inch of the pixels: 4 per point.
const DPI: u32 = 288;
/// Resolution of the picture, whose lines are at least half a pixel wide.
const COARSE_DPI: u32 = DPI / 2;
/// Longer side of a drawing in SVG, as if it were a page.
const SVG_INCHES: u32 = 8;
/// Maximum side of the part of a page that is compared, in its middle.
const SIDE: u32 = 1600;

/// The reason of a page whose renderer process has ended before it said one.
const ENDED: &str = "the process has ended";

/// A drawing with what paths show of SVG.
const DRAWING: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 384 288"><defs>
    <linearGradient id="l" x2=".8" y2=".6"><stop stop-color="#fc0"/><stop offset="1" stop-color="#06c"/></linearGradient>
    <radialGradient id="r" fx=".3" gradientTransform="scale(1 .9)"><stop stop-color="#fff"/><stop offset="1" stop-color="#900"/></radialGradient>
    <pattern id="p" width="9" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(20)"><path stroke="#080" d="M0 0L9 7"/></pattern>
    <clipPath id="c"><circle cx="60" cy="220" r="50"/></clipPath><g id="u"><path fill="#c00" d="M0 0h9l9 9-9 9z"/></g></defs>
    <rect x="10" y="10" width="180" height="90" fill="url(#l)"/><circle cx="300" cy="60" r="50" fill="url(#r)"/>
    <g clip-path="url(#c)"><rect y="150" width="200" height="200" fill="url(#p)"/><g opacity=".5"><rect y="200" width="90" height="90"/></g></g>
    <g fill="none" stroke="#036" stroke-width="6" transform="rotate(10 250 200)"><path stroke-dasharray="14 9" d="M150 150L260 160 200 250"/>
    <path stroke-linejoin="round" stroke-linecap="round" stroke-opacity=".6" d="M280 150L390 160 320 250"/><path stroke-width=".3" d="M130 290L390 260"/></g>
    <use href="#u" x="200" y="120"/><use href="#u" transform="scale(2) skewX(20)" x="150" y="5"/>
    <text x="20" y="130" font-size="18">Öl, 123 &amp; more</text><text x="210" y="290" font-size="7" transform="rotate(-8 210 290)">small and turned</text></svg>"##;

/// Options for the first page.
fn drawing(dpi: u32) -> DrawingOptions {
    DrawingOptions {
        page: NonZeroU32::new(1),
        dpi,
        page_width: 1,
        svg_side: dpi * SVG_INCHES,
        vectors: true,
        ..DrawingOptions::default()
    }
}

/// Draws the first page of a document in a renderer process. Returns its vectors, or why it has none.
async fn drawn(source: File, drawing: DrawingOptions) -> Result<PageVectors, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let options = RenderOptions { drawing, ..RenderOptions::default() };
    let mut renderer = Renderer::start(program, source, &options, &Limits::default()).unwrap();
    // The process may end after the pixels, by a crash or because a page takes all its time.
    let mut drawn = Err(ENDED.to_owned());
    loop {
        match renderer.next().await {
            Ok(Output::Vectors(page)) => drawn = Ok(page),
            Ok(Output::PixelsOnly(page)) => drawn = Err(page.reason),
            Ok(Output::Finished(_)) => return drawn,
            Err(_) => return Err("no pixels".to_owned()),
            Ok(_) => {}
        }
    }
}

/// The middle of a page in the tiles' pixels, and its place on the page.
struct Middle {
    at: [u32; 4],
    rgb: Vec<u8>,
    /// Pixels per unit of the SVG.
    scale: f64,
}

/// Draws the middle of the first page, which is in the middle of its picture.
fn middle(bytes: &[u8], page: &PageVectors) -> Option<Middle> {
    let library = edgezoom_codecs::locate_pdfium().unwrap();
    let mut source = file(bytes);
    let prepared = edgezoom_codecs::prepare(&mut source, Some(&library)).ok()?;
    let drawing = DrawingOptions { vectors: false, ..drawing(DPI) };
    let mut reader =
        prepared.open(source, BOUNDS, &DecodeOptions { drawing, ..DecodeOptions::default() }).ok()?;
    let size = reader.size();
    // A drawing is the whole picture, and may be large already.
    let whole = if bytes.starts_with(b"%PDF") {
        [page.at.width, page.at.height].map(|side| side * DPI / COARSE_DPI)
    } else {
        [size.width, size.height]
    };
    // A large page has fewer pixels than asked for.
    if size.width < whole[0] || size.height < whole[1] {
        return None;
    }
    let [width, height] = whole.map(|side| side.min(SIDE));
    let units: f64 = page.svg.split('"').nth(3)?.parse().ok()?;
    let scale = f64::from(whole[0]) / units;
    let (left, top) = ((size.width - width) / 2, (size.height - height) / 2);
    let at = [(whole[0] - width) / 2, (whole[1] - height) / 2, width, height];
    let channels = reader.layout().channels();
    let mut row = vec![0; size.width as usize * channels];
    let mut rgb = Vec::new();
    for y in 0..top + height {
        reader.read_rows(&mut row).ok()?;
        if y >= top {
            let pixels = row.chunks_exact(channels).skip(left as usize).take(width as usize);
            rgb.extend(pixels.flat_map(|pixel| [pixel[0], pixel[channels / 2], pixel[channels - 1]]));
        }
    }
    Some(Middle { at, rgb, scale })
}

/// Draws a part of an SVG, in pixels of this many per point, as `vector.js` does. Returns its pixels, and the milliseconds that
/// the drawing took.
fn by_chromium(chromium: &mut Driven, svg: &str, scale: f64, at: [u32; 4]) -> (Vec<u8>, f64) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.svg"), svg).unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, "<!doctype html><style>body{margin:0}canvas{display:block}</style><canvas></canvas>")
        .unwrap();
    let [left, top, width, height] = at;
    let script = format!(
        "(async () => {{
           const image = new Image();
           image.src = 'page.svg';
           await new Promise((resolve) => image.onload = image.onerror = resolve);
           const canvas = Object.assign(document.querySelector('canvas'), {{ width: {width}, height: {height} }});
           const [context, settled] = [canvas, document.createElement('canvas')].map((of) => of.getContext('2d'));
           context.fillStyle = '#fff';
           context.fillRect(0, 0, {width}, {height});
           const start = performance.now();
           context.drawImage(image, ...[{left}, {top}, {width}, {height}].map((side) => side / {scale}), 0, 0, {width}, {height});
           settled.drawImage(canvas, 0, 0, 1, 1);
           return {{ x: 0, y: 0, width: {width}, height: {height}, took: performance.now() - start }};
         }})()"
    );
    let window = Window { width, height, scale: 1, mobile: false };
    let (picture, shown) = chromium.shown(&format!("file://{}", page.display()), window, &script);
    let rgb = picture.pixels.chunks_exact(picture.layout.channels());
    let channels = picture.layout.channels();
    let rgb = rgb.flat_map(|pixel| [pixel[0], pixel[channels / 2], pixel[channels - 1]]).collect();
    (rgb, shown["took"].as_f64().unwrap())
}

/// Draws the vectors of a document's first page, and the pixels of another of the same size; `moved` is the distance in pixels by
/// which the vectors are moved to the left. Returns why the page has no vectors if it has none.
async fn both(chromium: &mut Driven, bytes: &[u8], other: &[u8], moved: u32) -> Result<Both, String> {
    let drawn = drawn(file(bytes), drawing(COARSE_DPI)).await;
    let page = drawn.map_err(|reason| {
        let is_whole = reason != ENDED || has_vectors(bytes);
        if is_whole { reason } else { "the page is one JPEG".to_owned() }
    })?;
    let Middle { at: [left, top, width, height], rgb: by_pdfium, scale } =
        middle(other, &page).ok_or("no pixels")?;
    let (by_chromium, _) = by_chromium(chromium, &page.svg, scale, [left + moved, top, width, height]);
    Ok(Both { width, height, by_chromium, by_pdfium })
}

/// Returns false if the first page is read as the JPEG of which it consists: nothing is said about its vectors.
fn has_vectors(bytes: &[u8]) -> bool {
    let library = edgezoom_codecs::locate_pdfium().unwrap();
    let mut source = file(bytes);
    let prepared = edgezoom_codecs::prepare(&mut source, Some(&library)).unwrap();
    let options = DecodeOptions { drawing: drawing(COARSE_DPI), ..DecodeOptions::default() };
    prepared.open(source, BOUNDS, &options).is_ok_and(|mut reader| reader.take_vectors().is_some())
}

/// Draws the first page of a document in this process, without limits of time.
fn drawn_here(bytes: &[u8]) -> Result<String, String> {
    let library = edgezoom_codecs::locate_pdfium().unwrap();
    let mut source = file(bytes);
    let prepared = edgezoom_codecs::prepare(&mut source, Some(&library)).unwrap();
    let options = DecodeOptions { drawing: drawing(200), ..DecodeOptions::default() };
    let vectors = prepared.open(source, BOUNDS, &options).unwrap().take_vectors().unwrap();
    let mut drawn = Vec::new();
    let each = &mut |page: Result<PageVectors, PixelsOnly>| {
        drawn.push(page.map(|page| page.svg).map_err(|page| page.reason));
        Ok(())
    };
    vectors.draw(&|| Duration::ZERO, each).unwrap();
    drawn.pop().unwrap()
}

#[test]
fn a_plan_with_thousands_of_labels_has_vectors() {
    let svg = drawn_here(&plan(3266)).unwrap();
    // Each star is two paths, and about each of 70,000 letters begins with an M.
    assert!(is_lean(&svg) && svg.matches('M').count() > 70_000, "{}", svg.matches('M').count());
    // Bounds hold for larger ones.
    assert_eq!(drawn_here(&plan(9000)).unwrap_err(), "the page's vectors are too large");
}

#[tokio::test]
async fn vectors_look_like_the_pixels_in_chromium() {
    let mut chromium = Driven::start();
    let documents =
        [("plan", plan(300)), ("paper", paper(1)), ("manual", manual(1)), ("drawing", DRAWING.into())];
    let mut compared = Vec::new();
    for (name, bytes) in documents {
        let both = both(&mut chromium, &bytes, &bytes, 0).await;
        compared.push((name, both.map(|both| both.are_alike())));
    }
    assert!(compared.iter().all(|(_, alike)| *alike == Ok(true)), "{compared:?}");
}

#[tokio::test]
async fn letters_that_are_a_twentieth_wider_or_moved_by_two_pixels_are_unlike() {
    let mut chromium = Driven::start();
    // Words at the same places, of letters of a width in hundredths.
    let page = |width: u32| {
        let words = ["quick", "brown", "foxes", "jump", "over", "lazy"];
        let places = (0..30).flat_map(|line| (0..6).map(move |word| (60 * word + 20, 14 * line + 20, word)));
        let words: String =
            places.map(|(x, y, word)| format!("1 0 0 1 {x} {y} Tm ({}) Tj ", words[word])).collect();
        Pdf::new().page(400, 440, &format!("BT /F1 11 Tf {width} Tz {words} ET")).bytes()
    };
    for (width, moved, alike) in [(100, 0, true), (105, 0, false), (100, 2, false)] {
        let both = both(&mut chromium, &page(width), &page(100), moved).await.unwrap();
        assert_eq!(both.are_alike(), alike, "{width} %, moved by {moved}");
    }
}

#[tokio::test]
#[ignore = "cargo xtask judge vectors"]
async fn judge() {
    let Some(folder) = std::env::var_os("EDGEZOOM_CORPUS") else { return };
    let (mut chromium, mut found) = (Driven::start(), BTreeMap::<String, usize>::new());
    let mut unlike = Vec::new();
    for path in files(Path::new(&folder), &["pdf", "svg"]) {
        let bytes = fs::read(&path).unwrap();
        let outcome = match both(&mut chromium, &bytes, &bytes, 0).await {
            Ok(both) if both.are_alike() => "alike".to_owned(),
            Ok(both) => {
                unlike.push(both.write(&path.file_name().unwrap().to_string_lossy()));
                "UNLIKE".to_owned()
            }
            Err(reason) => {
                unlike.extend((reason == ENDED).then_some(path));
                reason
            }
        };
        *found.entry(outcome).or_default() += 1;
    }
    found.iter().for_each(|(outcome, count)| println!("{count:5} {outcome}"));
    assert!(unlike.is_empty(), "unlike in Chromium, or the process has ended: {unlike:?}");
}
