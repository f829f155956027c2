//! The transforms of a lossless WebP, undone row by row.
//!
//! Source: RFC 9649, section 3.5.

use std::io::Read;
use std::mem;

use super::bits::{Bits, Result};
use super::coded::decode_image;
use super::codes::blocks_in;

/// A transform, and its state from the rows above. Pixels are ARGB.
pub enum Transform {
    /// Each pixel is the difference from a prediction by pixels near it. Its block selects the predictor.
    Predictor { blocks: Blocks, above: Vec<u32> },
    /// Shares of green and red are subtracted from red and blue.
    Colour { blocks: Blocks },
    /// Green is subtracted from red and blue.
    SubtractGreen,
    /// Pixels are indices into a palette. Indices of few bits share the green of one pixel.
    Palette { colours: Vec<u32>, pixel_bits: u32, width: usize },
}

/// A value for each block of pixels.
pub struct Blocks {
    values: Vec<u32>,
    across: usize,
    /// Side of a block, as a power of 2.
    bits: u32,
    /// The next row of pixels.
    row: u32,
}

impl Transform {
    /// Reads a transform. Sets `width` to that of the pixels before it is undone.
    pub fn read<R: Read>(kind: u32, bits: &mut Bits<R>, width: &mut u32, height: u32) -> Result<Self> {
        Ok(match kind {
            0 => Self::Predictor { blocks: Blocks::read(bits, *width, height)?, above: Vec::new() },
            1 => Self::Colour { blocks: Blocks::read(bits, *width, height)? },
            2 => Self::SubtractGreen,
            _ => {
                let count = bits.read(8)? + 1;
                let mut colours = decode_image(bits, count, 1)?;
                for index in 1..colours.len() {
                    colours[index] = add(colours[index], colours[index - 1]);
                }
                let pixel_bits = match count {
                    0..=2 => 1,
                    3..=4 => 2,
                    5..=16 => 4,
                    _ => 8,
                };
                let unpacked = mem::replace(width, width.div_ceil(8 / pixel_bits)) as usize;
                Self::Palette { colours, pixel_bits, width: unpacked }
            }
        })
    }

    /// Undoes the transform for the next row.
    pub fn undo(&mut self, row: &mut Vec<u32>) {
        match self {
            Self::Predictor { blocks, above } => {
                predict(row, above, blocks);
                above.clear();
                above.extend_from_slice(row);
            }
            Self::Colour { blocks } => {
                for (block, pixels) in blocks.next_row().zip(row.chunks_mut(1 << blocks.bits)) {
                    pixels.iter_mut().for_each(|pixel| *pixel = add_colours(*pixel, block));
                }
                blocks.row += 1;
            }
            Self::SubtractGreen => {
                for pixel in row {
                    let green = *pixel >> 8 & 0xff;
                    *pixel = add(*pixel, green << 16 | green);
                }
            }
            Self::Palette { colours, pixel_bits, width } => {
                let in_one = 8 / *pixel_bits as usize;
                let mask = (1 << *pixel_bits) - 1;
                let packed = mem::take(row);
                row.extend((0..*width).map(|x| {
                    let green = packed[x / in_one] >> 8 & 0xff;
                    let index = green >> (x % in_one * *pixel_bits as usize) & mask;
                    // Indices beyond the palette are transparent black.
                    colours.get(index as usize).copied().unwrap_or(0)
                }));
            }
        }
    }
}

impl Blocks {
    fn read<R: Read>(bits: &mut Bits<R>, width: u32, height: u32) -> Result<Self> {
        let block_bits = bits.read(3)? + 2;
        let across = blocks_in(width, block_bits);
        let values = decode_image(bits, across, blocks_in(height, block_bits))?;
        Ok(Self { values, across: across as usize, bits: block_bits, row: 0 })
    }

    /// Returns the values along the next row of pixels.
    fn next_row(&self) -> impl Iterator<Item = u32> {
        let start = (self.row >> self.bits) as usize * self.across;
        self.values[start..start + self.across].iter().copied()
    }
}

/// Adds the prediction to a row of differences.
fn predict(row: &mut [u32], above: &[u32], blocks: &mut Blocks) {
    const BLACK: u32 = 0xff00_0000;
    let is_first = blocks.row == 0;
    let Some(first) = row.first_mut() else { return };
    *first = add(*first, if is_first { BLACK } else { above[0] });
    if is_first {
        for x in 1..row.len() {
            row[x] = add(row[x], row[x - 1]);
        }
    } else {
        let side = 1 << blocks.bits;
        for (block, value) in blocks.next_row().enumerate() {
            let mode = value >> 8 & 0xf;
            for x in (block * side).max(1)..((block + 1) * side).min(row.len()) {
                let (left, top, top_left) = (row[x - 1], above[x], above[x - 1]);
                // The first pixel of the row follows the last one of the row above.
                let top_right = above.get(x + 1).copied().unwrap_or(row[0]);
                let predicted = match mode {
                    1 => left,
                    2 => top,
                    3 => top_right,
                    4 => top_left,
                    5 => mean(mean(left, top_right), top),
                    6 => mean(left, top_left),
                    7 => mean(left, top),
                    8 => mean(top_left, top),
                    9 => mean(top, top_right),
                    10 => mean(mean(left, top_left), mean(top, top_right)),
                    11 => select(left, top, top_left),
                    12 => by_channel([left, top, top_left], |[left, top, top_left]| left + top - top_left),
                    13 => {
                        let mean = mean(left, top);
                        by_channel([mean, top_left, 0], |[mean, top_left, _]| mean + (mean - top_left) / 2)
                    }
                    _ => BLACK,
                };
                row[x] = add(row[x], predicted);
            }
        }
    }
    blocks.row += 1;
}

/// Returns the sum of each channel, modulo 256.
#[inline]
fn add(one: u32, other: u32) -> u32 {
    let odd = (one & 0xff00_ff00).wrapping_add(other & 0xff00_ff00) & 0xff00_ff00;
    let even = (one & 0x00ff_00ff).wrapping_add(other & 0x00ff_00ff) & 0x00ff_00ff;
    odd | even
}

/// Returns the mean of each channel, rounded down.
#[inline]
fn mean(one: u32, other: u32) -> u32 {
    (((one ^ other) & 0xfefe_fefe) >> 1).wrapping_add(one & other)
}

#[inline]
fn by_channel(pixels: [u32; 3], value: impl Fn([i32; 3]) -> i32) -> u32 {
    let channels = pixels.map(u32::to_be_bytes);
    let value = |channel: usize| value(channels.map(|pixel| pixel[channel].into())).clamp(0, 255) as u8;
    u32::from_be_bytes(std::array::from_fn(value))
}

/// Returns left or top, whichever is nearer to the prediction by their gradient.
#[inline]
fn select(left: u32, top: u32, top_left: u32) -> u32 {
    let distance = |one: u32, other: u32| -> i32 {
        let pairs = one.to_be_bytes().into_iter().zip(other.to_be_bytes());
        pairs.map(|(one, other)| i32::from(one.abs_diff(other))).sum()
    };
    // The prediction is left + top - top_left: its distance from left is top - top_left, and that from top left - top_left.
    if distance(top, top_left) < distance(left, top_left) { left } else { top }
}

#[inline]
fn add_colours(pixel: u32, factors: u32) -> u32 {
    let [alpha, red, green, blue] = pixel.to_be_bytes();
    let [_, red_to_blue, green_to_blue, green_to_red] = factors.to_be_bytes();
    let part = |factor: u8, colour: u8| ((i32::from(factor as i8) * i32::from(colour as i8)) >> 5) as u8;
    let red = red.wrapping_add(part(green_to_red, green));
    let blue = blue.wrapping_add(part(green_to_blue, green)).wrapping_add(part(red_to_blue, red));
    u32::from_be_bytes([alpha, red, green, blue])
}
