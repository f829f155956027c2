//! Blocks as tokens: what Huffman codes will stand for, once the file's own tables are known.
//!
//! A token has 16 bits, so that the tokens of all unfinished files fit into memory:
//!
//! ```text
//! kind (1)    symbol (8)    value (7)      kind: 0 for luma, 1 for chroma
//! ```
//! The symbol of a coefficient has the number of preceding zeros in its upper half and its size in bits in its lower half. Symbols
//! that baseline JPEG does not use stand for sizes of first coefficients, and for the rest of a value of more than 7 bits.
//!
//! Source: ITU-T T.81, section F.1.2.

use super::transform::{BLOCKS, Coefficients};

/// Number of bits of a value in a token.
pub const VALUE_BITS: u32 = 7;
/// Number of different kinds and symbols.
pub const SYMBOLS: usize = 512;
/// Lower half of the symbols of first coefficients, whose upper half is the size.
pub const FIRST: u16 = 0x0b;
/// Symbol of the last 7 bits of a value. It has no code.
pub const REST: u16 = 0x0c;
const SIXTEEN_ZEROS: u16 = 0xf0;
const END_OF_BLOCK: u16 = 0x00;

/// Room for a block: two tokens for each coefficient, rounded up to a power of two.
const BLOCK_TOKENS: usize = 256;

/// Luma or chroma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Luma = 0,
    Chroma = 1,
}

/// Tokens of a row of MCUs.
#[derive(Default)]
pub struct RowTokens {
    tokens: Vec<u16>,
    written: usize,
}

impl RowTokens {
    /// Reserves room for this number of blocks.
    pub fn reserve(&mut self, blocks: usize) {
        let wanted = self.written + (blocks + 1) * BLOCK_TOKENS;
        if self.tokens.len() < wanted {
            self.tokens.resize(wanted, 0);
        }
    }

    /// Adds a block, for which room must be reserved. `previous_dc` is the first coefficient of the previous block.
    #[inline(always)]
    pub fn block(&mut self, kind: Kind, coefficients: &Coefficients, index: usize, previous_dc: &mut i16) {
        let index = index % BLOCKS;
        let Some(mut out) = self.writer(kind) else { return };
        let dc = coefficients.dc[index];
        let difference = i32::from(dc) - i32::from(*previous_dc);
        *previous_dc = dc;
        let size = u32::BITS - difference.unsigned_abs().leading_zeros();
        let bits = if difference < 0 { difference + (1 << size) - 1 } else { difference };
        out.put((size as u16) << 4 | FIRST, size as u16, bits as u16);
        let [first, second, third, last] = coefficients.nonzero.map(|blocks| u64::from(blocks[index]));
        let mut nonzero = first | second << 16 | third << 32 | last << 48;
        let mut next = 1;
        while nonzero != 0 {
            let number = nonzero.trailing_zeros() % 64;
            nonzero &= nonzero - 1;
            let mut zeros = number.wrapping_sub(next);
            next = number + 1;
            while zeros > 15 {
                out.put(SIXTEEN_ZEROS, 0, 0);
                zeros -= 16;
            }
            let size = u16::from(coefficients.sizes.0[number as usize][index]);
            out.put((zeros as u16) << 4 | size, size, coefficients.bits.0[number as usize][index]);
        }
        if last >> 15 == 0 {
            out.put(END_OF_BLOCK, 0, 0);
        }
        self.written += out.written;
    }

    /// Adds a block that pads an MCU: its first coefficient equals that of the previous block, and the others are zero.
    pub fn empty_block(&mut self, kind: Kind) {
        let Some(mut out) = self.writer(kind) else { return };
        out.put(FIRST, 0, 0);
        out.put(END_OF_BLOCK, 0, 0);
        self.written += out.written;
    }

    #[inline(always)]
    fn writer(&mut self, kind: Kind) -> Option<Writer<'_>> {
        let tokens = self.tokens.get_mut(self.written..)?.first_chunk_mut()?;
        Some(Writer { tokens, written: 0, kind: (kind as u16) << 15 })
    }

    /// Returns the tokens.
    pub fn tokens(&self) -> &[u16] {
        &self.tokens[..self.written]
    }

    /// Removes the tokens.
    pub fn clear(&mut self) {
        self.written = 0;
    }
}

/// Adds the tokens of one block.
struct Writer<'a> {
    tokens: &'a mut [u16; BLOCK_TOKENS],
    written: usize,
    kind: u16,
}

impl Writer<'_> {
    /// Adds a symbol and the bits that follow its code.
    #[inline(always)]
    fn put(&mut self, symbol: u16, size: u16, bits: u16) {
        let token = self.kind | symbol << VALUE_BITS;
        if u32::from(size) <= VALUE_BITS {
            self.push(token | bits);
        } else {
            self.push(token | bits >> VALUE_BITS);
            self.push(self.kind | REST << VALUE_BITS | bits & 0x7f);
        }
    }

    #[inline(always)]
    fn push(&mut self, token: u16) {
        self.tokens[self.written % BLOCK_TOKENS] = token;
        self.written += 1;
    }
}

/// Stored tokens of a file, in blocks that files reuse.
#[derive(Default)]
pub struct StoredTokens {
    blocks: Vec<Vec<u16>>,
}

/// Blocks that no file uses, and the number of blocks that may still be made.
pub struct Spare {
    pub blocks: Vec<Vec<u16>>,
    pub left: usize,
}

impl StoredTokens {
    /// Tokens of a block.
    pub const BLOCK: usize = 4096;

    /// Adds tokens. Returns false if there are too few spare blocks.
    pub fn add(&mut self, mut tokens: &[u16], spare: &mut Spare) -> bool {
        let room = self.blocks.last().map_or(0, |block| Self::BLOCK - block.len());
        let wanted = tokens.len().saturating_sub(room).div_ceil(Self::BLOCK);
        if wanted > spare.blocks.len() + spare.left {
            return false;
        }
        while !tokens.is_empty() {
            if let Some(block) = self.blocks.last_mut().filter(|block| block.len() < Self::BLOCK) {
                let (now, later) = tokens.split_at(tokens.len().min(Self::BLOCK - block.len()));
                block.extend_from_slice(now);
                tokens = later;
            } else if let Some(block) = spare.blocks.pop() {
                self.blocks.push(block);
            } else {
                spare.left = spare.left.saturating_sub(1);
                self.blocks.push(Vec::with_capacity(Self::BLOCK));
            }
        }
        true
    }

    /// Iterates over the tokens.
    pub fn parts(&self) -> impl Iterator<Item = &[u16]> {
        self.blocks.iter().map(Vec::as_slice)
    }

    /// Removes the tokens and returns the blocks.
    pub fn clear(&mut self, spare: &mut Spare) {
        for mut block in self.blocks.drain(..) {
            block.clear();
            spare.blocks.push(block);
        }
    }
}
