//! The bits of a lossless WebP and its prefix codes. As in Deflate, the first bit is the lowest.
//!
//! Source: RFC 9649, sections 3.2 and 3.7.2.

use std::io::{self, Read};

use crate::SourceError;
use crate::formats::webp::FORMAT;

/// Number of bits looked up at once; longer codes need a second look-up.
const ROOT_BITS: u32 = 9;
/// Number of bits of the longest code.
const MAX_BITS: u32 = 15;
/// Number of bytes read at once.
const BLOCK_BYTES: usize = 64 << 10;

pub type Result<T> = std::result::Result<T, Broken>;

/// The error of a lossless picture, small enough to be returned for each symbol.
#[derive(Debug)]
pub enum Broken {
    Io(io::Error),
    Corrupt(&'static str),
    TooLarge,
}

pub fn broken(reason: &'static str) -> Broken {
    Broken::Corrupt(reason)
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Broken> for SourceError {
    fn from(error: Broken) -> Self {
        match error {
            Broken::Io(error) => error.into(),
            Broken::Corrupt(reason) => FORMAT.corrupt(reason),
            Broken::TooLarge => FORMAT.unsupported("it has too many prefix codes"),
        }
    }
}

/// Reads bits from a file.
pub struct Bits<R> {
    file: R,
    block: Vec<u8>,
    next: usize,
    filled: usize,
    bits: u64,
    count: u32,
}

impl<R: Read> Bits<R> {
    pub fn new(file: R) -> Self {
        Self { file, block: vec![0; BLOCK_BYTES], next: 0, filled: 0, bits: 0, count: 0 }
    }

    /// Ensures that there are at least 32 bits. Beyond the end of the file they are zero, and not in `count`.
    fn fill(&mut self) -> io::Result<()> {
        while self.count <= 56 {
            if self.next == self.filled {
                self.filled = self.file.read(&mut self.block)?;
                self.next = 0;
                if self.filled == 0 {
                    return Ok(());
                }
            }
            let Some(&byte) = self.block.get(self.next) else { return Ok(()) };
            self.bits |= u64::from(byte) << self.count;
            self.next += 1;
            self.count += 8;
        }
        Ok(())
    }

    /// Reads the next bits, at most 32, as a number.
    pub fn read(&mut self, count: u32) -> Result<u32> {
        if self.count < count {
            self.fill()?;
        }
        let value = (self.bits & ((1 << count) - 1)) as u32;
        self.consume(count)?;
        Ok(value)
    }

    fn consume(&mut self, count: u32) -> Result<()> {
        if count > self.count {
            return Err(broken("it ends too early"));
        }
        self.bits >>= count;
        self.count -= count;
        Ok(())
    }
}

/// A prefix code.
pub struct PrefixCode {
    /// For each value of [`ROOT_BITS`] bits the symbol and the length of its code, or a table of longer codes and the length
    /// of the longest. Those tables follow.
    table: Vec<Entry>,
    root_bits: u32,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    /// A symbol, or the offset of a table.
    value: u16,
    /// Number of bits of the code; for a table, the bits that it looks up and [`ROOT_BITS`].
    bits: u8,
}

impl PrefixCode {
    /// Returns a code of one symbol, which takes no bits.
    pub fn single(symbol: u16) -> Self {
        Self { table: vec![Entry { value: symbol, bits: 0 }], root_bits: 0 }
    }

    /// Returns the code whose symbols have codes of these lengths. A symbol of length 0 does not occur.
    pub fn new(lengths: &[u8]) -> Result<Self> {
        let mut counts = [0_u32; MAX_BITS as usize + 1];
        for &length in lengths {
            *counts.get_mut(usize::from(length)).ok_or_else(|| broken("a code is too long"))? += 1;
        }
        counts[0] = 0;
        let longest = (1..=MAX_BITS).rev().find(|&length| counts[length as usize] > 0);
        let Some(longest) = longest else { return Err(broken("a code has no symbols")) };
        if counts.iter().sum::<u32>() == 1 {
            let symbol = lengths.iter().position(|&length| length > 0).unwrap_or_default();
            return Ok(Self::single(symbol as u16));
        }
        // Codes of one length are consecutive numbers, and follow those of the next shorter one.
        let mut next = [0_u32; MAX_BITS as usize + 2];
        for length in 1..=MAX_BITS as usize {
            next[length + 1] = (next[length] + counts[length]) << 1;
        }
        if next[longest as usize] + counts[longest as usize] != 1 << longest {
            return Err(broken("a prefix code is incomplete"));
        }
        let root_bits = longest.min(ROOT_BITS);
        let mut table = vec![Entry::default(); 1 << root_bits];
        let long_bits = longest - root_bits;
        for (symbol, &length) in lengths.iter().enumerate().filter(|&(_, &length)| length > 0) {
            let length = u32::from(length);
            let code = next[length as usize].reverse_bits() >> (32 - length);
            next[length as usize] += 1;
            let entry = Entry { value: symbol as u16, bits: length as u8 };
            if length <= root_bits {
                let step = 1 << length;
                table[code as usize..1 << root_bits].iter_mut().step_by(step).for_each(|slot| *slot = entry);
                continue;
            }
            let root = (code & ((1 << root_bits) - 1)) as usize;
            if table[root].bits == 0 {
                // At most 512 tables of 64 symbols follow the first one of 512.
                let value = table.len() as u16;
                table[root] = Entry { value, bits: (root_bits + long_bits) as u8 };
                table.resize(table.len() + (1 << long_bits), Entry::default());
            }
            let start = usize::from(table[root].value);
            let long = &mut table[start..start + (1 << long_bits)];
            let step = 1 << (length - root_bits);
            long[(code >> root_bits) as usize..].iter_mut().step_by(step).for_each(|slot| *slot = entry);
        }
        Ok(Self { table, root_bits })
    }

    /// Returns the size of the code in bytes.
    pub fn bytes(&self) -> u64 {
        size_of_val(self.table.as_slice()) as u64
    }

    /// Reads the next symbol.
    #[inline]
    pub fn read<R: Read>(&self, bits: &mut Bits<R>) -> Result<u16> {
        if bits.count < MAX_BITS {
            bits.fill()?;
        }
        let root = self.table[(bits.bits & ((1 << self.root_bits) - 1)) as usize];
        if u32::from(root.bits) <= self.root_bits {
            bits.consume(root.bits.into())?;
            return Ok(root.value);
        }
        let index = (bits.bits >> self.root_bits) & ((1 << (u32::from(root.bits) - self.root_bits)) - 1);
        let entry = self.table[usize::from(root.value) + index as usize];
        bits.consume(entry.bits.into())?;
        Ok(entry.value)
    }
}
