//! Rice compression of integers. Differences of neighbours are stored in blocks, each with the number of low bits that
//! are stored directly.
//!
//! ```text
//! the first number, directly
//! a block   k: 5 bits (for numbers of 32 bits; 4 for 16, 3 for 8)
//!           0          all differences are 0
//!           26         differences of 32 bits, directly (15: of 16; 7: of 8)
//!           otherwise  for each difference: its high bits as a number of zeros, a one, then k - 1 low bits
//! ```
//! A difference of 0, -1, 1, -2 … is stored as 0, 1, 2, 3 … Source: FITS Standard 4.0, 10.4.1; Pence, Seaman, White,
//! "Lossless Astronomical Image Compression" (2009); cfitsio's `ricecomp.c` for the widths.

use super::FORMAT;
use super::cards::Header;
use crate::SourceError;

/// The parameters of the compression.
#[derive(Clone, Copy)]
pub struct Parameters {
    /// Numbers per block.
    block: usize,
    /// Bytes per number: 1, 2 or 4.
    bytes: u32,
}

impl Parameters {
    pub fn of(header: &Header) -> Self {
        let value = |name| {
            let index = (1..10).find(|index| header.text(&format!("ZNAME{index}")) == Some(name))?;
            header.integer(&format!("ZVAL{index}"))
        };
        let block = value("BLOCKSIZE").and_then(|block| usize::try_from(block).ok()).unwrap_or(32);
        let bytes = value("BYTEPIX").and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(4);
        Self { block: block.max(1), bytes: if matches!(bytes, 1 | 2) { bytes } else { 4 } }
    }
}

/// Reads bits, the highest first.
struct Bits<'a> {
    bytes: std::slice::Iter<'a, u8>,
    held: u64,
    count: u32,
}

impl Bits<'_> {
    /// Reads a number of at most 32 bits.
    fn take(&mut self, bits: u32) -> Option<u32> {
        while self.count < bits {
            self.held = self.held << 8 | u64::from(*self.bytes.next()?);
            self.count += 8;
        }
        self.count -= bits;
        let number = self.held >> self.count;
        self.held &= (1 << self.count) - 1;
        Some(number as u32)
    }

    /// Skips zeros and the one after them. Returns the number of zeros.
    fn zeros(&mut self) -> Option<u32> {
        let mut zeros = 0u32;
        while self.held == 0 {
            zeros = zeros.checked_add(self.count)?;
            self.held = u64::from(*self.bytes.next()?);
            self.count = 8;
        }
        let before = self.held.leading_zeros() - (64 - self.count);
        self.count -= before + 1;
        self.held &= (1 << self.count) - 1;
        zeros.checked_add(before)
    }
}

/// Decompresses a number of integers.
pub fn decompress(packed: &[u8], count: usize, parameters: Parameters) -> Result<Vec<i64>, SourceError> {
    numbers(packed, count, parameters).ok_or_else(|| FORMAT.corrupt("a tile is too short"))
}

fn numbers(packed: &[u8], count: usize, Parameters { block, bytes }: Parameters) -> Option<Vec<i64>> {
    let (width_bits, raw_width) = match bytes {
        1 => (3, 6),
        2 => (4, 14),
        _ => (5, 25),
    };
    let mut bits = Bits { bytes: packed.iter(), held: 0, count: 0 };
    let mut last = bits.take(bytes * 8)?;
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        let width = bits.take(width_bits)?.checked_sub(1);
        for _ in 0..block.min(count - numbers.len()) {
            let stored = match width {
                None => 0,
                Some(width) if width == raw_width => bits.take(bytes * 8)?,
                Some(width) => bits.zeros()?.checked_shl(width)? | bits.take(width)?,
            };
            let difference = if stored & 1 == 1 { !(stored >> 1) } else { stored >> 1 };
            last = last.wrapping_add(difference);
            numbers.push(match bytes {
                1 => i64::from(last as u8),
                2 => i64::from(last as u16 as i16),
                _ => i64::from(last as i32),
            });
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bits_are_read_first() {
        let mut bits = Bits { bytes: [0b1010_0000, 0, 0b0001_1111].iter(), held: 0, count: 0 };
        assert_eq!((bits.take(2), bits.zeros(), bits.take(0)), (Some(2), Some(0), Some(0)));
        assert_eq!((bits.zeros(), bits.take(4), bits.zeros()), (Some(16), Some(15), None));
    }

    #[test]
    fn differences_are_accumulated() {
        let parameters = Parameters { block: 2, bytes: 2 };
        // 5; a block of zeros; a block with one low bit, where 2 means 1 and 3 means -2.
        let packed = [0, 5, 0b0000_0010, 0b0100_1100];
        assert_eq!(numbers(&packed, 4, parameters), Some(vec![5, 5, 6, 4]));
        assert_eq!(numbers(&packed, 40, parameters), None);
    }
}
