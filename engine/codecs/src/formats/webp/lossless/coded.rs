//! The coding of pixels in a lossless WebP: back references, the cache of colours, and the prefix codes of each block.
//!
//! Source: RFC 9649, 3.6.2.

use std::io::Read;

use super::bits::{Bits, Broken, Result, broken};
use super::codes::{Codes, blocks_in};

/// Number of pixels that can be referred to, a power of two: the longest distance is 2^20 (3.6.2.2).
pub const WINDOW: usize = 1 << 20;
/// Columns to the left, and rows above, of near pixels by their numbers (3.6.2.2).
#[rustfmt::skip]
const NEAR: [(i8, i8); 120] = [
    (0, 1), (1, 0), (1, 1), (-1, 1), (0, 2), (2, 0), (1, 2), (-1, 2), (2, 1), (-2, 1), (2, 2), (-2, 2), (0, 3), (3, 0),
    (1, 3), (-1, 3), (3, 1), (-3, 1), (2, 3), (-2, 3), (3, 2), (-3, 2), (0, 4), (4, 0), (1, 4), (-1, 4), (4, 1),
    (-4, 1), (3, 3), (-3, 3), (2, 4), (-2, 4), (4, 2), (-4, 2), (0, 5), (3, 4), (-3, 4), (4, 3), (-4, 3), (5, 0),
    (1, 5), (-1, 5), (5, 1), (-5, 1), (2, 5), (-2, 5), (5, 2), (-5, 2), (4, 4), (-4, 4), (3, 5), (-3, 5), (5, 3),
    (-5, 3), (0, 6), (6, 0), (1, 6), (-1, 6), (6, 1), (-6, 1), (2, 6), (-2, 6), (6, 2), (-6, 2), (4, 5), (-4, 5),
    (5, 4), (-5, 4), (3, 6), (-3, 6), (6, 3), (-6, 3), (0, 7), (7, 0), (1, 7), (-1, 7), (5, 5), (-5, 5), (7, 1),
    (-7, 1), (4, 6), (-4, 6), (6, 4), (-6, 4), (2, 7), (-2, 7), (7, 2), (-7, 2), (3, 7), (-3, 7), (7, 3), (-7, 3),
    (5, 6), (-5, 6), (6, 5), (-6, 5), (8, 0), (4, 7), (-4, 7), (7, 4), (-7, 4), (8, 1), (8, 2), (6, 6), (-6, 6),
    (8, 3), (5, 7), (-5, 7), (7, 5), (-7, 5), (8, 4), (6, 7), (-6, 7), (7, 6), (-7, 6), (8, 5), (7, 7), (-7, 7),
    (8, 6), (8, 7),
];

/// A decoder of pixels.
pub struct Coded {
    width: u32,
    x: u32,
    y: u32,
    /// The last decoded pixels, as ARGB.
    window: Vec<u32>,
    /// Number of pixels decoded.
    position: usize,
    /// Number of pixels left to copy.
    copied: u32,
    /// Distance back of the pixels to copy.
    distance: usize,
    cache: Vec<u32>,
    cache_bits: u32,
}

/// Decodes one of the small pictures that describe transforms and codes.
pub fn decode_image<R: Read>(bits: &mut Bits<R>, width: u32, height: u32) -> Result<Vec<u32>> {
    let cache_bits = cache_bits(bits)?;
    let codes = Codes::read(bits, cache_bits)?;
    let pixels = width as usize * height as usize;
    let mut coded = Coded::new(width, cache_bits, pixels.next_power_of_two().min(WINDOW));
    let mut image = Vec::with_capacity(pixels);
    for _ in 0..height {
        coded.row(bits, |_, _| &codes, &mut image)?;
    }
    Ok(image)
}

/// Reads the size of the colour cache, as a power of 2. Returns 0 if there is none.
pub fn cache_bits<R: Read>(bits: &mut Bits<R>) -> Result<u32> {
    if bits.read(1)? == 0 {
        return Ok(0);
    }
    match bits.read(4)? {
        bits @ 1..=11 => Ok(bits),
        _ => Err(broken("the size of its colour cache is invalid")),
    }
}

impl Coded {
    pub fn new(width: u32, cache_bits: u32, window: usize) -> Self {
        let cache = if cache_bits > 0 { vec![0; 1 << cache_bits] } else { Vec::new() };
        let window = vec![0; window];
        Self { width, x: 0, y: 0, window, position: 0, copied: 0, distance: 0, cache, cache_bits }
    }

    /// Appends the next row of pixels to `row`. `codes` returns the codes for a column and row.
    pub fn row<'a, R: Read>(
        &mut self,
        bits: &mut Bits<R>,
        codes: impl Fn(u32, u32) -> &'a Codes,
        row: &mut Vec<u32>,
    ) -> Result<()> {
        let mask = self.window.len() - 1;
        self.x = 0;
        while self.x < self.width {
            if self.copied > 0 {
                self.copied -= 1;
                let pixel = self.window[self.position.wrapping_sub(self.distance) & mask];
                self.put(pixel, row);
                continue;
            }
            let codes = codes(self.x, self.y);
            let green = u32::from(codes.green.read(bits)?);
            match green {
                0..256 => {
                    let red = u32::from(codes.red.read(bits)?);
                    let blue = u32::from(codes.blue.read(bits)?);
                    let alpha = u32::from(codes.alpha.read(bits)?);
                    self.put(alpha << 24 | red << 16 | green << 8 | blue, row);
                }
                256..280 => {
                    self.copied = prefix_value(bits, green - 256)?;
                    let code = codes.distance.read(bits)?;
                    let number = prefix_value(bits, code.into())?;
                    self.distance = self.distance_of(number);
                    if self.distance > self.position.min(self.window.len()) {
                        return Err(broken("it refers to pixels before the first"));
                    }
                }
                _ => {
                    let Some(&pixel) = self.cache.get(green as usize - 280) else {
                        return Err(broken("it refers to a colour past the last"));
                    };
                    self.put(pixel, row);
                }
            }
        }
        self.y += 1;
        Ok(())
    }

    #[inline]
    fn put(&mut self, pixel: u32, row: &mut Vec<u32>) {
        let mask = self.window.len() - 1;
        self.window[self.position & mask] = pixel;
        self.position += 1;
        self.x += 1;
        if self.cache_bits > 0 {
            self.cache[(pixel.wrapping_mul(0x1e35_a7bd) >> (32 - self.cache_bits)) as usize] = pixel;
        }
        row.push(pixel);
    }

    /// Returns how far back the pixel with a number is.
    fn distance_of(&self, number: u32) -> usize {
        match NEAR.get(number as usize - 1) {
            Some(&(left, above)) => {
                (i64::from(left) + i64::from(above) * i64::from(self.width)).max(1) as usize
            }
            None => number as usize - NEAR.len(),
        }
    }
}

/// Reads a length or distance whose first bits are those of a symbol (3.6.2.2).
fn prefix_value<R: Read>(bits: &mut Bits<R>, symbol: u32) -> Result<u32> {
    if symbol < 4 {
        return Ok(symbol + 1);
    }
    let extra = (symbol - 2) >> 1;
    Ok(((2 + (symbol & 1)) << extra) + bits.read(extra)? + 1)
}

/// The prefix codes of the whole picture, by blocks of pixels.
///
/// Source: RFC 9649, 3.7.2.2.
pub struct Groups {
    groups: Vec<Codes>,
    /// Index of each block's group, row by row. Empty if there is one group.
    blocks: Vec<u16>,
    blocks_across: usize,
    /// Side of a block, as a power of 2.
    block_bits: u32,
}

impl Groups {
    /// Reads the codes, which may take up to `memory` bytes.
    pub fn read<R: Read>(
        bits: &mut Bits<R>,
        width: u32,
        height: u32,
        cache_bits: u32,
        memory: u64,
    ) -> Result<Self> {
        let (mut blocks, mut block_bits) = (Vec::new(), 0);
        if bits.read(1)? == 1 {
            block_bits = bits.read(3)? + 2;
            let image = decode_image(bits, blocks_in(width, block_bits), blocks_in(height, block_bits))?;
            blocks = image.into_iter().map(|pixel| (pixel >> 8) as u16).collect();
        }
        let count = blocks.iter().max().map_or(1, |&last| usize::from(last) + 1);
        let (mut groups, mut bytes) = (Vec::new(), 0);
        for _ in 0..count {
            let codes = Codes::read(bits, cache_bits)?;
            bytes += codes.bytes();
            if bytes > memory {
                return Err(Broken::TooLarge);
            }
            groups.push(codes);
        }
        Ok(Self { groups, blocks, blocks_across: blocks_in(width, block_bits) as usize, block_bits })
    }

    /// Returns the codes of a pixel.
    #[inline]
    pub fn at(&self, x: u32, y: u32) -> &Codes {
        let block = (y >> self.block_bits) as usize * self.blocks_across + (x >> self.block_bits) as usize;
        &self.groups[self.blocks.get(block).map_or(0, |&group| usize::from(group))]
    }
}
