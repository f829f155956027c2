//! Blocks as tokens: what Huffman codes will stand for, once the file's own tables are known.
//!
//! A token has 16 bits, so that the tokens of all unfinished files fit into memory, and few of their values occur, so
//! that a table with the bits of each is small:
//!
//! ```text
//! 000   kind (1)   zeros (4)   value (8)        a coefficient, and the number of zeros before it
//! 001 0000 0       kind (1)    difference (8)   a first coefficient
//! 001 0001 0       kind (1)    zeros (5)   size - 8 (2)     either of more than 8 bits, without its value; 16 zeros: a first one
//! 001 0001 1       1 and up to 7 bits           a part of its value
//! ```
//! A value of 0 after 0 zeros ends a block, and after 15 it stands for 16 zeros.
//!
//! Source: ITU-T T.81, section F.1.2.

use std::mem;
use std::ops::Range;

use super::transform::{BLOCKS, Coefficients};

/// Number of different tokens.
pub const TOKENS: usize = 0x2400;
/// Tokens of luma's first coefficients, and of its values of 8 bits and more. Those of chroma follow.
pub const FIRST: usize = 0x2000;
pub const LONG: usize = 0x2200;
/// Tokens of bits without a code, and the maximum number of bits.
pub const BITS: usize = 0x2300;
pub const MOST_BITS: u32 = 7;
/// Number of zeros in a long token of a first coefficient.
pub const IS_FIRST: usize = 16;
/// Token of 16 zeros.
const SIXTEEN_ZEROS: u16 = 15 << 8;
/// Largest value of a short token.
pub const LARGEST: u16 = 127;

/// Room for a block: three tokens for each coefficient, rounded up to a power of two.
const BLOCK_TOKENS: usize = 256;

/// Luma or chroma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Luma = 0,
    Chroma = 1,
}

impl Kind {
    fn of_component(component: usize) -> Self {
        if component == 0 { Self::Luma } else { Self::Chroma }
    }
}

/// Frequencies of the tokens in a file.
#[derive(Clone)]
pub struct Frequencies(pub [u32; TOKENS]);

impl Default for Frequencies {
    fn default() -> Self {
        Self([0; TOKENS])
    }
}

impl Frequencies {
    /// Sets all to zero.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }
}

/// Counts tokens.
pub trait Counter {
    fn count(&mut self, token: u16);
}

impl Counter for Frequencies {
    #[inline(always)]
    fn count(&mut self, token: u16) {
        if let Some(count) = self.0.get_mut(usize::from(token)) {
            *count += 1;
        }
    }
}

/// For tokens whose frequencies nobody needs.
pub struct Uncounted;

impl Counter for Uncounted {
    #[inline(always)]
    fn count(&mut self, _token: u16) {}
}

/// Receives the blocks of MCUs in their order.
pub trait BlockSink {
    /// Adds a block. `previous_dc` is the first coefficient of the previous block.
    fn block(&mut self, kind: Kind, coefficients: &Coefficients, index: usize, previous_dc: &mut i16);

    /// Adds a block that pads an MCU: its first coefficient equals that of the previous block, and the others are zero.
    fn empty_block(&mut self, kind: Kind);
}

/// Stores blocks as tokens and counts these.
pub struct Counted<'a> {
    pub row: &'a mut RowTokens,
    pub frequencies: &'a mut Frequencies,
}

impl BlockSink for Counted<'_> {
    #[inline(always)]
    fn block(&mut self, kind: Kind, coefficients: &Coefficients, index: usize, previous_dc: &mut i16) {
        self.row.block(kind, coefficients, index, previous_dc, self.frequencies);
    }

    fn empty_block(&mut self, kind: Kind) {
        self.row.empty_block(kind, self.frequencies);
    }
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

    /// Adds a block, for which room must be reserved, and counts its tokens. `previous_dc` is the first coefficient of
    /// the previous block.
    #[inline(always)]
    pub fn block<C: Counter>(
        &mut self,
        kind: Kind,
        coefficients: &Coefficients,
        index: usize,
        previous_dc: &mut i16,
        counter: &mut C,
    ) {
        let index = index % BLOCKS;
        let dc = coefficients.values.0[0][index];
        let difference = dc.wrapping_sub(*previous_dc);
        *previous_dc = dc;
        if coefficients.magnitudes[index] > LARGEST {
            return self.long_block(kind, coefficients, index, Some(difference), counter);
        }
        let Some(out) = self.writer(kind, counter) else { return };
        self.written += out.first(difference).short_others(coefficients, index);
    }

    /// Adds a block with long values, without its first coefficient if there is no difference. Apart from the others,
    /// so that these need not keep their state in memory for it.
    #[cold]
    #[inline(never)]
    fn long_block<C: Counter>(
        &mut self,
        kind: Kind,
        coefficients: &Coefficients,
        index: usize,
        difference: Option<i16>,
        counter: &mut C,
    ) {
        let Some(mut out) = self.writer(kind, counter) else { return };
        if let Some(difference) = difference {
            out = out.first(difference);
        }
        self.written += out.long_others(coefficients, index);
    }

    /// Adds a block without its first coefficient. Room must be reserved.
    #[inline(always)]
    fn rest_of_block(&mut self, kind: Kind, coefficients: &Coefficients, index: usize) {
        let (index, counter) = (index % BLOCKS, &mut Uncounted);
        if coefficients.magnitudes[index] > LARGEST {
            return self.long_block(kind, coefficients, index, None, counter);
        }
        let Some(out) = self.writer(kind, counter) else { return };
        self.written += out.short_others(coefficients, index);
    }

    /// Adds a block that pads an MCU.
    pub fn empty_block<C: Counter>(&mut self, kind: Kind, counter: &mut C) {
        let Some(out) = self.writer(kind, counter) else { return };
        let mut out = out.first(0);
        out.end();
        self.written += out.written;
    }

    /// Adds the tokens of MCUs. `previous_dc` are the first coefficients of the blocks before them.
    pub fn mcus<C: Counter>(&mut self, mcus: Mcus<'_>, previous_dc: &mut [i16; 3], counter: &mut C) {
        let Mcus { tokens, run } = mcus;
        let end = run.end as usize;
        let mut copied = run.begin as usize;
        self.reserve((end - copied) / BLOCK_TOKENS + 2);
        let first = run.first.iter().zip(previous_dc.iter()).take(run.components);
        for (component, (&(at, dc), previous)) in first.enumerate() {
            let at = at as usize;
            self.copy(&tokens[copied..at], counter);
            copied = at;
            let Some(out) = self.writer(Kind::of_component(component), counter) else { return };
            self.written += out.first(dc.wrapping_sub(*previous)).written;
        }
        self.copy(&tokens[copied..end], counter);
        *previous_dc = run.last;
    }

    fn copy<C: Counter>(&mut self, tokens: &[u16], counter: &mut C) {
        self.tokens[self.written..][..tokens.len()].copy_from_slice(tokens);
        self.written += tokens.len();
        tokens.iter().for_each(|token| counter.count(*token));
    }

    #[inline(always)]
    fn writer<'a, C: Counter>(&'a mut self, kind: Kind, counter: &'a mut C) -> Option<Writer<'a, C>> {
        let tokens = self.tokens.get_mut(self.written..)?.first_chunk_mut()?;
        Some(Writer { tokens, written: 0, kind: kind as u16, counter })
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
struct Writer<'a, C> {
    tokens: &'a mut [u16; BLOCK_TOKENS],
    written: usize,
    kind: u16,
    counter: &'a mut C,
}

impl<C: Counter> Writer<'_, C> {
    /// Adds a first coefficient's difference from the previous one.
    #[inline(always)]
    fn first(mut self, difference: i16) -> Self {
        if difference.unsigned_abs() <= LARGEST {
            self.push(FIRST as u16 | self.kind << 8 | difference as u16 & 0xff);
            self
        } else {
            self.long(IS_FIRST as u16, difference)
        }
    }

    /// Adds the other coefficients, if none is long. Returns the number of the block's tokens.
    #[inline(always)]
    fn short_others(mut self, coefficients: &Coefficients, index: usize) -> usize {
        let mut nonzero = nonzero(coefficients, index);
        if has_long_run(nonzero) {
            return self.long_others(coefficients, index);
        }
        let (first, count) = (self.written, nonzero.count_ones() as usize);
        let ends_early = nonzero >> 63 == 0;
        // A chroma token has 16 zeros more.
        let more = 16 * u32::from(self.kind);
        let mut next = 1_u32.wrapping_sub(more);
        // In fours: the processor predicts the end of a short loop better. What is stored past the last token is
        // overwritten.
        for four in 0..count.div_ceil(4) {
            for part in 0..4 {
                let number = nonzero.trailing_zeros() % 64;
                nonzero &= nonzero.wrapping_sub(1);
                let zeros = number.wrapping_sub(next);
                next = (number + 1).wrapping_sub(more);
                let value = coefficients.values.0[number as usize][index] as u8;
                let token = ((zeros % 32) << 8) as u16 | u16::from(value);
                self.tokens[(first + 4 * four + part) % BLOCK_TOKENS] = token;
            }
        }
        self.written += count;
        for at in first..self.written {
            self.counter.count(self.tokens[at % BLOCK_TOKENS]);
        }
        if ends_early {
            self.end();
        }
        self.written
    }

    /// Adds the other coefficients, of which some may be long or follow more than 15 zeros.
    #[cold]
    #[inline(never)]
    fn long_others(mut self, coefficients: &Coefficients, index: usize) -> usize {
        let nonzero = nonzero(coefficients, index);
        let mut zeros = 0;
        for (number, values) in coefficients.values.0.iter().enumerate().skip(1) {
            let value = values[index];
            if nonzero >> number & 1 == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 {
                self.push(self.kind << 12 | SIXTEEN_ZEROS);
                zeros -= 16;
            }
            if value.unsigned_abs() <= LARGEST {
                self.push(self.kind << 12 | zeros << 8 | value as u16 & 0xff);
            } else {
                self = self.long(zeros, value);
            }
            zeros = 0;
        }
        if zeros > 0 {
            self.end();
        }
        self.written
    }

    /// Adds a value of 8 bits or more.
    #[cold]
    #[inline(never)]
    fn long(mut self, zeros: u16, value: i16) -> Self {
        let size = i16::BITS - value.unsigned_abs().leading_zeros();
        self.push(LONG as u16 | self.kind << 7 | zeros << 2 | (size - 8) as u16 & 3);
        let (value, rest) = (bits(value), size - MOST_BITS);
        self.push(BITS as u16 | 1 << rest | value >> MOST_BITS);
        self.push(BITS as u16 | 1 << MOST_BITS | value & 0x7f);
        self
    }

    #[inline(always)]
    fn end(&mut self) {
        self.push(self.kind << 12);
    }

    #[inline(always)]
    fn push(&mut self, token: u16) {
        self.tokens[self.written % BLOCK_TOKENS] = token;
        self.written += 1;
        self.counter.count(token);
    }
}

/// Returns the mask of a block's nonzero coefficients.
#[inline(always)]
pub fn nonzero(coefficients: &Coefficients, index: usize) -> u64 {
    let [first, second, third, last] = &coefficients.nonzero;
    u64::from(first[index])
        | u64::from(second[index]) << 16
        | u64::from(third[index]) << 32
        | u64::from(last[index]) << 48
}

/// Returns true if more than 15 zeros precede a nonzero coefficient.
#[inline(always)]
pub fn has_long_run(nonzero: u64) -> bool {
    let mut near = nonzero | 1;
    for distance in [1, 2, 4, 8] {
        near |= near << distance;
    }
    nonzero & !(near << 1) != 0
}

/// Returns the bits that follow a value's code: the value, or the value minus one if it is negative, cut to its size.
fn bits(value: i16) -> u16 {
    let size = i16::BITS - value.unsigned_abs().leading_zeros();
    if value < 0 { (value as u16).wrapping_sub(1) & ((1 << size) - 1) } else { value as u16 }
}

/// Blocks of MCUs beside each other, as tokens.
#[derive(Debug, Default)]
pub struct Piece {
    /// Columns of MCUs.
    pub mcus: Range<u32>,
    tokens: Vec<u16>,
    /// All MCUs, or each alone if the picture is turned.
    runs: Vec<Run>,
}

/// MCUs that follow each other in a file. The tokens of the first blocks' first coefficients are missing, because they
/// depend on the MCU before, which another thread may have.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Its tokens among those of the piece.
    begin: u32,
    end: u32,
    components: usize,
    /// For each component, the number of the piece's tokens before the first block's first coefficient, and that
    /// coefficient.
    first: [(u32, i16); 3],
    /// The last block's first coefficient of each component.
    last: [i16; 3],
}

/// MCUs of a piece that follow each other in a file.
#[derive(Clone, Copy)]
pub struct Mcus<'a> {
    tokens: &'a [u16],
    run: &'a Run,
}

impl Piece {
    /// Iterates over the MCUs: all of them at once, or one by one if the picture is turned.
    pub fn runs(&self) -> impl Iterator<Item = Mcus<'_>> {
        self.runs.iter().map(|run| Mcus { tokens: &self.tokens, run })
    }
}

/// Makes pieces, one after the other.
#[derive(Default)]
pub struct PieceMaker {
    row: RowTokens,
    runs: Vec<Run>,
    run: Run,
}

impl PieceMaker {
    /// Reserves room for this number of blocks.
    pub fn reserve(&mut self, blocks: usize) {
        self.row.reserve(blocks);
    }

    /// Adds a block of a component, for which room must be reserved. The components of an MCU follow each other.
    #[inline(always)]
    pub fn block(&mut self, component: usize, coefficients: &Coefficients, index: usize) {
        let Self { row, run, .. } = self;
        let Some(last) = run.last.get_mut(component) else { return };
        let kind = Kind::of_component(component);
        if component < run.components {
            row.block(kind, coefficients, index, last, &mut Uncounted);
        } else {
            *last = coefficients.values.0[0][index % BLOCKS];
            run.first[component] = (row.written as u32, *last);
            run.components += 1;
            row.rest_of_block(kind, coefficients, index);
        }
    }

    /// Ends the MCUs that follow each other.
    pub fn end_run(&mut self) {
        let end = self.row.written as u32;
        self.runs.push(Run { end, ..self.run });
        self.run = Run { begin: end, ..Run::default() };
    }

    /// Returns the piece of these MCUs, whose last run must have ended, and begins the next one.
    pub fn finish(&mut self, mcus: Range<u32>) -> Piece {
        let tokens = self.row.tokens().to_vec();
        self.row.clear();
        self.run = Run::default();
        let room = self.runs.len();
        Piece { mcus, tokens, runs: mem::replace(&mut self.runs, Vec::with_capacity(room)) }
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

    /// Returns the number of tokens.
    pub fn count(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * Self::BLOCK + last
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
