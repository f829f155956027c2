//! The check: a right drawing passes, a wrong one does not. The pixels are those of a correct drawing by the same renderer,
//! at another place on the grid of pixels or slightly darker, as another program would draw it.

use edgezoom_test_support::pdf::{Pdf, drawing as form};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::{document, page};
use crate::bands::Bands;
use crate::raster::draw;
use crate::{Drawing, Pixels, Refusal, check};

pub const WIDTH: u32 = 400;
pub const HEIGHT: u32 = 200;

const RIGHT: &str = "BT /F1 12 Tf 20 60 Td (The quick brown fox) Tj 0 -20 Td (jumps over it.) Tj ET \
                     .2 w 10 20 m 190 22 l S 0 0 1 rg 150 60 30 20 re f";

/// Draws a page at two pixels per point, moved by a part of a pixel.
pub fn pixels(content: &str, moved: f32) -> Vec<u8> {
    drawn_by_resvg(&page(content).unwrap(), moved)
}

pub fn drawn_by_resvg(drawing: &Drawing, moved: f32) -> Vec<u8> {
    let svg = drawing.svg(0.5).unwrap();
    let tree = Tree::from_str(&svg, &Options::default()).unwrap();
    let mut pixmap = Pixmap::new(WIDTH, HEIGHT).unwrap();
    pixmap.fill(Color::WHITE);
    let place = Transform::from_scale(2.0, 2.0).post_translate(moved, moved);
    resvg::render(&tree, place, &mut pixmap.as_mut());
    rgb(&pixmap)
}

fn rgb(pixmap: &Pixmap) -> Vec<u8> {
    pixmap.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

fn checked(content: &str, rgb: &[u8]) -> Result<(), Refusal> {
    check(&page(content).unwrap(), Pixels { width: WIDTH, height: HEIGHT, rgb })
}

#[test]
fn a_right_drawing_passes() {
    assert_eq!(checked(RIGHT, &pixels(RIGHT, 0.0)), Ok(()));
    assert_eq!(checked(RIGHT, &pixels(RIGHT, 0.4)), Ok(()));
    let darker: Vec<u8> =
        pixels(RIGHT, 0.2).iter().map(|&part| part.saturating_sub((255 - part) / 6)).collect();
    assert_eq!(checked(RIGHT, &darker), Ok(()));
}

#[test]
fn a_wrong_drawing_is_refused() {
    let right = pixels(RIGHT, 0.0);
    for (right_part, wrong_part, what) in [
        ("brown", "brow", "a missing letter"),
        ("fox", "fix", "another letter"),
        ("0 0 1 rg", ".3 0 1 rg", "a wrong colour"),
        ("150 60 30", "152 60 30", "a shifted object"),
        ("20 60 Td", "22 60 Td", "shifted letters"),
        (".2 w 10 20 m 190 22 l S", "", "a missing line"),
        ("30 20 re f", "30 20 re S", "an outline in place of a fill"),
    ] {
        let wrong = RIGHT.replace(right_part, wrong_part);
        assert_ne!(wrong, RIGHT);
        assert_eq!(checked(&wrong, &right), Err(Refusal::Unlike), "{what}");
        assert_eq!(checked(RIGHT, &pixels(&wrong, 0.0)), Err(Refusal::Unlike), "{what}, the other way");
    }
}

#[test]
fn a_large_drawing_is_compared_in_bands() {
    // Its two bands are the rows above 36 points from the bottom, which are compared, and those below.
    let large = format!("{RIGHT} .1 w 0 0 m {} S", "1 0 l 0 0 l ".repeat(200_000));
    let pixels = pixels(&large, 0.2);
    assert_eq!(checked(&large, &pixels), Ok(()));
    assert_eq!(checked(&large.replace("0 0 1 rg", ".3 0 1 rg"), &pixels), Err(Refusal::Unlike));
    assert_eq!(checked(&large.replace(".2 w 10 20 m 190 22 l S", ""), &pixels), Ok(()));
}

#[test]
fn thin_rectangles_are_whole_pixels_as_in_pdfium() {
    // A rule of .48 points, which PDFium draws as one row of pixels wherever it is.
    let mut rows = vec![255; (WIDTH * HEIGHT * 3) as usize];
    let rule = 179 * WIDTH as usize * 3;
    rows[rule + 30..rule + WIDTH as usize * 3 - 30].fill(0);
    assert_eq!(checked("5 10.01 190 .48 re f", &rows), Ok(()));
    assert_eq!(checked("5 9.75 190 .48 re f", &rows), Ok(()));
    assert_eq!(checked("5 8.25 190 .48 re f", &rows), Err(Refusal::Unlike));
}

#[test]
fn pixels_of_another_size_are_refused() {
    assert_eq!(checked(RIGHT, &[255; 30]), Err(Refusal::Unlike));
}

#[test]
fn what_is_compared_is_what_the_svg_shows() {
    let triangle = "20 10 m 180 20 l 90 90 l f";
    let circle = "10 50 m 10 90 90 90 90 50 c 90 10 10 10 10 50 c";
    let picture = "q 60 5 5 60 70.3 20.2 cm BI /W 2 /H 2 /CS /RGB /BPC 8 ID abcdefghijkl EI Q";
    for content in [
        RIGHT,
        "1 0 0 rg 20 10 m 180 20 l 90 90 l 60 10 60 80 20 10 c f 10 10 m 60 90 l 90 5 l 5 70 l 99 80 l f*",
        "[9 3 2] 4 d 3 w 1 J 1 j 10 10 m 60 90 l 90 5 l 5 70 l S",
        "q 3 0 0 .4 0 0 cm [5 2] 0 d 4 w 2 J 2 j 3 20 m 60 240 l 50 30 l S Q",
        &format!("q {circle} W n 0 0 1 rg {triangle} Q {triangle}"),
        &format!("q 30.3 20.6 70.2 55.5 re W n 0 0 1 rg {triangle} {circle} S Q"),
        &format!("q {circle} W n 20 20 m 190 50 l 20 80 l W* n {picture} {triangle} Q"),
        &format!("/G gs .5 0 1 rg {triangle} 9 w {circle} S"),
        &format!("0 .6 0 rg {triangle} /X Do {circle} S"),
        &format!("{triangle} {picture}"),
        "q BT 7 Tr /F1 80 Tf 5 30 Td (clip) Tj ET 1 0 0 rg 0 0 m 200 0 l 200 99 l 0 60 l f Q",
    ] {
        let mut pdf = Pdf::new();
        let state = "/ExtGState << /G << /ca .5 /CA .3 >> >>";
        let group = "/Group << /S /Transparency /I true >>";
        let form =
            form(&mut pdf, &format!("/G gs 1 0 0 rg {circle} f 0 g 5 w 30 0 m 99 99 l S"), state, group);
        let fonts = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
        let resources = format!("/Resources << {fonts} {state} /XObject << /X {form} 0 R >> >>");
        let drawing = document(pdf.page_with(200, 100, content, &resources).bytes()).unwrap();
        let shown = drawn_by_resvg(&drawing, 0.0);
        let compared = rgb(&draw(&drawing, (WIDTH, HEIGHT), Bands::ALL).unwrap());
        // Upright rectangles are whole pixels in what is compared.
        let differ = shown.iter().zip(&compared).filter(|(one, other)| one.abs_diff(**other) > 24).count();
        assert!(shown.iter().any(|&part| part < 200), "{content}: nothing is drawn");
        assert!(differ < if content == RIGHT { 600 } else { 120 }, "{content}: {differ}");
    }
}
