//! Decides if a drawing looks like the page's own pixels. The two were drawn by different programs, so edges differ; what
//! counts is if a colour that one has at a place is nowhere near it in the other.

use crate::bands::Bands;
use crate::drawing::Drawing;
use crate::raster::draw;
use crate::refusal::Refusal;

/// Difference of a colour, of 255, that edges of lines and letters do not reach.
const TOLERANCE: u8 = 48;
/// Difference from white from which a pixel is inked.
const INK: u8 = 24;
/// Maximum part of the inked pixels that differ, in hundredths. Letters of a missing font are nearly nothing of a page, but
/// much of its ink.
const MAX_OF_INK: usize = 6;
/// Side of the squares whose differing pixels are counted.
const CELL: usize = 8;
/// Maximum part of a block of 4 by 4 squares that differs, in hundredths.
const MAX_OF_BLOCK: usize = 10;
/// Number of differing pixels of 2 by 2 squares from which they may be a letter, if they are half of the ink there.
const LETTER: usize = 24;

/// A page as it is shown without vectors: rows of red, green and blue, on white.
#[derive(Clone, Copy)]
pub struct Pixels<'a> {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Three bytes per pixel.
    pub rgb: &'a [u8],
}

/// Compares a drawing with its page's pixels, which may be of any resolution. At 100 to 200 pixels per inch, letters of
/// common sizes are told apart.
///
/// # Errors
/// [`Refusal::Unlike`].
pub fn check(drawing: &Drawing, page: Pixels<'_>) -> Result<(), Refusal> {
    let bands = Bands::for_segments(drawing.segments());
    let drawn = draw(drawing, (page.width, page.height), bands).ok_or(Refusal::Unlike)?;
    let (drawn, rgb) = (drawn.data().as_chunks::<4>().0, page.rgb.as_chunks::<3>().0);
    let is_alike = drawn.len() == rgb.len() && is_like(drawn, rgb, page.width as usize, bands);
    if is_alike { Ok(()) } else { Err(Refusal::Unlike) }
}

/// Returns true if two pictures of a page look alike by the rule of [`check`].
#[must_use]
pub fn are_alike(one: Pixels<'_>, other: Pixels<'_>) -> bool {
    let [first, second] = [one, other].map(|of| of.rgb.as_chunks::<3>().0);
    let size = one.width as usize * one.height as usize;
    let have_size = first.len() == size && second.len() == size && one.width == other.width;
    have_size && is_like(first, second, one.width as usize, Bands::ALL)
}

/// Returns true if two pictures of the same size look alike. Pixels begin with red, green and blue; opacity may follow.
fn is_like<const A: usize, const B: usize>(
    one: &[[u8; A]],
    other: &[[u8; B]],
    width: usize,
    bands: Bands,
) -> bool {
    let width = width.max(1);
    let mut cells = Cells::new(width, one.len() / width);
    let rows = one.chunks_exact(width).zip(other.chunks_exact(width)).enumerate();
    for (y, (first, second)) in rows.filter(|(y, _)| bands.contain(*y)) {
        for (cell, (first, second)) in first.chunks(CELL).zip(second.chunks(CELL)).enumerate() {
            if !is_inked(first.as_flattened()) && !is_inked(second.as_flattened()) {
                continue; // most of a page
            }
            for (x, (first, second)) in first.iter().zip(second).enumerate() {
                if is_inked(first) || is_inked(second) {
                    let x = cell * CELL + x;
                    let is_far =
                        colour(first).zip(colour(second)).any(|(one, other)| one.abs_diff(other) > TOLERANCE);
                    let differs =
                        is_far && (lacks(other, width, first, (x, y)) || lacks(one, width, second, (x, y)));
                    cells.add(x, y, differs);
                }
            }
        }
    }
    cells.are_like()
}

/// Returns true if a part of a colour is far from white.
fn is_inked(pixels: &[u8]) -> bool {
    pixels.iter().fold(255, |least, &part| part.min(least)) < 255 - INK
}

fn colour<const N: usize>(pixel: &[u8; N]) -> impl Iterator<Item = u8> {
    pixel.iter().take(3).copied()
}

/// Returns true if no pixel of the 3 by 3 at a place is near a colour, or above and others below it.
fn lacks<const A: usize, const B: usize>(
    pixels: &[[u8; A]],
    width: usize,
    of: &[u8; B],
    (x, y): (usize, usize),
) -> bool {
    let (mut least, mut greatest) = ([255; 3], [0; 3]);
    for row in y.saturating_sub(1)..=y + 1 {
        let around = row * width + x.saturating_sub(1)..row * width + (x + 2).min(width);
        for pixel in pixels.get(around).unwrap_or_default() {
            for (part, value) in colour(pixel).enumerate() {
                least[part] = value.min(least[part]);
                greatest[part] = value.max(greatest[part]);
            }
        }
    }
    colour(of).zip(least.iter().zip(greatest)).any(|(part, (least, greatest))| {
        part < least.saturating_sub(TOLERANCE) || part > greatest.saturating_add(TOLERANCE)
    })
}

/// Numbers of differing and of inked pixels, by squares.
struct Cells {
    across: usize,
    counts: Vec<(usize, usize)>,
}

impl Cells {
    fn new(width: usize, height: usize) -> Self {
        let (across, down) = (width.div_ceil(CELL), height.div_ceil(CELL));
        Self { across, counts: vec![(0, 0); across * down] }
    }

    fn add(&mut self, x: usize, y: usize, differs: bool) {
        if let Some(cell) = self.counts.get_mut(y / CELL * self.across + x / CELL) {
            *cell = (cell.0 + usize::from(differs), cell.1 + 1);
        }
    }

    fn are_like(&self) -> bool {
        let (differing, inked) = sum(self.counts.iter().copied());
        let is_like_there = |at: usize| {
            let (column, row) = (at % self.across, at / self.across);
            let (in_block, _) = self.window(column, row, 4);
            let (in_letter, ink) = self.window(column, row, 2);
            in_block * 100 <= MAX_OF_BLOCK * (4 * CELL).pow(2)
                && !(in_letter >= LETTER && in_letter * 2 > ink)
        };
        differing * 100 <= MAX_OF_INK * inked && (0..self.counts.len()).all(is_like_there)
    }

    fn window(&self, column: usize, row: usize, side: usize) -> (usize, usize) {
        let end = (column + side).min(self.across);
        let rows = (row..row + side)
            .filter_map(|row| self.counts.get(row * self.across + column..row * self.across + end));
        sum(rows.flatten().copied())
    }
}

fn sum(counts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
}
