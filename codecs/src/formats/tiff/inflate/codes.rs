//! The prefix codes of a block: tables of what the next bits begin with.
//!
//! Source: RFC 1951, sections 3.2.2, 3.2.6 and 3.2.7; zlib's puff.c for codes that are longer than a table's.

use super::bits::Bits;

/// The bits of the longest code.
const MOST_BITS: usize = 15;
/// The first symbol of literals and lengths that is no literal: the end of a block.
pub const END_OF_BLOCK: usize = 256;
/// The symbols of literals and lengths, and of distances, that a code may have.
const LITERALS_OF_CODE: usize = 288;
const DISTANCES_OF_CODE: usize = 32;
/// The order in which the lengths of a code of lengths are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The lengths and the distances that symbols stand for, and how many bits follow that are added to them.
const LENGTHS: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];
const LENGTH_BITS: [u8; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCES: [u16; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
    4097, 6145, 8193, 12289, 16385, 24577,
];
const DISTANCE_BITS: [u8; 30] =
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];

/// What the next bits begin with.
///
/// ```text
/// bits  0..6    the length of the code
///       6       it is rare: longer than the table's, the end of the block, or of no meaning
///       8..12   how many bits follow that are added to the value
///       16..31  the value: a literal, or the least length or distance of a match
///       31      it is no literal
/// ```
pub type Entry = u32;

pub const OTHER: Entry = 1 << 31;
pub const RARE: Entry = 1 << 6;
pub const MORE_SHIFT: u32 = 8;
pub const VALUE_SHIFT: u32 = 16;

/// A code of which the symbols with few bits are in a table of `N` entries, a power of two.
pub struct Code<const N: usize> {
    pub table: Box<[Entry; N]>,
    /// How many symbols there are of each length, and all of them in the order of their codes.
    counts: [usize; MOST_BITS + 1],
    symbols: Vec<u16>,
}

/// The entries of the tables: 11, 9 and 7 bits are looked up at once.
pub const LITERAL_TABLE: usize = 1 << 11;
pub const DISTANCE_TABLE: usize = 1 << 9;
const LENGTH_TABLE: usize = 1 << 7;

/// The codes of a block.
#[derive(Default)]
pub struct Codes {
    pub literals: Code<LITERAL_TABLE>,
    pub distances: Code<DISTANCE_TABLE>,
    lengths: Code<LENGTH_TABLE>,
}

impl<const N: usize> Default for Code<N> {
    fn default() -> Self {
        Self { table: Box::new([0; N]), counts: [0; MOST_BITS + 1], symbols: Vec::new() }
    }
}

impl<const N: usize> Code<N> {
    /// Makes the code whose symbols have codes of these lengths, or none where it is 0. `None` if there is no such code,
    /// or if it leaves more unused than a code of one symbol.
    fn build(&mut self, lengths: &[u8], entry: impl Fn(u16) -> Entry) -> Option<()> {
        let mut counts = [0; MOST_BITS + 1];
        for &length in lengths {
            *counts.get_mut(usize::from(length))? += 1;
        }
        counts[0] = 0;
        let used: usize = (1..).zip(&counts[1..]).map(|(bits, count)| count << (MOST_BITS - bits)).sum();
        let is_complete = used == 1 << MOST_BITS;
        if !is_complete && (used > 1 << MOST_BITS || counts.iter().sum::<usize>() > 1) {
            return None;
        }
        self.counts = counts;
        let mut places = [0; MOST_BITS + 2];
        for (bits, count) in counts.iter().enumerate() {
            places[bits + 1] = places[bits] + count;
        }
        self.symbols.clear();
        self.symbols.resize(places[MOST_BITS + 1], 0);
        for (symbol, &length) in (0..).zip(lengths).filter(|&(_, &length)| length > 0) {
            let place = &mut places[usize::from(length)];
            self.symbols[*place] = symbol;
            *place += 1;
        }
        self.table[0] = OTHER | RARE;
        let (mut code, mut place) = (0_u32, 0);
        for (bits, count) in (1..).zip(&counts[1..]) {
            // The table of fewer bits, twice: the next bit is nothing to codes that are shorter.
            if bits <= N.ilog2() {
                let half = 1 << (bits - 1);
                self.table.copy_within(..half, half);
            }
            for &symbol in self.symbols.get(place..place + count)? {
                // The lowest bits begin with a code's highest.
                let first = (code.reverse_bits() >> (u32::BITS - bits)) as usize;
                self.table[first & (N - 1)] =
                    if bits <= N.ilog2() { entry(symbol) | bits } else { OTHER | RARE };
                code += 1;
            }
            place += count;
            code <<= 1;
        }
        Some(())
    }

    /// What the lowest bits begin with.
    pub fn look_up(&self, word: u64) -> Entry {
        self.table[word as usize & (N - 1)]
    }

    /// Takes a symbol, those that the table has as literals faster than others. `None` if there is none.
    pub fn take(&self, bits: &mut Bits<'_>) -> Option<usize> {
        let entry = self.look_up(bits.word);
        if entry & OTHER != 0 {
            return self.take_other(bits);
        }
        bits.skip(entry & 63)?;
        Some(entry as usize >> VALUE_SHIFT)
    }

    /// Takes a symbol bit by bit: of each length, the codes are numbers that follow one another.
    fn take_other(&self, bits: &mut Bits<'_>) -> Option<usize> {
        let (mut code, mut first, mut before) = (0, 0, 0);
        for (index, count) in self.counts[1..].iter().enumerate() {
            code |= (bits.word >> index) as usize & 1;
            if let Some(place) = code.checked_sub(first)
                && place < *count
            {
                bits.skip(index as u32 + 1)?;
                return self.symbols.get(before + place).map(|&symbol| symbol.into());
            }
            before += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

fn literal_or_length(symbol: u16) -> Entry {
    match usize::from(symbol).checked_sub(END_OF_BLOCK + 1) {
        Some(length) => match_entry(&LENGTHS, &LENGTH_BITS, length),
        None if usize::from(symbol) == END_OF_BLOCK => OTHER | RARE,
        None => Entry::from(symbol) << VALUE_SHIFT,
    }
}

fn distance(symbol: u16) -> Entry {
    match_entry(&DISTANCES, &DISTANCE_BITS, symbol.into())
}

fn match_entry(values: &[u16], bits: &[u8], symbol: usize) -> Entry {
    match (values.get(symbol), bits.get(symbol)) {
        (Some(&value), Some(&bits)) => {
            OTHER | Entry::from(value) << VALUE_SHIFT | Entry::from(bits) << MORE_SHIFT
        }
        _ => OTHER | RARE,
    }
}

/// The length that a symbol stands for. `None` if there is none.
pub fn length(symbol: usize, bits: &mut Bits<'_>) -> Option<usize> {
    Some(usize::from(*LENGTHS.get(symbol)?) + bits.take((*LENGTH_BITS.get(symbol)?).into())?)
}

impl Codes {
    /// Makes the codes that blocks without codes of their own have.
    pub fn set_fixed(&mut self) -> Option<()> {
        let mut lengths = [8; LITERALS_OF_CODE];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        self.literals.build(&lengths, literal_or_length)?;
        self.distances.build(&[5; DISTANCES_OF_CODE], distance)
    }

    /// Takes a distance. `None` if there is none.
    pub fn take_distance(&self, bits: &mut Bits<'_>) -> Option<usize> {
        let symbol = self.distances.take(bits)?;
        Some(usize::from(*DISTANCES.get(symbol)?) + bits.take((*DISTANCE_BITS.get(symbol)?).into())?)
    }

    /// Reads the codes of a block.
    pub fn read(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        let literals = bits.take(5)? + 257;
        let distances = bits.take(5)? + 1;
        let stored = bits.take(4)? + 4;
        let mut lengths = [0; ORDER.len()];
        for &symbol in ORDER.get(..stored)? {
            lengths[symbol] = bits.take(3)? as u8;
        }
        self.lengths.build(&lengths, |symbol| u32::from(symbol) << VALUE_SHIFT)?;
        let mut lengths = [0; LITERALS_OF_CODE + DISTANCES_OF_CODE];
        let (mut known, all) = (0, literals + distances);
        while known < all {
            bits.refill();
            let symbol = self.lengths.take(bits)?;
            let (length, times) = match symbol {
                16 => (*lengths.get(known.checked_sub(1)?)?, 3 + bits.take(2)?),
                17 => (0, 3 + bits.take(3)?),
                18 => (0, 11 + bits.take(7)?),
                length => (length as u8, 1),
            };
            lengths.get_mut(known..(known + times).min(all))?.fill(length);
            known += times;
        }
        self.literals.build(lengths.get(..literals)?, literal_or_length)?;
        self.distances.build(lengths.get(literals..all)?, distance)
    }
}
