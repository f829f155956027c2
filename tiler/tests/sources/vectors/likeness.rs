//! The judge's rule: that of the check, apart from thin lines. PDFium draws a line of less than a pixel a pixel wide, a filled one
//! with whole pixels, and a box to tick in a form with a grey line over its own; Chromium smooths all of them. They are there in both
//! pictures, at the same place, and one is paler.

use std::fs;
use std::path::{Path, PathBuf};

use edgezoom_vector::{Pixels, are_alike};

/// Difference of a colour, of 255, from which it is looked at.
const TOLERANCE: u8 = 48;
/// Maximum width of a thin line in pixels, with the smoothed ones beside it: three quarters of a point.
const THIN: usize = 3;
/// Minimum length of a line in pixels. Parts of small letters are shorter.
const LONG: usize = 12;
/// Part of the darker line's contrast that the paler one has.
const PALEST: u8 = 4;

/// A part of a page as two programs draw it: red, green and blue of each pixel.
pub struct Both {
    pub width: u32,
    pub height: u32,
    pub by_chromium: Vec<u8>,
    pub by_pdfium: Vec<u8>,
}

impl Both {
    pub fn are_alike(&self) -> bool {
        let pixels = |rgb| Pixels { width: self.width, height: self.height, rgb };
        are_alike(pixels(&self.without_pale_lines()), pixels(&self.by_pdfium))
    }

    /// Writes the pictures below `target/judges/`, Chromium's first. Returns the path without its end.
    pub fn write(&self, name: &str) -> PathBuf {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/judges/vectors").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        for (program, rgb) in [("chromium", &self.by_chromium), ("pdfium", &self.by_pdfium)] {
            let head = format!("P6 {} {} 255\n", self.width, self.height);
            fs::write(path.with_added_extension(format!("{program}.ppm")), [head.as_bytes(), rgb].concat())
                .unwrap();
        }
        path
    }

    /// Returns Chromium's picture with PDFium's pixels where both have a thin line.
    fn without_pale_lines(&self) -> Vec<u8> {
        let width = self.width as usize;
        let mut pixels = self.by_chromium.clone();
        let both =
            pixels.as_chunks_mut::<3>().0.iter_mut().zip(self.by_pdfium.as_chunks::<3>().0).enumerate();
        for (at, (pixel, other)) in both.filter(|(_, (one, other))| !are_near(one, other)) {
            let is_in_line = |(across, along): (usize, usize)| {
                let is_line = |place: &Option<usize>| place.is_some_and(|place| self.has_line(place, across));
                let before = (1..LONG).map(|index| at.checked_sub(index * along)).take_while(is_line).count();
                let after = (0..LONG).map(|index| Some(at + index * along)).take_while(is_line).count();
                after > 0 && before + after >= LONG
            };
            if [(1, width), (width, 1)].into_iter().any(is_in_line) {
                *pixel = *other;
            }
        }
        pixels
    }

    /// Returns true if both pictures have at a pixel a line that is thin in the direction of `across`, on the same ground.
    fn has_line(&self, at: usize, across: usize) -> bool {
        let colours = |at: usize| {
            let of = |rgb: &[u8]| rgb.as_chunks::<3>().0.get(at).copied();
            Some([of(&self.by_chromium)?, of(&self.by_pdfium)?])
        };
        let Some(here) = colours(at) else { return false };
        let has_sides = |(before, after): (usize, usize)| {
            let before = at.checked_sub(before * across).and_then(colours);
            let Some(sides) = before.zip(colours(at + after * across)) else { return false };
            let contrasts = |part: usize| {
                [0, 1].map(|of| sides.0[of][part].min(sides.1[of][part]).saturating_sub(here[of][part]))
            };
            [sides.0, sides.1].iter().all(|[one, other]| are_near(one, other))
                && (0..3).map(contrasts).all(|[one, other]| one.max(other) / PALEST <= one.min(other))
                && (0..3).map(contrasts).any(|[one, other]| one.min(other) > TOLERANCE / 2)
        };
        (1..=THIN).flat_map(|before| (1..=THIN + 1 - before).map(move |after| (before, after))).any(has_sides)
    }
}

fn are_near(one: &[u8; 3], other: &[u8; 3]) -> bool {
    one.iter().zip(other).all(|(one, other)| one.abs_diff(*other) <= TOLERANCE)
}

#[test]
fn lines_may_be_paler_and_nothing_else() {
    const SIDE: usize = 64;
    // A line down the page, of this place, width, length and colour, on a page that is white on one side.
    let page = |(left, width, length): (usize, usize, usize), colour: [u8; 3]| -> Vec<u8> {
        let pixel = |at: usize| {
            let (x, y) = (at % SIDE, at / SIDE);
            let is_line = (left..left + width).contains(&x) && (8..8 + length).contains(&y);
            let ground = if x < left { [255; 3] } else { [235, 255, 255] };
            if is_line { colour } else { ground }
        };
        (0..SIDE * SIDE).flat_map(pixel).collect()
    };
    let are_alike = |by_chromium: Vec<u8>, by_pdfium: Vec<u8>| {
        let side = SIDE as u32;
        let turned = |rgb: &[u8]| {
            let at = |at: usize| 3 * (at % SIDE * SIDE + at / SIDE);
            (0..SIDE * SIDE).flat_map(|to| rgb[at(to)..at(to) + 3].to_vec()).collect::<Vec<u8>>()
        };
        let across = Both {
            width: side,
            height: side,
            by_chromium: turned(&by_pdfium),
            by_pdfium: turned(&by_chromium),
        };
        let down = Both { width: side, height: side, by_chromium, by_pdfium };
        assert_eq!(down.are_alike(), across.are_alike());
        down.are_alike()
    };
    let line = (30, 2, 40);
    let black = page(line, [0; 3]);
    assert!(are_alike(black.clone(), page(line, [150; 3])));
    assert!(!are_alike(black.clone(), page(line, [210; 3])), "it can hardly be seen");
    assert!(!are_alike(black.clone(), page(line, [255, 0, 0])), "it is red");
    assert!(!are_alike(black.clone(), page((30, 0, 40), [0; 3])), "it is missing");
    assert!(!are_alike(black, page((34, 2, 40), [0; 3])), "it has moved");
    assert!(!are_alike(page((30, 6, 40), [0; 3]), page((30, 6, 40), [150; 3])), "it is not thin");
    assert!(!are_alike(page((30, 3, 11), [0; 3]), page((30, 3, 11), [150; 3])), "it is short");
}
