//! The bits of a stream, from the lowest of each byte.

use std::mem;

/// Bytes whose first bits are in a word.
pub struct Bits<'a> {
    /// The bytes that are not in the word.
    pub input: &'a [u8],
    /// The next bits, from the lowest. Above those that count may be bits of the input.
    pub word: u64,
    /// How many of them count.
    pub have: u32,
}

impl<'a> Bits<'a> {
    /// How many bits [`Self::refill`] provides, if the input has them.
    pub const FULL: u32 = 56;

    pub fn new(input: &'a [u8]) -> Self {
        Self { input, word: 0, have: 0 }
    }

    /// Fills the word.
    pub fn refill(&mut self) {
        if let Some(next) = self.input.first_chunk() {
            self.word |= u64::from_le_bytes(*next) << self.have;
            self.input = self.input.get(Self::bytes_taken(self.have)..).unwrap_or_default();
            self.have |= Self::FULL;
            return;
        }
        while self.have <= Self::FULL
            && let [next, later @ ..] = self.input
        {
            self.word |= u64::from(*next) << self.have;
            self.input = later;
            self.have += 8;
        }
    }

    /// How many bytes fit into a word that has so many bits, less than 64.
    pub fn bytes_taken(have: u32) -> usize {
        ((63 - have) >> 3) as usize
    }

    /// Takes as many bits, at most 16. `None` if there are no more.
    pub fn take(&mut self, count: u32) -> Option<usize> {
        if self.have < count {
            self.refill();
        }
        let taken = self.word & ((1 << count) - 1);
        self.skip(count)?;
        Some(taken as usize)
    }

    /// Skips bits of the word. `None` if it has less.
    pub fn skip(&mut self, count: u32) -> Option<()> {
        self.have = self.have.checked_sub(count)?;
        self.word >>= count;
        Some(())
    }

    /// What is left, for a loop of its own.
    pub fn take_all(&mut self) -> Self {
        mem::replace(self, Self::new(&[]))
    }

    /// Goes to the next byte, and returns the input from there.
    pub fn bytes(&mut self, whole: &'a [u8]) -> &'a [u8] {
        let left = self.input.len() + (self.have / 8) as usize;
        *self = Self::new(whole.get(whole.len() - left..).unwrap_or_default());
        self.input
    }
}
