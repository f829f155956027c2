//! Huffman decoding of a baseline scan: up to two coefficients a look-up, from bytes without stuffing.
//!
//! A look-up takes the next [`LOOKUP_BITS`] bits. Its entry has the coefficients whose codes and values lie in them
//! completely, or else the code. Codes that are longer, and whatever a regular file does not have, take
//! [`Table::symbol`].
//!
//! ```text
//! complete    bits 0–5    length of both codes with their values
//!             bits 6–9    how far the first advances in the block, minus one
//!             bits 10–16  value of the first
//!             bits 17–24  value of the second, or of the only one
//!             bits 25–31  how far both advance; 64 more: end of block
//!
//! incomplete  bits 0–5    zero
//!             bits 6–9    length of the code; zero: it is longer than a look-up, or something is irregular
//!             bits 16–23  symbol
//! ```
//! Entries are small, so that the tables of a scan and the blocks that are being decoded fit into the first cache.
//!
//! Source: ITU-T T.81, annex F.2.2; libjpeg's `jdhuff.c` for what it makes of irregular files.

use std::collections::VecDeque;
use std::sync::Arc;

use super::coefficients::Group;

/// Bits of a look-up. Two codes of noise at quality 90 have 9 on average.
pub const LOOKUP_BITS: u32 = 11;
const ENTRIES: usize = 1 << LOOKUP_BITS;
/// Advance of an end of block: past all 64 coefficients.
const END_OF_BLOCK: usize = 64;
/// Number of bits of a value in an entry.
const VALUE_BITS: u32 = 8;
const FIRST_VALUE_BITS: u32 = 7;

/// A Huffman table as a file defines it: the number of codes of each length from 1 bit on, and their symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub counts: [u8; 16],
    pub symbols: Vec<u8>,
}

/// The coefficients that a table is for: the first of a block, or the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Dc,
    Ac,
}

/// A table for decoding.
pub struct Table {
    entries: Box<[Entry; ENTRIES]>,
    /// The largest code of each length, left-aligned in 16 bits and one more: codes below it have at most that length.
    limits: [u32; 17],
    /// Difference between a code of each length and the place of its symbol.
    offsets: [i32; 17],
    symbols: [u8; 256],
}

/// The tables of the files that were read last, for files that have the same ones.
#[derive(Default)]
pub struct Tables(VecDeque<(Class, Definition, Arc<Table>)>);

impl Tables {
    /// Tables of a file with two of each class, and as many of another file.
    const MOST: usize = 8;

    /// Returns the table, which is built if there is none. `None`: libjpeg refuses the definition.
    pub fn get(&mut self, definition: Definition, class: Class) -> Option<Arc<Table>> {
        if let Some((.., table)) = self.0.iter().find(|known| (known.0, &known.1) == (class, &definition)) {
            return Some(Arc::clone(table));
        }
        let table = Arc::new(Table::new(&definition, class)?);
        self.0.truncate(Self::MOST - 1);
        self.0.push_front((class, definition, Arc::clone(&table)));
        Some(table)
    }
}

/// A symbol that could not be decoded: no code is a prefix of the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCode;

/// The sign extension of a value of `size` bits (T.81, F.2.2.1).
#[inline(always)]
pub fn extend(value: u32, size: u32) -> i32 {
    let value = value as i32;
    if size > 0 && value < 1 << (size - 1) { value - (1 << size) + 1 } else { value }
}

impl Table {
    /// Builds a table. `None` if the definition is one that libjpeg refuses.
    pub fn new(definition: &Definition, class: Class) -> Option<Self> {
        let mut table = Self {
            entries: vec![Entry(0); ENTRIES].try_into().ok()?,
            limits: [0; 17],
            offsets: [0; 17],
            symbols: [0; 256],
        };
        let count: usize = definition.counts.iter().map(|&count| usize::from(count)).sum();
        table.symbols.get_mut(..count)?.copy_from_slice(definition.symbols.get(..count)?);
        if class == Class::Dc && table.symbols[..count].iter().any(|&symbol| symbol > 15) {
            return None;
        }
        let mut short = vec![(0_u32, 0_u8); ENTRIES];
        let (mut code, mut place) = (0_u32, 0_usize);
        for length in 1..=16_u32 {
            let codes = u32::from(definition.counts[length as usize - 1]);
            table.offsets[length as usize] = place as i32 - code as i32;
            for _ in 0..codes {
                // More codes than bits. No code consists of ones only (T.81, C.2), and libjpeg asks for that.
                if (code + 1) >> length != 0 {
                    return None;
                }
                if length <= LOOKUP_BITS {
                    let first = (code << (LOOKUP_BITS - length)) as usize;
                    short[first..first + (1 << (LOOKUP_BITS - length))].fill((length, table.symbols[place]));
                }
                code += 1;
                place += 1;
            }
            table.limits[length as usize] = if codes > 0 { code << (16 - length) } else { 0 };
            code <<= 1;
        }
        for bits in 0..ENTRIES {
            table.entries[bits] = Entry::new(&short, bits, class);
        }
        Some(table)
    }

    /// Returns the length and the symbol of the code that these bits, the next ones from the top, begin with.
    pub fn symbol(&self, bits: u64) -> Result<(u32, u8), BadCode> {
        let next = (bits >> 48) as u32;
        for length in 1..=16 {
            if next < self.limits[length] {
                let place = (next >> (16 - length)) as i32 + self.offsets[length];
                return Ok((length as u32, self.symbols[place as usize & 255]));
            }
        }
        Err(BadCode)
    }
}

/// The result of a look-up.
#[derive(Clone, Copy)]
struct Entry(u32);

impl Entry {
    fn new(short: &[(u32, u8)], bits: usize, class: Class) -> Self {
        let (length, symbol) = short[bits];
        let Some(mut first) = coefficient(short, bits, LOOKUP_BITS, class) else {
            let is_known = length > 0 && is_regular(symbol, class);
            return Self(if is_known { length << 6 | u32::from(symbol) << 16 } else { 0 });
        };
        let (mut length, mut advance, mut value) = (first.length, first.advance, first.value);
        if first.advance == END_OF_BLOCK {
            // Its value, zero, is stored at the next place, where there is a zero already.
            first.advance = 1;
        } else if class == Class::Ac && first.value.unsigned_abs() < 1 << (FIRST_VALUE_BITS - 1) {
            let rest = bits << first.length & (ENTRIES - 1);
            if let Some(second) = coefficient(short, rest, LOOKUP_BITS - first.length, class) {
                length += second.length;
                advance += second.advance;
                value = second.value;
            }
        }
        Self(
            length
                | (first.advance as u32 - 1) << 6
                | (first.value as u32 & 127) << 10
                | (value as u32 & 255) << 17
                | (advance as u32) << 25,
        )
    }

    /// Returns the number of bits. Zero: the entry is not complete.
    #[inline(always)]
    fn length(self) -> u32 {
        self.0 & 63
    }

    /// Returns how far the first coefficient advances.
    #[inline(always)]
    fn first_advance(self) -> usize {
        (self.0 >> 6 & 15) as usize + 1
    }

    #[inline(always)]
    fn first_value(self) -> i16 {
        ((self.0 << 15) as i32 >> 25) as i16
    }

    /// Returns how far both coefficients advance.
    #[inline(always)]
    fn advance(self) -> usize {
        (self.0 >> 25) as usize
    }

    /// Returns the value of the second coefficient, or of the only one.
    #[inline(always)]
    fn value(self) -> i16 {
        ((self.0 << 7) as i32 >> 24) as i16
    }

    /// Returns the code's length and symbol, if the entry is not complete. `None`: look further.
    #[inline(always)]
    fn code(self) -> Option<(u32, u8)> {
        let length = self.0 >> 6 & 15;
        (length > 0).then_some((length, (self.0 >> 16) as u8))
    }
}

/// A coefficient whose code and value lie in the bits of a look-up.
struct Coefficient {
    length: u32,
    advance: usize,
    value: i16,
}

fn coefficient(short: &[(u32, u8)], bits: usize, known: u32, class: Class) -> Option<Coefficient> {
    let (length, symbol) = short[bits];
    let (run, size) = run_and_size(symbol, class);
    if length == 0 || length + size > known || size >= VALUE_BITS || !is_regular(symbol, class) {
        return None;
    }
    let value = (bits << length & (ENTRIES - 1)) >> (LOOKUP_BITS - size);
    let advance = if class == Class::Ac && symbol == 0 { END_OF_BLOCK } else { run + 1 };
    Some(Coefficient { length: length + size, advance, value: extend(value as u32, size) as i16 })
}

/// Returns the number of zeros before a coefficient and the number of bits of its value.
#[inline(always)]
fn run_and_size(symbol: u8, class: Class) -> (usize, u32) {
    match class {
        Class::Dc => (0, symbol.into()),
        Class::Ac => (usize::from(symbol >> 4), u32::from(symbol & 15)),
    }
}

/// Returns false for a symbol that a baseline file does not have: a coefficient has at most 10 bits, a difference 11
/// (T.81, F.1.2), and only the numbers of zeros 0 and 15 go without one.
fn is_regular(symbol: u8, class: Class) -> bool {
    match (class, run_and_size(symbol, class)) {
        (Class::Dc, (_, size)) => size <= 11,
        (Class::Ac, (run, size)) => size <= 10 && (size > 0 || run == 0 || run == 15),
    }
}

/// The next bits of a scan whose bytes have no stuffing.
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    /// The next bits, from the top.
    next: u64,
    /// Number of valid bits in `next`.
    valid: u32,
    /// The next byte to take.
    place: usize,
}

impl Bits {
    /// Begins at a bit of the bytes, which need eight more bytes behind every bit that is decoded.
    pub fn at(bytes: &[u8], bit: usize) -> Self {
        let mut bits = Self { next: 0, valid: 0, place: bit / 8 };
        bits.refill(bytes);
        bits.skip((bit % 8) as u32);
        bits
    }

    /// The number of bits before the next one.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.place * 8 - self.valid as usize
    }

    /// Makes at least 56 bits valid. Behind the end are zeros.
    #[inline(always)]
    pub fn refill(&mut self, bytes: &[u8]) {
        let word =
            bytes.get(self.place..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_be_bytes(*word));
        self.next |= word >> self.valid;
        self.place += ((63 - self.valid) >> 3) as usize;
        self.valid |= 56;
    }

    /// Passes some of the valid bits.
    #[inline(always)]
    pub fn skip(&mut self, bits: u32) {
        self.next <<= bits;
        self.valid -= bits;
    }

    /// Takes a value of this number of bits, at least one, and extends its sign.
    #[inline(always)]
    fn value(&mut self, size: u32) -> i16 {
        let value = self.next >> 1 >> (63 - size);
        self.skip(size);
        extend(value as u32, size) as i16
    }

    /// Returns the bits of a look-up.
    #[inline(always)]
    pub fn look(&self) -> usize {
        (self.next >> (64 - LOOKUP_BITS)) as usize
    }

    /// Returns the next bits from the top.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes up to 16 of the valid bits.
    #[inline(always)]
    pub fn take(&mut self, count: u32) -> u32 {
        let bits = (self.next >> 32 >> (32 - count)) as u32;
        self.skip(count);
        bits
    }
}

/// Decodes the coefficients of a block but the first into a group that is cleared. Returns the difference of the first
/// to that of the block before. `None`: something is irregular, and the bits are anywhere.
#[inline(always)]
pub fn block(
    all_bits: &mut Bits,
    bytes: &[u8],
    dc: &Table,
    ac: &Table,
    group: &mut Group,
    number: usize,
) -> Option<i16> {
    // A copy, which stays in registers.
    let mut bits = *all_bits;
    let difference = coefficients(&mut bits, bytes, dc, ac, group, number);
    *all_bits = bits;
    difference
}

#[inline(always)]
fn coefficients(
    bits: &mut Bits,
    bytes: &[u8],
    dc: &Table,
    ac: &Table,
    group: &mut Group,
    number: usize,
) -> Option<i16> {
    bits.refill(bytes);
    let entry = dc.entries[bits.look()];
    let difference = if entry.length() > 0 {
        bits.skip(entry.length());
        entry.value()
    } else {
        incomplete(bits, bytes, entry, dc, Class::Dc)?.1
    };
    let mut at = 0;
    loop {
        bits.refill(bytes);
        for _ in 0..4 {
            let entry = ac.entries[bits.look()];
            if entry.length() == 0 {
                let before = at;
                let (advance, value) = incomplete(bits, bytes, entry, ac, Class::Ac)?;
                at += advance;
                group.set(number, at, value);
                if at >= 63 {
                    return finish(group, before, at, advance, difference);
                }
                break;
            }
            let (first, both) = (at + entry.first_advance(), at + entry.advance());
            if both < 63 {
                group.set(number, first & 63, entry.first_value());
                group.set(number, both, entry.value());
                bits.skip(entry.length());
                at = both;
                continue;
            }
            if first >= 63 && first != both {
                // The second code belongs to the next block.
                let (advance, value) = incomplete(bits, bytes, Entry(0), ac, Class::Ac)?;
                group.set(number, at + advance, value);
                return finish(group, at, at + advance, advance, difference);
            }
            group.set(number, first, entry.first_value());
            group.set(number, both, entry.value());
            bits.skip(entry.length());
            return finish(group, first, both, entry.advance(), difference);
        }
    }
}

/// Ends a block, whose last code led from one place to another.
#[inline(always)]
fn finish(group: &mut Group, before: usize, at: usize, advance: usize, difference: i16) -> Option<i16> {
    let is_end = advance >= END_OF_BLOCK;
    group.reach(if is_end { before } else { at });
    (is_end || at == 63).then_some(difference)
}

/// Decodes a coefficient whose look-up is not complete: how far it advances, and its value. `None`: something is
/// irregular.
#[inline(always)]
fn incomplete(
    bits: &mut Bits,
    bytes: &[u8],
    entry: Entry,
    table: &Table,
    class: Class,
) -> Option<(usize, i16)> {
    let Some((length, symbol)) = entry.code() else {
        let (after, advance, value) = slow(*bits, bytes, table, class);
        *bits = after;
        return Some((advance, value?));
    };
    bits.skip(length);
    let (run, size) = run_and_size(symbol, class);
    Some((run + 1, bits.value(size)))
}

/// Decodes a coefficient without a look-up: the bits behind it, how far it advances, and its value. `None`: something
/// is irregular.
#[cold]
#[inline(never)]
fn slow(mut bits: Bits, bytes: &[u8], table: &Table, class: Class) -> (Bits, usize, Option<i16>) {
    match symbol(&mut bits, bytes, table, class) {
        Some((advance, value)) => (bits, advance, Some(value)),
        None => (bits, 0, None),
    }
}

fn symbol(bits: &mut Bits, bytes: &[u8], table: &Table, class: Class) -> Option<(usize, i16)> {
    bits.refill(bytes);
    let (length, symbol) = table.symbol(bits.next).ok()?;
    bits.skip(length);
    if !is_regular(symbol, class) {
        return None;
    }
    match run_and_size(symbol, class) {
        (0, 0) if class == Class::Ac => Some((END_OF_BLOCK, 0)),
        (run, 0) => Some((run + 1, 0)),
        (run, size) => Some((run + 1, bits.value(size))),
    }
}
