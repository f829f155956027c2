//! Writes tokens as Huffman codes.
//!
//! The codes of four tokens are joined before they are written, and each write stores eight bytes, which overwrite the
//! incomplete byte at the end. Both avoid branches, which the processor could not predict. The zero that must follow each byte
//! 0xff is inserted afterwards. Once a file has its tables, its blocks are written without tokens, two coefficients at a time.
//!
//! Source: ITU-T T.81, sections F.1.2 and B.1.1.5.

use std::mem;
use std::ops::Range;

use memchr::memchr_iter;

use super::huffman::Table;
use super::tokens::{
    BITS, BlockSink, FIRST, Frequencies, IS_FIRST, Kind, LARGEST, LONG, MOST_BITS, RowTokens, TOKENS,
    Uncounted, has_long_run, nonzero,
};
use super::transform::{BLOCKS, Coefficients};

/// Upper bound of a token's bytes, and the size of a write.
const TOKEN_BYTES: usize = 3;
const WRITE_BYTES: usize = 8;
/// Tokens that are written between checks of the room, and an upper bound of their bytes.
const CHUNK: usize = 80;
const CHUNK_BYTES: usize = CHUNK * TOKEN_BYTES + 2 * WRITE_BYTES;
const _: () = assert!(CHUNK > 64, "a block of short tokens fits into a chunk");
/// Maximum number of bits of a write, with which pending ones still fit.
const MOST_WRITTEN: u32 = 56;

impl Frequencies {
    /// Returns the tables of first and other coefficients, of luma and chroma. If `with_all` is true, symbols that do not occur
    /// have codes, too.
    pub fn tables(&self, with_all: bool) -> [[Table; 2]; 2] {
        [0, 1].map(|kind| {
            let table = |symbols: &mut dyn Iterator<Item = Symbol>| {
                Table::optimal(symbols.map(|symbol| {
                    let count: u32 =
                        symbol.tokens(kind).map(|tokens| self.0[tokens].iter().sum::<u32>()).iter().sum();
                    (symbol.number(), count + u32::from(with_all))
                }))
            };
            [table(&mut Symbol::first()), table(&mut Symbol::others())]
        })
    }
}

/// A symbol: what a Huffman code stands for.
#[derive(Clone, Copy)]
struct Symbol {
    /// Number of preceding zeros, or [`IS_FIRST`].
    zeros: usize,
    /// Number of bits of its value.
    size: u32,
}

impl Symbol {
    /// Returns all symbols of first coefficients.
    fn first() -> impl Iterator<Item = Self> {
        (0..=11).map(|size| Self { zeros: IS_FIRST, size })
    }

    /// Returns all symbols of other coefficients.
    fn others() -> impl Iterator<Item = Self> {
        let all = (0..16).flat_map(|zeros| (0..=10).map(move |size| Self { zeros, size }));
        all.filter(|symbol| symbol.size > 0 || symbol.zeros % 15 == 0)
    }

    /// Returns the symbol of a number in a Huffman table.
    fn of_number(number: u8, is_first: bool) -> Self {
        let zeros = if is_first { IS_FIRST } else { usize::from(number >> 4) };
        Self { zeros, size: u32::from(number & 15) }
    }

    fn number(self) -> u8 {
        ((self.zeros % IS_FIRST) << 4) as u8 | self.size as u8
    }

    /// Returns the tokens of a kind that have its code, in the order of the bits that follow it.
    fn tokens(self, kind: usize) -> [Range<usize>; 2] {
        let Self { zeros, size } = self;
        let start = match (zeros, size) {
            (_, 8..) => LONG | kind << 7 | zeros << 2 | (size as usize - 8),
            (IS_FIRST, _) => FIRST | kind << 8,
            _ => kind << 12 | zeros << 8,
        };
        match size {
            0 | 8.. => [start..start + 1, 0..0],
            // Lower bytes of negative values, and positive values.
            _ => [257 - (1 << size)..257 - (1 << size >> 1), 1 << size >> 1..1 << size]
                .map(|values| start + values.start..start + values.end),
        }
    }
}

/// The bits of each token: their number in the lower byte, and the bits.
pub struct Codes([u32; CODES]);

/// Number of tokens rounded up to a power of two.
const CODES: usize = TOKENS.next_power_of_two();

impl Default for Codes {
    fn default() -> Self {
        let mut codes = [0; CODES];
        for length in 1..=MOST_BITS {
            for bits in 0..1 << length {
                codes[BITS | 1 << length | bits] = (bits as u32) << 8 | length;
            }
        }
        Self(codes)
    }
}

impl Codes {
    /// Sets the codes of Huffman tables. Tokens without one keep theirs.
    pub fn set(&mut self, tables: &[[Table; 2]; 2]) {
        for (kind, tables) in tables.iter().enumerate() {
            for (table, is_first) in tables.iter().zip([true, false]) {
                for (number, code, length) in table.codes() {
                    let symbol = Symbol::of_number(number, is_first);
                    let size = if symbol.size <= MOST_BITS { symbol.size } else { 0 };
                    let mut code = code << (size + 8) | (length + size);
                    for tokens in symbol.tokens(kind) {
                        for to in &mut self.0[tokens] {
                            *to = code;
                            code += 1 << 8;
                        }
                    }
                }
            }
        }
    }

    /// Returns a token's bits and their number.
    #[inline(always)]
    fn of(&self, token: u16) -> (u64, u32) {
        let code = self.0[usize::from(token) % CODES];
        (u64::from(code >> 8), code & 0xff)
    }
}

/// Bits that do not fill a byte yet.
#[derive(Clone, Copy, Default)]
pub struct PendingBits {
    /// From the highest bit on.
    bits: u64,
    count: u32,
}

/// Coded bytes, before a zero is inserted after each 0xff.
#[derive(Default)]
pub struct Scan {
    bytes: Vec<u8>,
    written: usize,
}

impl Scan {
    /// Writes tokens.
    #[inline(always)]
    pub fn write(&mut self, tokens: &[u16], codes: &Codes, pending: &mut PendingBits) {
        for tokens in tokens.chunks(CHUNK) {
            let mut out = Writer { bytes: self.room(), written: 0, pending: *pending };
            let (groups, rest) = tokens.as_chunks();
            for &[one, two, three, four] in groups {
                let first = then(codes.of(one), codes.of(two));
                let second = then(codes.of(three), codes.of(four));
                let (bits, length) = then(first, second);
                if length <= MOST_WRITTEN {
                    out.put(bits, length);
                } else {
                    out.put(first.0, first.1);
                    out.put(second.0, second.1);
                }
            }
            for &token in rest {
                let (bits, length) = codes.of(token);
                out.put(bits, length);
            }
            *pending = out.pending;
            self.written += out.written;
        }
    }

    /// Returns the unwritten bytes for a chunk.
    #[inline(always)]
    fn room(&mut self) -> &mut [u8; CHUNK_BYTES] {
        if self.bytes.len() < self.written + CHUNK_BYTES {
            self.grow();
        }
        &mut self.bytes[self.written..].as_chunks_mut().0[0]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.bytes.resize(2 * self.written + CHUNK_BYTES, 0);
    }

    /// Writes the pending bits as a byte, filled up with ones.
    pub fn finish(&mut self, pending: PendingBits) {
        if pending.count > 0 {
            let last = ((pending.bits | u64::MAX >> pending.count) >> 56) as u8;
            self.bytes.truncate(self.written);
            self.bytes.push(last);
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

/// Writes blocks as Huffman codes.
pub struct Coder<'a> {
    pub scan: &'a mut Scan,
    pub codes: &'a Codes,
    pub pending: &'a mut PendingBits,
    /// For blocks that are written as tokens. It is empty before and after.
    pub row: &'a mut RowTokens,
}

impl BlockSink for Coder<'_> {
    #[inline(always)]
    fn block(&mut self, kind: Kind, coefficients: &Coefficients, index: usize, previous_dc: &mut i16) {
        let index = index % BLOCKS;
        let mut nonzero = nonzero(coefficients, index);
        let dc = coefficients.values.0[0][index];
        let difference = dc.wrapping_sub(*previous_dc);
        if coefficients.magnitudes[index] > LARGEST
            || difference.unsigned_abs() > LARGEST
            || has_long_run(nonzero)
        {
            self.as_tokens(|row| row.block(kind, coefficients, index, previous_dc, &mut Uncounted));
            return;
        }
        *previous_dc = dc;
        let codes = self.codes;
        let mut out = Writer { bytes: self.scan.room(), written: 0, pending: *self.pending };
        let ends_early = nonzero >> 63 == 0;
        let kind = kind as u16;
        // A chroma token has 16 zeros more.
        let more = 16 * u32::from(kind);
        let mut next = 1_u32.wrapping_sub(more);
        let mut lookup = |nonzero: &mut u64| {
            let number = nonzero.trailing_zeros() % 64;
            *nonzero &= *nonzero - 1;
            let zeros = number.wrapping_sub(next);
            next = (number + 1).wrapping_sub(more);
            let value = coefficients.values.0[number as usize][index] as u8;
            codes.of((zeros << 8) as u16 | u16::from(value))
        };
        // A pair is written after the next one has been looked up, so the lookup need not wait for the write position.
        let mut one = codes.of(FIRST as u16 | kind << 8 | difference as u16 & 0xff);
        let mut waiting = (0, 0);
        while nonzero != 0 {
            let pair = then(one, lookup(&mut nonzero));
            one = (0, 0);
            let (bits, length) = mem::replace(&mut waiting, pair);
            out.put(bits, length);
            if nonzero == 0 {
                break;
            }
            one = lookup(&mut nonzero);
        }
        out.put(waiting.0, waiting.1);
        if ends_early {
            one = then(one, codes.of(kind << 12));
        }
        out.put(one.0, one.1);
        *self.pending = out.pending;
        self.scan.written += out.written;
    }

    fn empty_block(&mut self, kind: Kind) {
        self.as_tokens(|row| row.empty_block(kind, &mut Uncounted));
    }
}

impl Coder<'_> {
    #[cold]
    #[inline(never)]
    fn as_tokens(&mut self, add: impl FnOnce(&mut RowTokens)) {
        self.row.reserve(1);
        add(self.row);
        self.scan.write(self.row.tokens(), self.codes, self.pending);
        self.row.clear();
    }
}

/// Joins codes and their lengths.
#[inline(always)]
fn then((one, length): (u64, u32), (other, more): (u64, u32)) -> (u64, u32) {
    (one.wrapping_shl(more) | other, length + more)
}

struct Writer<'a> {
    bytes: &'a mut [u8; CHUNK_BYTES],
    written: usize,
    pending: PendingBits,
}

impl Writer<'_> {
    /// Writes at most [`MOST_WRITTEN`] bits.
    #[inline(always)]
    fn put(&mut self, bits: u64, length: u32) {
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
