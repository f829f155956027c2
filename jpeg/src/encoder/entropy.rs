//! Huffman codes of blocks, and the bits that they are written as.
//!
//! Two coefficients are put together before they are written, and bits are written eight bytes at a time, over what is not
//! complete yet: both without branches, as what comes next cannot be predicted. A byte 0xff, which has a zero behind it in the file,
//! is looked for afterwards.
//!
//! Source: ITU-T T.81, sections F.1.2 and B.1.1.5.

use memchr::memchr_iter;
use std::mem;

use super::tables::Huffman;
use super::transform::{BLOCKS, Coefficients};

/// Room for the bytes of a block: 63 coefficients of at most 26 bits and a first one of at most 22 take 208, and eight more are
/// written at once.
const BLOCK_BYTES: usize = 256;

/// A code, and the bits behind it as zeros.
#[derive(Clone, Copy, Default)]
struct Code {
    bits: u32,
    /// Of all.
    length: u8,
}

/// Codes one behind the other, of at most 56 bits.
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

/// The coefficients that are not zero: how far each is from the one before, times 16, and which it is.
struct Numbers {
    nonzero: u64,
    before: usize,
}

impl Iterator for Numbers {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.nonzero == 0 {
            return None;
        }
        let number = self.nonzero.trailing_zeros() as usize % 64;
        self.nonzero &= self.nonzero - 1;
        let distance = 16 * number - self.before;
        self.before = 16 * number;
        Some((distance, number))
    }
}

/// Whether more than 15 zeros come between two coefficients, or the first one and another.
#[inline(always)]
fn has_many_zeros(nonzero: u64) -> bool {
    let mut near = nonzero | 1;
    for distance in [1, 2, 4, 8] {
        near |= near << distance;
    }
    nonzero & !(near << 1) != 0
}

/// The codes of luma or chroma.
pub struct Codes {
    /// Of the first coefficient of a block, by its size.
    dc: [Code; 16],
    /// Of the others, by 16 times their distance to the last one that is not zero, and their size.
    bits: [u32; AC_CODES],
    lengths: [u8; AC_CODES],
    sixteen_zeros: Code,
    end_of_block: Code,
}

/// Those that can be looked up: a power of two.
const AC_CODES: usize = 512;
/// The largest distance, times 16, that is one code.
const LARGEST: usize = 16 * 16;

impl Codes {
    /// The codes of Huffman tables.
    pub fn new(dc: &Huffman, ac: &Huffman) -> Self {
        let mut codes = Self {
            dc: [Code::default(); 16],
            bits: [0; AC_CODES],
            lengths: [0; AC_CODES],
            sixteen_zeros: Code::default(),
            end_of_block: Code::default(),
        };
        for (symbol, code) in all(dc) {
            codes.dc[usize::from(symbol & 15)] = code;
        }
        for (symbol, code) in all(ac) {
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

    /// The code of a coefficient, not far from the one before.
    #[inline(always)]
    fn ac(&self, coefficients: &Coefficients, index: usize, distance: usize, number: usize) -> Code {
        let place = (distance + usize::from(coefficients.sizes.0[number][index])) % AC_CODES;
        let bits = self.bits[place] + u32::from(coefficients.bits.0[number][index]);
        Code { bits, length: self.lengths[place] }
    }
}

/// All symbols and their codes: numbers that follow one another, with a zero bit more for each further length.
fn all(table: &Huffman) -> impl Iterator<Item = (u8, Code)> {
    let lengths = (1..).zip(table.counts).flat_map(|(length, count)| (0..count).map(move |_| length));
    let (mut next, mut before) = (0_u32, 0_u8);
    table.symbols.iter().zip(lengths).map(move |(&symbol, length)| {
        next <<= length - before;
        (before, next) = (length, next + 1);
        let size = symbol & 15;
        (symbol, Code { bits: (next - 1) << size, length: length + size })
    })
}

/// The bits that have no byte of their own yet.
#[derive(Clone, Copy, Default)]
pub struct Rest {
    /// From the highest.
    bits: u64,
    count: u32,
}

/// The bytes of a row of MCUs, as they are before zeros are put behind 0xff.
#[derive(Default)]
pub struct Scan {
    bytes: Vec<u8>,
    written: usize,
}

impl Scan {
    /// Makes room for as many blocks more.
    pub fn reserve(&mut self, blocks: usize) {
        let wanted = self.written + (blocks + 1) * BLOCK_BYTES;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
    }

    /// Writes a block, for which there must be room. `before` is the first coefficient of the one before.
    #[inline(always)]
    pub fn block(
        &mut self,
        rest: &mut Rest,
        codes: &Codes,
        coefficients: &Coefficients,
        index: usize,
        before: &mut i16,
    ) {
        let index = index % BLOCKS;
        let Some(mut out) = self.room(*rest) else { return };
        let dc = coefficients.dc[index];
        let difference = i32::from(dc) - i32::from(*before);
        *before = dc;
        let size = u32::BITS - difference.unsigned_abs().leading_zeros();
        let bits = if difference < 0 { difference + (1 << size) - 1 } else { difference };
        let code = codes.dc[size as usize % 16];
        let mut one = Code { bits: code.bits + bits as u32, ..code };
        let [first, second, third, last] = coefficients.nonzero.map(|blocks| u64::from(blocks[index]));
        let nonzero = first | second << 16 | third << 32 | last << 48;
        let end = if last >> 15 == 0 { codes.end_of_block } else { Code::default() };
        let mut numbers = Numbers { nonzero, before: 0 };
        if has_many_zeros(nonzero) {
            out.put(one.into());
            for (mut distance, number) in numbers {
                while distance > LARGEST {
                    out.put(codes.sixteen_zeros.into());
                    distance -= LARGEST;
                }
                out.put(codes.ac(coefficients, index, distance, number).into());
            }
            out.put(end.into());
        } else {
            // Written when the next ones have been looked up, which otherwise would wait until it is known where this goes.
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
        *rest = out.rest;
        self.written += out.written;
    }

    /// Writes a block that only fills an MCU: its first coefficient is that of the one before, and the others are zero.
    pub fn empty_block(&mut self, rest: &mut Rest, codes: &Codes) {
        let Some(mut out) = self.room(*rest) else { return };
        out.put(Pair::from(codes.dc[0]).then(codes.end_of_block));
        *rest = out.rest;
        self.written += out.written;
    }

    #[inline(always)]
    fn room(&mut self, rest: Rest) -> Option<Writer<'_>> {
        let bytes = self.bytes.get_mut(self.written..)?.first_chunk_mut()?;
        Some(Writer { bytes, written: 0, rest })
    }

    /// Writes what is left as a byte: what a byte has more than that is ones.
    pub fn finish(&mut self, rest: Rest) {
        if rest.count > 0 {
            self.reserve(0);
            self.bytes[self.written] = ((rest.bits | u64::MAX >> rest.count) >> 56) as u8;
            self.written += 1;
        }
    }

    /// Appends all to a file, with a zero behind each 0xff.
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

/// The bytes of a block.
struct Writer<'a> {
    bytes: &'a mut [u8; BLOCK_BYTES],
    written: usize,
    rest: Rest,
}

impl Writer<'_> {
    /// Writes bits, at most 56.
    #[inline(always)]
    fn put(&mut self, Pair { bits, length }: Pair) {
        let Self { bytes, written, rest: Rest { bits: all, count } } = self;
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
