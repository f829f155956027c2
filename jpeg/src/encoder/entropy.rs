//! Writes tokens as Huffman codes.
//!
//! The codes of two tokens are joined before they are written, and each write stores eight bytes, which overwrite the
//! incomplete byte at the end. Both avoid branches, which the processor could not predict. The zero that must follow each byte
//! 0xff is inserted afterwards.
//!
//! Source: ITU-T T.81, sections F.1.2 and B.1.1.5.

use memchr::memchr_iter;

use super::huffman::Table;
use super::tokens::{FIRST, REST, SYMBOLS, VALUE_BITS};

/// Upper bound of a token's bytes, and the size of a write.
const TOKEN_BYTES: usize = 3;
const WRITE_BYTES: usize = 8;

/// Frequencies of the symbols in a file.
pub struct Frequencies([u32; SYMBOLS]);

impl Frequencies {
    /// Counts the symbols of tokens.
    pub fn count<'a>(parts: impl Iterator<Item = &'a [u16]>) -> Self {
        // Two counters each: the processor need not wait for the last count of a symbol that comes twice.
        let mut counts = [[0_u32; SYMBOLS]; 2];
        for tokens in parts {
            let (pairs, rest) = tokens.as_chunks();
            for &[one, other] in pairs {
                counts[0][usize::from(one >> VALUE_BITS) % SYMBOLS] += 1;
                counts[1][usize::from(other >> VALUE_BITS) % SYMBOLS] += 1;
            }
            rest.iter().for_each(|&token| counts[0][usize::from(token >> VALUE_BITS) % SYMBOLS] += 1);
        }
        let [counts, others] = &mut counts;
        counts.iter_mut().zip(others).for_each(|(count, other)| *count += *other);
        Self(*counts)
    }

    /// Counts every symbol that a file may have once more.
    pub fn with_all(mut self) -> Self {
        for (symbol, count) in (0..256).cycle().zip(&mut self.0) {
            let (zeros, size) = (symbol >> 4, symbol & 15);
            let is_used = match size {
                0 => zeros == 0 || zeros == 15,
                1..=10 => true,
                _ => size == FIRST && zeros <= 11,
            };
            *count += u32::from(is_used);
        }
        self
    }

    /// Returns the tables of first and other coefficients, of luma and chroma.
    pub fn tables(&self) -> [[Table; 2]; 2] {
        let (luma, chroma) = self.0.split_at(SYMBOLS / 2);
        [luma, chroma].map(|counts| {
            let symbols = || (0_u16..).zip(counts.iter().copied());
            let first = symbols().filter(|(symbol, _)| symbol & 15 == FIRST);
            let others = symbols().filter(|(symbol, _)| symbol & 15 < FIRST);
            [
                Table::optimal(first.map(|(symbol, count)| ((symbol >> 4) as u8, count))),
                Table::optimal(others.map(|(symbol, count)| (symbol as u8, count))),
            ]
        })
    }
}

/// The code of each token: its length with the value in the lower byte, and its bits followed by as many zeros as the value has
/// bits.
pub struct Codes([u32; SYMBOLS]);

impl Codes {
    /// Makes the lookup table of Huffman tables.
    pub fn new(tables: &[[Table; 2]; 2]) -> Self {
        let mut codes = [0; SYMBOLS];
        for ([first, others], codes) in tables.iter().zip(codes.chunks_exact_mut(SYMBOLS / 2)) {
            let firsts =
                first.codes().map(|(size, code, length)| (size << 4 | FIRST as u8, size, code, length));
            let others = others.codes().map(|(symbol, code, length)| (symbol, symbol & 15, code, length));
            for (symbol, size, code, length) in firsts.chain(others) {
                let size = u32::from(size);
                let size = if size > VALUE_BITS { size - VALUE_BITS } else { size };
                codes[usize::from(symbol)] = code << (size + 8) | (length + size);
            }
            codes[usize::from(REST)] = VALUE_BITS;
        }
        Self(codes)
    }

    /// Returns a token's bits and their number.
    #[inline(always)]
    fn of(&self, token: u16) -> (u64, u32) {
        let code = self.0[usize::from(token >> VALUE_BITS) % SYMBOLS];
        (u64::from((code >> 8) + u32::from(token & 0x7f)), code & 0xff)
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
        let wanted = self.written + tokens.len() * TOKEN_BYTES + WRITE_BYTES;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        let mut out = Writer { bytes: &mut self.bytes, written: self.written, pending: *pending };
        let (pairs, rest) = tokens.as_chunks();
        for &[one, other] in pairs {
            let ((one, length), (other, more)) = (codes.of(one), codes.of(other));
            out.put(one << more | other, length + more);
        }
        for &token in rest {
            let (bits, length) = codes.of(token);
            out.put(bits, length);
        }
        (self.written, *pending) = (out.written, out.pending);
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

struct Writer<'a> {
    bytes: &'a mut [u8],
    written: usize,
    pending: PendingBits,
}

impl Writer<'_> {
    /// Writes at most 56 bits.
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
