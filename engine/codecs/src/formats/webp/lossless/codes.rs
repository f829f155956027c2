//! The description of the prefix codes of a lossless WebP.
//!
//! Source: RFC 9649, section 3.7.2.

use std::io::Read;

use super::bits::{Bits, PrefixCode, Result, broken};

/// Order of the lengths of the codes for lengths.
const ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The five codes of a pixel.
pub struct Codes {
    /// Green, lengths, and colours of the cache.
    pub green: PrefixCode,
    pub red: PrefixCode,
    pub blue: PrefixCode,
    pub alpha: PrefixCode,
    pub distance: PrefixCode,
}

/// Returns the number of blocks that hold `pixels` pixels.
pub fn blocks_in(pixels: u32, bits: u32) -> u32 {
    pixels.div_ceil(1 << bits)
}

impl Codes {
    pub fn read<R: Read>(bits: &mut Bits<R>, cache_bits: u32) -> Result<Self> {
        let colours = if cache_bits > 0 { 1 << cache_bits } else { 0 };
        Ok(Self {
            green: read_code(bits, 256 + 24 + colours)?,
            red: read_code(bits, 256)?,
            blue: read_code(bits, 256)?,
            alpha: read_code(bits, 256)?,
            distance: read_code(bits, 40)?,
        })
    }

    /// Returns their size in bytes.
    pub fn bytes(&self) -> u64 {
        let codes = [&self.green, &self.red, &self.blue, &self.alpha, &self.distance];
        codes.into_iter().map(PrefixCode::bytes).sum()
    }
}

/// Reads a code of `symbols` symbols.
fn read_code<R: Read>(bits: &mut Bits<R>, symbols: usize) -> Result<PrefixCode> {
    let mut lengths = vec![0; symbols];
    if bits.read(1)? == 1 {
        let count = bits.read(1)? + 1;
        let first_bits = if bits.read(1)? == 1 { 8 } else { 1 };
        let first = bits.read(first_bits)? as u16;
        if usize::from(first) >= symbols {
            return Err(broken("a prefix code has an unknown symbol"));
        }
        if count == 1 {
            return Ok(PrefixCode::single(first));
        }
        let second = bits.read(8)? as usize;
        lengths[usize::from(first)] = 1;
        *lengths.get_mut(second).ok_or_else(|| broken("a prefix code has an unknown symbol"))? = 1;
        return PrefixCode::new(&lengths);
    }
    let mut length_lengths = [0; ORDER.len()];
    let count = bits.read(4)? as usize + 4;
    for &place in ORDER.iter().take(count) {
        length_lengths[place] = bits.read(3)? as u8;
    }
    let length_code = PrefixCode::new(&length_lengths)?;
    let mut left = symbols;
    if bits.read(1)? == 1 {
        let count_bits = 2 + 2 * bits.read(3)?;
        left = 2 + bits.read(count_bits)? as usize;
    }
    let (mut next, mut last) = (0, 8);
    while next < symbols && left > 0 {
        left -= 1;
        let symbol = length_code.read(bits)? as u8;
        let (length, count) = match symbol {
            0..16 => (symbol, 1),
            16 => (last, 3 + bits.read(2)?),
            17 => (0, 3 + bits.read(3)?),
            _ => (0, 11 + bits.read(7)?),
        };
        if (1..16).contains(&symbol) {
            last = symbol;
        }
        let end = next + count as usize;
        let Some(run) = lengths.get_mut(next..end) else {
            return Err(broken("a prefix code has too many symbols"));
        };
        run.fill(length);
        next = end;
    }
    PrefixCode::new(&lengths)
}
