//! Huffman decoding of a baseline scan: up to two coefficients a look-up, from bytes without stuffing.
//!
//! A look-up takes the next [`LOOKUP_BITS`] bits. Its entry has the coefficients whose codes and values lie in them
//! completely. Codes that are longer, and whatever a regular file does not have, take [`Table::symbol`].
//!
//! ```text
//! entry  bits 0–7    length of both codes with their values; 0: look at the symbol
//!        bits 8–15   length of the first
//!        bits 16–23  how far the first advances in the block; 128: end of block
//!        bits 24–31  how far both advance
//!        bits 32–47  value of the first
//!        bits 48–63  value of the second, or again of the first
//! ```
//! Source: ITU-T T.81, annex F.2.2; libjpeg's `jdhuff.c` for what it makes of irregular files.

use std::collections::VecDeque;
use std::sync::Arc;

use super::coefficients::Group;

/// Bits of a look-up. Two codes of noise at quality 90 have 9 on average.
pub const LOOKUP_BITS: u32 = 11;
const ENTRIES: usize = 1 << LOOKUP_BITS;
/// Advance of an end of block: past all 64 coefficients.
const END_OF_BLOCK: usize = 128;

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
    entries: Box<[u64; ENTRIES]>,
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
            entries: vec![0; ENTRIES].try_into().ok()?,
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
            table.entries[bits] = entry(&short, bits, class);
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

/// The entry of a look-up.
fn entry(short: &[(u32, u8)], bits: usize, class: Class) -> u64 {
    let Some(first) = coefficient(short, bits, LOOKUP_BITS, class) else { return 0 };
    let rest = bits << first.length & (ENTRIES - 1);
    let second = match class {
        Class::Ac if first.advance != END_OF_BLOCK => {
            coefficient(short, rest, LOOKUP_BITS - first.length, class)
        }
        _ => None,
    };
    let (length, advance, value) = second.map_or((first.length, first.advance, first.value), |second| {
        (first.length + second.length, first.advance + second.advance, second.value)
    });
    u64::from(length)
        | u64::from(first.length) << 8
        | (first.advance as u64) << 16
        | (advance as u64) << 24
        | u64::from(first.value as u16) << 32
        | u64::from(value as u16) << 48
}

/// A coefficient whose code and value lie in the bits of a look-up.
struct Coefficient {
    length: u32,
    advance: usize,
    value: i16,
}

fn coefficient(short: &[(u32, u8)], bits: usize, known: u32, class: Class) -> Option<Coefficient> {
    let (length, symbol) = short[bits];
    let (run, size) = match class {
        Class::Dc => (0, u32::from(symbol)),
        Class::Ac => (usize::from(symbol >> 4), u32::from(symbol & 15)),
    };
    if length == 0 || length + size > known {
        return None;
    }
    let value = (bits << length & (ENTRIES - 1)) >> (LOOKUP_BITS - size);
    let advance = match (class, size, run) {
        (Class::Ac, 0, 0) => END_OF_BLOCK,
        (Class::Ac, 0, 1..=14) => return None, // ends the block too, in libjpeg
        _ => run + 1,
    };
    Some(Coefficient { length: length + size, advance, value: extend(value as u32, size) as i16 })
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

/// Decodes the coefficients of a block but the first into a group that is cleared. Returns the difference of the first to
/// that of the block before. `None`: something is irregular, and the bits are anywhere.
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
    let difference = if entry & 255 != 0 {
        bits.skip((entry & 255) as u32);
        (entry >> 32) as i16
    } else {
        let (after, _, value) = slow(*bits, bytes, dc, Class::Dc);
        *bits = after;
        value?
    };
    let mut at = 0;
    loop {
        bits.refill(bytes);
        for _ in 0..4 {
            let entry = ac.entries[bits.look()];
            if entry & 255 == 0 {
                let before = at;
                let (after, advance, value) = slow(*bits, bytes, ac, Class::Ac);
                *bits = after;
                at += advance;
                group.set(number, at, value?);
                if at >= 63 {
                    return finish(group, before, at, difference);
                }
                break;
            }
            let first = at + (entry >> 16 & 255) as usize;
            let both = at + (entry >> 24 & 255) as usize;
            group.set(number, first, (entry >> 32) as i16);
            if both >= 63 {
                if first >= 63 {
                    // The second code belongs to the next block.
                    bits.skip((entry >> 8 & 255) as u32);
                    return finish(group, at, first, difference);
                }
                group.set(number, both, (entry >> 48) as i16);
                bits.skip((entry & 255) as u32);
                return finish(group, first, both, difference);
            }
            group.set(number, both, (entry >> 48) as i16);
            at = both;
            bits.skip((entry & 255) as u32);
        }
    }
}

#[inline(always)]
fn finish(group: &mut Group, before: usize, at: usize, difference: i16) -> Option<i16> {
    group.reach(if at < END_OF_BLOCK { at } else { before });
    (at == 63 || at >= END_OF_BLOCK).then_some(difference)
}

/// Decodes a coefficient whose look-up is not complete: the bits behind it, how far it advances, and its value. `None`: something is
/// irregular.
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
    let (run, size) = match class {
        Class::Dc => (0, symbol),
        Class::Ac => (usize::from(symbol >> 4), symbol & 15),
    };
    // A baseline coefficient has at most 10 bits, a difference 11 (T.81, F.1.2).
    if size > if class == Class::Dc { 11 } else { 10 } {
        return None;
    }
    if size == 0 {
        return match (class, run) {
            (Class::Ac, 0) => Some((END_OF_BLOCK, 0)),
            (Class::Ac, 1..=14) => None,
            _ => Some((run + 1, 0)),
        };
    }
    let value = (bits.next >> (64 - u32::from(size))) as u32;
    bits.skip(size.into());
    Some((run + 1, extend(value, size.into()) as i16))
}
