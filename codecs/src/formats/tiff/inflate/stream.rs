//! A stream of zlib: its blocks, and the symbols that the fast loop leaves to others.
//!
//! Source: RFC 1950, section 2.2; RFC 1951, sections 3.2.3 to 3.2.5.

use super::bits::Bits;
use super::codes::{self, Codes, END_OF_BLOCK, Entry, MORE_SHIFT, OTHER, RARE, VALUE_SHIFT};

/// The bytes of the longest match.
const LONGEST_MATCH: usize = 258;
/// The bytes that are copied of a short match, those behind it included: they are decoded later.
const SHORT: usize = 16;

/// Where a stream is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    BetweenBlocks,
    InCodes,
    Done,
}

/// A stream that is being decoded.
pub struct Stream<'a> {
    pub bits: Bits<'a>,
    pub codes: &'a mut Codes,
    pub out: &'a mut [u8],
    /// How many bytes of `out` are decoded.
    pub written: usize,
    stored: &'a [u8],
    state: State,
    is_last_block: bool,
}

impl<'a> Stream<'a> {
    /// Reads the header. `None` if it is not one of deflate without a dictionary.
    pub fn new(stored: &'a [u8], out: &'a mut [u8], codes: &'a mut Codes) -> Option<Self> {
        let (header, blocks) = stored.split_first_chunk()?;
        let header = u16::from_be_bytes(*header);
        if !header.is_multiple_of(31) || header & 0x0f20 != 0x0800 {
            return None;
        }
        let bits = Bits::new(blocks);
        let state = State::BetweenBlocks;
        Some(Self { bits, codes, out, written: 0, stored, state, is_last_block: false })
    }

    pub fn is_in_codes(&self) -> bool {
        self.state == State::InCodes
    }

    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether there are as many bytes as wanted, and the ones that the stream's checksum is of.
    pub fn is_as_announced(&mut self) -> bool {
        let sum = self.bits.bytes(self.stored).first_chunk().map(|sum| u32::from_be_bytes(*sum));
        self.written == self.out.len() && sum == Some(simd_adler32::adler32(&&*self.out))
    }

    /// Begins the next block; one that is not compressed is read to its end.
    pub fn begin_block(&mut self) -> Option<()> {
        if self.is_last_block {
            self.state = State::Done;
            return Some(());
        }
        self.is_last_block = self.bits.take(1)? == 1;
        match self.bits.take(2)? {
            0 => return self.copy_stored(),
            1 => self.codes.set_fixed()?,
            2 => self.codes.read(&mut self.bits)?,
            _ => return None,
        }
        self.state = State::InCodes;
        Some(())
    }

    /// Copies a block that is not compressed.
    fn copy_stored(&mut self) -> Option<()> {
        let ([a, b, c, d], bytes) = self.bits.bytes(self.stored).split_first_chunk()?;
        let length = u16::from_le_bytes([*a, *b]);
        if length != !u16::from_le_bytes([*c, *d]) {
            return None;
        }
        let (from, later) = bytes.split_at_checked(length.into())?;
        self.out.get_mut(self.written..)?.get_mut(..from.len())?.copy_from_slice(from);
        self.written += from.len();
        self.bits = Bits::new(later);
        Some(())
    }

    /// Decodes what the loop has left: a match, mostly.
    pub fn decode_after_literals(&mut self) -> Option<()> {
        match self.decode_match() {
            true => Some(()),
            false => self.decode_symbol(),
        }
    }

    /// Decodes a match with a short code, far from the ends. False, and nothing happens, if there is none.
    fn decode_match(&mut self) -> bool {
        self.bits.refill();
        let Bits { word, have, .. } = self.bits;
        let entry = self.codes.literals.look_up(word);
        if entry & OTHER == 0 || entry & RARE != 0 {
            return false;
        }
        let (length, length_bits) = value(entry, word);
        let word = word >> length_bits;
        let entry = self.codes.distances.look_up(word);
        let (distance, distance_bits) = value(entry, word);
        let used = length_bits + distance_bits;
        if entry & RARE != 0 || used > have || distance > self.written {
            return false;
        }
        let from = self.written - distance;
        if self.out.len() - self.written < LONGEST_MATCH + SHORT {
            return false;
        }
        if distance >= SHORT && length <= SHORT {
            self.out.copy_within(from..from + SHORT, self.written);
        } else {
            copy_match(self.out, self.written, distance, length);
        }
        self.written += length;
        self.bits.have -= used;
        self.bits.word = word >> distance_bits;
        true
    }

    /// Decodes a symbol: a literal, a match, or the end of the block.
    pub fn decode_symbol(&mut self) -> Option<()> {
        self.bits.refill();
        let symbol = self.codes.literals.take(&mut self.bits)?;
        match symbol.checked_sub(END_OF_BLOCK) {
            None => {
                *self.out.get_mut(self.written)? = symbol as u8;
                self.written += 1;
            }
            Some(0) => self.state = State::BetweenBlocks,
            Some(length) => self.repeat(length - 1)?,
        }
        Some(())
    }

    /// Repeats bytes that were decoded before.
    fn repeat(&mut self, symbol: usize) -> Option<()> {
        let length = codes::length(symbol, &mut self.bits)?;
        self.bits.refill();
        let distance = self.codes.take_distance(&mut self.bits)?;
        if distance > self.written || length > self.out.len() - self.written {
            return None;
        }
        copy_match(self.out, self.written, distance, length);
        self.written += length;
        Some(())
    }
}

/// Repeats the bytes at a distance before the end of what is written. Both must be there, and room.
fn copy_match(out: &mut [u8], mut written: usize, distance: usize, length: usize) {
    let (from, end) = (written - distance, written + length);
    // A match may overlap with itself: it has as many bytes as are there, and repeats them.
    while written < end {
        let bytes = (end - written).min(written - from);
        out.copy_within(from..from + bytes, written);
        written += bytes;
    }
}

/// The length or distance of an entry, and how many bits it takes with those behind its code.
fn value(entry: Entry, word: u64) -> (usize, u32) {
    let (code, more) = (entry & 63, entry >> MORE_SHIFT & 15);
    let added = word >> code & ((1 << more) - 1);
    (((entry & !OTHER) >> VALUE_SHIFT) as usize + added as usize, code + more)
}
