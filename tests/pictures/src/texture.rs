//! The pixels of the benchmarks' pictures. Larger pictures repeat them, mirrored at the edges, which does not affect
//! encoders.

use std::io::{self, Write};

use anyhow::{Context, Result};
use image::{Rgb, RgbImage};

use crate::photograph;

/// The content of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// A photograph from [`photograph`] with fine detail and grain, whose amount varies as between sky and leaves.
    /// Decoders and encoders spend their time on detail, so it matches photographs: about 1.5 bits a pixel as a JPEG of
    /// quality 88.
    Texture,
    /// Noise of every scale, independent in each channel: the worst case of a picture.
    Noise,
    /// Lines of small dark characters on white.
    Text,
    /// A photograph of a garden.
    Photograph,
}

/// From Debian's package `mate-backgrounds`; 2,560×1,600 pixels.
const PHOTOGRAPH: &str = "/usr/share/backgrounds/mate/nature/Garden.jpg";

/// Side of the computed square in pixels.
const SIDE: u32 = 4096;

/// Side of detail cells in pixels, and their strength.
const DETAIL: [(u32, i32); 3] = [(4, 14), (2, 10), (1, 6)];

/// Sides of noise cells in pixels, all equally strong.
const SCALES: [u32; 6] = [1, 2, 4, 8, 16, 64];

/// Width and height of a character cell.
const CHARACTER: (u32, u32) = (11, 22);

/// Rows of a content, as they are repeated.
pub struct Texture {
    rows: Vec<Vec<u8>>,
    mirrored: Vec<Vec<u8>>,
}

impl Content {
    /// Returns its name in the names of cases, empty for the usual one.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Texture => "",
            Self::Noise => "noise, ",
            Self::Text => "text, ",
            Self::Photograph => "photograph, ",
        }
    }

    /// Returns the pixels that a picture repeats.
    ///
    /// # Errors
    /// The photograph cannot be read.
    pub fn pixels(self) -> Result<RgbImage> {
        Ok(match self {
            Self::Texture => detailed(),
            Self::Noise => RgbImage::from_fn(SIDE, SIDE, |x, y| Rgb([1, 2, 3].map(|seed| noise(x, y, seed)))),
            Self::Text => RgbImage::from_fn(SIDE, SIDE, |x, y| Rgb([text(x, y); 3])),
            Self::Photograph => image::open(PHOTOGRAPH).context(PHOTOGRAPH)?.into_rgb8(),
        })
    }
}

fn detailed() -> RgbImage {
    let mut photograph = photograph(SIDE, SIDE, 50);
    for (x, y, pixel) in photograph.enumerate_pixels_mut() {
        let richness = 16 + i32::from(random(x / 300, y / 300, 7) % 64);
        let detail: i32 = DETAIL
            .iter()
            .map(|&(side, strength)| {
                let value = i32::from(random(x / side, y / side, side)) - 128;
                value * strength * richness / (128 * 64)
            })
            .sum();
        for value in &mut pixel.0 {
            *value = (i32::from(*value) + detail).clamp(0, 255) as u8;
        }
    }
    photograph
}

fn noise(x: u32, y: u32, seed: u32) -> u8 {
    let sum: i32 =
        SCALES.iter().map(|side| i32::from(random(x / side, y / side, seed * 100 + side)) - 128).sum();
    (128 + sum / 3).clamp(0, 255) as u8
}

/// Returns a pixel of text with soft edges: the mean of nine points.
fn text(x: u32, y: u32) -> u8 {
    let points = (0..9).filter(|point| is_ink(3 * x + point % 3, 3 * y + point / 3)).count();
    255 - (points * 25) as u8
}

/// Returns true if a point, one of 3×3 in a pixel, belongs to a character: strokes on a 3×5 grid, chosen by the
/// character.
fn is_ink(x: u32, y: u32) -> bool {
    let (column, row) = (x / (3 * CHARACTER.0), y / (3 * CHARACTER.1));
    let (x, y) = (x % (3 * CHARACTER.0), y % (3 * CHARACTER.1));
    let character = u32::from(random(column, row, 11));
    if character < 40 || column % 90 > 80 || row % 30 == 29 {
        return false; // between words, columns and paragraphs
    }
    let (Some(x), Some(y)) = (x.checked_sub(6), y.checked_sub(9)) else { return false };
    let (cell_x, cell_y) = (x / 8, y / 9);
    let upright = x % 8 < 4 && cell_x < 3 && cell_y < 4 && random(character, cell_x * 4 + cell_y, 12) > 110;
    let level = y % 9 < 3 && cell_x < 2 && cell_y < 5 && random(character, cell_x * 5 + cell_y, 13) > 130;
    upright || level
}

impl Texture {
    /// Computes the rows of a content.
    ///
    /// # Errors
    /// The photograph cannot be read.
    pub fn new(content: Content) -> Result<Self> {
        let pixels = content.pixels()?;
        let rows: Vec<Vec<u8>> = pixels.rows().map(|row| row.flat_map(|pixel| pixel.0).collect()).collect();
        let mirrored =
            rows.iter().map(|row| row.chunks_exact(3).rev().flatten().copied().collect()).collect();
        Ok(Self { rows, mirrored })
    }

    /// Writes a picture row by row.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, width: u32, height: u32, to: &mut impl Write) -> io::Result<()> {
        let side = self.rows.len();
        for y in 0..height as usize {
            let (block, y) = (y / side, y % side);
            let y = if block % 2 == 0 { y } else { side - 1 - y };
            let mut left = 3 * width as usize;
            for number in 0.. {
                if left == 0 {
                    break;
                }
                let row = if number % 2 == 0 { &self.rows[y] } else { &self.mirrored[y] };
                let now = left.min(row.len());
                to.write_all(&row[..now])?;
                left -= now;
            }
        }
        to.flush()
    }
}

/// Returns a pseudo-random value of a place.
#[must_use]
pub fn random(x: u32, y: u32, seed: u32) -> u8 {
    let mut value =
        x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77) ^ seed.wrapping_mul(0xc2b2_ae3d);
    value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    (value >> 24) as u8
}
