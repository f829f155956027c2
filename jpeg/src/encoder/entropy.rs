//! Writes blocks as Huffman codes.
//!
//! The codes of two coefficients are joined before they are written, and each write stores eight bytes, which overwrite the
//! incomplete byte at the end. Both avoid branches, which the processor could not predict. The zero that must follow each byte
//! 0xff is inserted afterwards.
//!
//! Source: ITU-T T.81, sections F.1.2 and B.1.1.5.

use memchr::memchr_iter;
use std::mem;

use super::transform::{BLOCKS, Coefficients};
use crate::tables::Huffman;

/// Upper bound of a block's bytes: 63 coefficients of at most 26 bits and a first one of at most 22 take 208, and each write
/// stores 8.
const BLOCK_BYTES: usize = 256;

/// A Huffman code and the coefficient's own bits after it, which are zero in a table.
#[derive(Clone, Copy, Default)]
struct Code {
    bits: u32,
    /// Number of bits of both.
    length: u8,
}

/// Consecutive codes of at most 56 bits.
#[derive(Clone, Copy, Default)]
struct Pair {
    bits: u64,
    length: u32,
}

impl From<Code> for Pair {
    #[inline(always)]
    fn from(Code { bits, length }: Code) -> Self {
        Self { bits: bits.into(), length: length.into() }
    }
}

impl Pair {
    #[inline(always)]
    fn then(self, Code { bits, length }: Code) -> Self {
        Self { bits: self.bits << (length & 63) | u64::from(bits), length: self.length + u32::from(length) }
    }
}

/// Iterates over the nonzero coefficients: 16 times the distance to the previous one, and the coefficient's number.
struct Nonzero {
    mask: u64,
    /// 16 times the previous number.
    previous: usize,
}

impl Iterator for Nonzero {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.mask == 0 {
            return None;
        }
        let number = self.mask.trailing_zeros() as usize % 64;
        self.mask &= self.mask - 1;
        let distance = 16 * number - self.previous;
        self.previous = 16 * number;
        Some((distance, number))
    }
}

/// Returns true if more than 15 zeros precede a nonzero coefficient.
#[inline(always)]
fn has_long_run(nonzero: u64) -> bool {
    let mut near = nonzero | 1;
    for distance in [1, 2, 4, 8] {
        near |= near << distance;
    }
    nonzero & !(near << 1) != 0
}

/// Huffman codes of luma or chroma.
pub struct Codes {
    /// Codes of a block's first coefficient by its size in bits.
    dc: [Code; 16],
    /// Codes of the other coefficients, by 16 times the distance to the previous nonzero one plus the size in bits.
    bits: [u32; AC_CODES],
    lengths: [u8; AC_CODES],
    sixteen_zeros: Code,
    end_of_block: Code,
}

/// Entries of the lookup table, a power of two.
const AC_CODES: usize = 512;
/// 16 times the largest distance that has a code.
const LONGEST: usize = 16 * 16;

impl Codes {
    /// Makes lookup tables from Huffman tables.
    pub fn new(dc: &Huffman, ac: &Huffman) -> Self {
        let mut codes = Self {
            dc: [Code::default(); 16],
            bits: [0; AC_CODES],
            lengths: [0; AC_CODES],
            sixteen_zeros: Code::default(),
            end_of_block: Code::default(),
        };
        for (symbol, code) in codes_of(dc) {
            codes.dc[usize::from(symbol & 15)] = code;
        }
        for (symbol, code) in codes_of(ac) {
            match symbol {
                0x00 => codes.end_of_block = code,
                0xf0 => codes.sixteen_zeros = code,
                symbol => {
                    let place = 16 + usize::from(symbol);
                    (codes.bits[place], codes.lengths[place]) = (code.bits, code.length);
                }
            }
        }
        codes
    }

    /// Returns the code of a coefficient at most 16 places after the previous nonzero one.
    #[inline(always)]
    fn ac(&self, coefficients: &Coefficients, index: usize, distance: usize, number: usize) -> Code {
        let place = (distance + usize::from(coefficients.sizes.0[number][index])) % AC_CODES;
        let bits = self.bits[place] + u32::from(coefficients.bits.0[number][index]);
        Code { bits, length: self.lengths[place] }
    }
}

/// Returns all symbols and their codes: consecutive numbers, which get another zero bit at each greater length.
fn codes_of(table: &Huffman) -> impl Iterator<Item = (u8, Code)> {
    let lengths = (1..).zip(table.counts).flat_map(|(length, count)| (0..count).map(move |_| length));
    let (mut next, mut previous) = (0_u32, 0_u8);
    table.symbols.iter().zip(lengths).map(move |(&symbol, length)| {
        next <<= length - previous;
        (previous, next) = (length, next + 1);
        let size = symbol & 15;
        (symbol, Code { bits: (next - 1) << size, length: length + size })
    })
}

/// Bits that do not fill a byte yet.
#[derive(Clone, Copy, Default)]
pub struct PendingBits {
    /// From the highest bit on.
    bits: u64,
    count: u32,
}

/// Bytes of a row of MCUs, before a zero is inserted after each 0xff.
#[derive(Default)]
pub struct Scan {
    bytes: Vec<u8>,
    written: usize,
}

impl Scan {
    /// Reserves room for this number of blocks.
    pub fn reserve(&mut self, blocks: usize) {
        let wanted = self.written + (blocks + 1) * BLOCK_BYTES;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
    }

    /// Writes a block, for which room must be reserved. `previous_dc` is the first coefficient of the previous block.
    #[inline(always)]
    pub fn block(
        &mut self,
        pending: &mut PendingBits,
        codes: &Codes,
        coefficients: &Coefficients,
        index: usize,
        previous_dc: &mut i16,
    ) {
        let index = index % BLOCKS;
        let Some(mut out) = self.writer(*pending) else { return };
        let dc = coefficients.dc[index];
        let difference = i32::from(dc) - i32::from(*previous_dc);
        *previous_dc = dc;
        let size = u32::BITS - difference.unsigned_abs().leading_zeros();
        let bits = if difference < 0 { difference + (1 << size) - 1 } else { difference };
        let code = codes.dc[size as usize % 16];
        let mut one = Code { bits: code.bits + bits as u32, ..code };
        let [first, second, third, last] = coefficients.nonzero.map(|blocks| u64::from(blocks[index]));
        let nonzero = first | second << 16 | third << 32 | last << 48;
        let end = if last >> 15 == 0 { codes.end_of_block } else { Code::default() };
        let mut numbers = Nonzero { mask: nonzero, previous: 0 };
        if has_long_run(nonzero) {
            out.put(one.into());
            for (mut distance, number) in numbers {
                while distance > LONGEST {
                    out.put(codes.sixteen_zeros.into());
                    distance -= LONGEST;
                }
                out.put(codes.ac(coefficients, index, distance, number).into());
            }
            out.put(end.into());
        } else {
            // A pair is written after the next one has been looked up, so the lookup need not wait for the write position.
            let mut waiting = Pair::default();
            while let Some((distance, number)) = numbers.next() {
                let two = codes.ac(coefficients, index, distance, number);
                let pair = Pair::from(one).then(two);
                one = Code::default();
                out.put(mem::replace(&mut waiting, pair));
                let Some((distance, number)) = numbers.next() else { break };
                one = codes.ac(coefficients, index, distance, number);
            }
            out.put(waiting);
            out.put(Pair::from(one).then(end));
        }
        *pending = out.pending;
        self.written += out.written;
    }

    /// Writes a block that pads an MCU: its first coefficient equals that of the previous block, and the others are zero.
    pub fn empty_block(&mut self, pending: &mut PendingBits, codes: &Codes) {
        let Some(mut out) = self.writer(*pending) else { return };
        out.put(Pair::from(codes.dc[0]).then(codes.end_of_block));
        *pending = out.pending;
        self.written += out.written;
    }

    #[inline(always)]
    fn writer(&mut self, pending: PendingBits) -> Option<Writer<'_>> {
        let bytes = self.bytes.get_mut(self.written..)?.first_chunk_mut()?;
        Some(Writer { bytes, written: 0, pending })
    }

    /// Writes the pending bits as a byte, filled up with ones.
    pub fn finish(&mut self, pending: PendingBits) {
        if pending.count > 0 {
            self.reserve(0);
            self.bytes[self.written] = ((pending.bits | u64::MAX >> pending.count) >> 56) as u8;
            self.written += 1;
        }
    }

    /// Moves all bytes to a file, with a zero after each 0xff.
    pub fn move_to(&mut self, file: &mut Vec<u8>) {
        let bytes = &self.bytes[..self.written];
        let mut from = 0;
        for at in memchr_iter(0xff, bytes) {
            file.extend_from_slice(&bytes[from..=at]);
            file.push(0);
            from = at + 1;
        }
        file.extend_from_slice(&bytes[from..]);
        self.written = 0;
    }
}

/// Writes one block.
struct Writer<'a> {
    bytes: &'a mut [u8; BLOCK_BYTES],
    written: usize,
    pending: PendingBits,
}

impl Writer<'_> {
    /// Writes at most 56 bits.
    #[inline(always)]
    fn put(&mut self, Pair { bits, length }: Pair) {
        let Self { bytes, written, pending: PendingBits { bits: all, count } } = self;
        *count += length;
        *all |= bits.wrapping_shl(0_u32.wrapping_sub(*count));
        if let Some(to) = bytes.get_mut(*written..).and_then(|bytes| bytes.first_chunk_mut()) {
            *to = all.to_be_bytes();
        }
        *written += (*count / 8) as usize;
        *all = all.wrapping_shl(*count & !7);
        *count %= 8;
    }
}
