//! The check: a right drawing passes, a wrong one does not. The pixels are those of a correct drawing by the same renderer,
//! at another place on the grid of pixels or slightly darker, as another program would draw it.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::page;
use crate::{Pixels, Refusal, check};

pub const WIDTH: u32 = 400;
pub const HEIGHT: u32 = 200;

const RIGHT: &str = "BT /F1 12 Tf 20 60 Td (The quick brown fox) Tj 0 -20 Td (jumps over it.) Tj ET \
                     .2 w 10 20 m 190 22 l S 0 0 1 rg 150 60 30 20 re f";

/// Draws a page at two pixels per point, moved by a part of a pixel.
pub fn pixels(content: &str, moved: f32) -> Vec<u8> {
    let svg = page(content).unwrap().svg(0.5).unwrap();
    let tree = Tree::from_str(&svg, &Options::default()).unwrap();
    let mut pixmap = Pixmap::new(WIDTH, HEIGHT).unwrap();
    pixmap.fill(Color::WHITE);
    let place = Transform::from_scale(2.0, 2.0).post_translate(moved, moved);
    resvg::render(&tree, place, &mut pixmap.as_mut());
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
    let large = format!("{RIGHT} .1 w 0 0 m {} S", "1 1 l 0 0 l ".repeat(200_000));
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
