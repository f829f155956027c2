//! Rice's compression of whole numbers: the differences of neighbours, in blocks that say how many low bits are stored
//! as they are.
//!
//! ```text
//! the first number, as it is
//! a block   k: 5 bits (of numbers of 32 bits; 4 of 16, 3 of 8)
//!           0          all differences are 0
//!           26         differences as they are, of 32 bits (15: of 16; 7: of 8)
//!           otherwise  of each difference: as many zeros as its high bits say, a one, then k - 1 low bits
//! ```
//! A difference of 0, -1, 1, -2 … is stored as 0, 1, 2, 3 … Source: FITS Standard 4.0, 10.4.1; Pence, Seaman, White,
//! "Lossless Astronomical Image Compression" (2009); cfitsio's `ricecomp.c` for the widths.

use super::cards::Header;
use super::error::NAME;
use crate::SourceError;

#[derive(Clone, Copy)]
pub struct Parameters {
    /// The numbers of a block.
    block: usize,
    /// The bytes of a number: 1, 2 or 4.
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

/// Bits from the highest to the lowest.
struct Bits<'a> {
    bytes: std::slice::Iter<'a, u8>,
    held: u64,
    count: u32,
}

impl Bits<'_> {
    /// The next bits as a number; at most 32.
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

    /// How many zeros come before the next one, which is taken too.
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

/// Unpacks so many numbers.
pub fn unpack(packed: &[u8], count: usize, parameters: Parameters) -> Result<Vec<i64>, SourceError> {
    numbers(packed, count, parameters).ok_or_else(|| NAME.corrupt("a tile is too short"))
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
    fn bits_are_taken_from_the_highest() {
        let mut bits = Bits { bytes: [0b1010_0000, 0, 0b0001_1111].iter(), held: 0, count: 0 };
        assert_eq!((bits.take(2), bits.zeros(), bits.take(0)), (Some(2), Some(0), Some(0)));
        assert_eq!((bits.zeros(), bits.take(4), bits.zeros()), (Some(16), Some(15), None));
    }

    #[test]
    fn differences_are_added_up() {
        let parameters = Parameters { block: 2, bytes: 2 };
        // 5; a block of zeros; a block with one low bit: 2 is 1, 3 is -2.
        let packed = [0, 5, 0b0000_0010, 0b0100_1100];
        assert_eq!(numbers(&packed, 4, parameters), Some(vec![5, 5, 6, 4]));
        assert_eq!(numbers(&packed, 40, parameters), None);
    }
}
