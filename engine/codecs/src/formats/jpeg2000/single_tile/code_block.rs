//! Decodes a code block: bit plane by bit plane, in three passes each, in stripes of four rows.
//!
//! Each column of a stripe has a word of flags for its four coefficients, so that one comparison skips all four where
//! none is significant yet (the layout of OpenJPEG's `t1.h`):
//!
//! ```text
//! bits 0–17     significance of the left column, this and the right one, in the six rows around: 3 bits a row
//! bit 18        the coefficient above the stripe is negative
//! bits 19 + 3n  the coefficient of row n is negative,  bit 31: the one below the stripe is
//! bits 20 + 3n  it has been refined
//! bits 21 + 3n  it has been coded in this bit plane
//! ```
//! Source: ITU-T T.800, annex D.

use super::arithmetic::{Arithmetic, Plain, RUN, Symbols, UNIFORM};
use super::coding::Style;

/// Flags of the first row. Those of each further row are shifted by three more.
const SIGNIFICANT: u32 = 1 << 4;
const AROUND: u32 = 0b1_1110_1111;
const NEGATIVE: u32 = 19;
const REFINED: u32 = 1 << 20;
const SEEN: u32 = 1 << 21;
const ALL_SEEN: u32 = SEEN | SEEN << 3 | SEEN << 6 | SEEN << 9;

/// The most bit planes that fit into 32 bits, with a bit for halves and one for the sign.
pub const MOST_PLANES: u32 = 30;

/// A code block with its bytes.
pub struct CodeBlock<'a> {
    pub width: usize,
    pub height: usize,
    /// 0 for LL, 1 for HL, 2 for LH, 3 for HH.
    pub band: u8,
    pub style: Style,
    /// Number of bit planes that have bits, at most [`MOST_PLANES`].
    pub planes: u32,
    /// The number of passes and of bytes of each chunk.
    pub chunks: &'a [(u32, usize)],
    pub bytes: &'a [u8],
}

/// The coefficients of a code block while they are decoded.
struct Plane {
    width: usize,
    height: usize,
    /// Words of a stripe, with one more at each end.
    stride: usize,
    significance: &'static [u8; 512],
    is_causal: bool,
    flags: Vec<u32>,
    values: Vec<i32>,
}

impl CodeBlock<'_> {
    /// Returns the coefficients times two, row by row. The lowest bit is half a step, set where later bit planes are
    /// missing.
    pub fn decode(&self) -> Vec<i32> {
        let stride = self.width + 2;
        let mut plane = Plane {
            width: self.width,
            height: self.height,
            stride,
            significance: &SIGNIFICANCE[usize::from(self.band & 3)],
            is_causal: self.style.is_causal,
            flags: vec![0; stride * (self.height.div_ceil(4) + 2)],
            values: vec![0; self.width * self.height],
        };
        let mut decoder = Arithmetic::new();
        let (mut pass, mut begun, mut start, mut end) = (0, 0, 0, 0);
        for (index, &(passes, length)) in self.chunks.iter().enumerate() {
            pass += passes;
            end += length;
            // A segment continues in the next chunk until it has all its passes.
            if pass < self.style.segment_end(begun) && index + 1 < self.chunks.len() {
                continue;
            }
            let bytes = self.bytes.get(start..end).unwrap_or_default();
            if !self.decode_segment(&mut plane, &mut decoder, begun..pass, bytes) {
                break;
            }
            begun = pass;
            start = end;
        }
        plane.values
    }

    /// Decodes the passes of a segment. Returns true if there are more bit planes.
    fn decode_segment<'b>(
        &self,
        plane: &mut Plane,
        decoder: &mut Arithmetic<'b>,
        passes: std::ops::Range<u32>,
        bytes: &'b [u8],
    ) -> bool {
        let is_plain = |pass: u32| self.style.bypass && pass >= 10 && !pass.is_multiple_of(3);
        let mut plain = Plain::new(bytes);
        if !is_plain(passes.start) {
            decoder.begin(bytes);
        }
        for pass in passes {
            // The first bit plane has only the last of the three passes.
            let Some(number) = self.planes.checked_sub(1 + pass.div_ceil(3)) else { return false };
            // One more bit for halves.
            let one = 2 << number;
            match ((pass + 2) % 3, is_plain(pass)) {
                (0, false) => plane.find_significant(one, decoder),
                (0, true) => plane.find_significant(one, &mut plain),
                (1, false) => plane.refine(one, decoder),
                (1, true) => plane.refine(one, &mut plain),
                _ => {
                    plane.clean_up(one, decoder);
                    if self.style.has_symbols {
                        (0..4).for_each(|_| {
                            decoder.symbol(UNIFORM);
                        });
                    }
                }
            }
            if self.style.reset {
                decoder.reset();
            }
        }
        true
    }
}

impl Plane {
    /// Returns the stripes: the index of the first word and of the first value, and the number of rows.
    fn stripes(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let (stride, width, height) = (self.stride, self.width, self.height);
        (0..height)
            .step_by(4)
            .map(move |top| ((top / 4 + 1) * stride + 1, top * width, (height - top).min(4)))
    }

    /// The significance propagation pass (D.3.1): coefficients that are not significant but have a significant
    /// neighbour.
    fn find_significant<S: Symbols>(&mut self, one: i32, symbols: &mut S) {
        for (words, values, rows) in self.stripes() {
            for column in 0..self.width {
                let word = words + column;
                if self.flags[word] == 0 {
                    continue;
                }
                for row in 0..rows {
                    let known = self.flags[word] >> (3 * row);
                    if known & (SIGNIFICANT | SEEN) != 0 || known & AROUND == 0 {
                        continue;
                    }
                    let context = self.significance[(known & AROUND) as usize];
                    if symbols.symbol(usize::from(context)) == 1 {
                        self.become_significant(
                            (word, row),
                            values + row * self.width + column,
                            one,
                            symbols,
                        );
                    }
                    self.flags[word] |= SEEN << (3 * row);
                }
            }
        }
    }

    /// The refinement pass (D.3.3): coefficients that were significant before this bit plane.
    fn refine<S: Symbols>(&mut self, one: i32, symbols: &mut S) {
        let half = one >> 1;
        for (words, values, rows) in self.stripes() {
            for column in 0..self.width {
                let word = words + column;
                let mut flags = self.flags[word];
                if flags & (SIGNIFICANT | SIGNIFICANT << 3 | SIGNIFICANT << 6 | SIGNIFICANT << 9) == 0 {
                    continue;
                }
                for row in 0..rows {
                    let known = flags >> (3 * row);
                    if known & (SIGNIFICANT | SEEN) != SIGNIFICANT {
                        continue;
                    }
                    let context = match (known & REFINED, known & AROUND) {
                        (0, 0) => 14,
                        (0, _) => 15,
                        _ => 16,
                    };
                    let is_more = symbols.symbol(context) == 1;
                    let value = &mut self.values[values + row * self.width + column];
                    *value += if is_more == (*value >= 0) { half } else { -half };
                    flags |= REFINED << (3 * row);
                }
                self.flags[word] = flags;
            }
        }
    }

    /// The clean-up pass (D.3.4): all other coefficients.
    fn clean_up(&mut self, one: i32, symbols: &mut Arithmetic<'_>) {
        for (words, values, rows) in self.stripes() {
            for column in 0..self.width {
                let word = words + column;
                let mut first = 0;
                let mut is_found = false;
                if rows == 4 && self.flags[word] == 0 {
                    if symbols.symbol(RUN) == 0 {
                        continue;
                    }
                    first = (symbols.symbol(UNIFORM) << 1 | symbols.symbol(UNIFORM)) as usize;
                    is_found = true;
                }
                for row in first..rows {
                    let known = self.flags[word] >> (3 * row);
                    if !is_found {
                        if known & (SIGNIFICANT | SEEN) != 0 {
                            continue;
                        }
                        let context = self.significance[(known & AROUND) as usize];
                        if symbols.symbol(usize::from(context)) == 0 {
                            continue;
                        }
                    }
                    is_found = false;
                    self.become_significant((word, row), values + row * self.width + column, one, symbols);
                }
                self.flags[word] &= !ALL_SEEN;
            }
        }
    }

    /// Reads a sign (D.3.2), and updates the flags of all neighbours.
    #[inline(always)]
    fn become_significant<S: Symbols>(
        &mut self,
        (word, row): (usize, usize),
        value: usize,
        one: i32,
        symbols: &mut S,
    ) {
        let shift = 3 * row as u32;
        let (here, left, right) = (self.flags[word], self.flags[word - 1], self.flags[word + 1]);
        let above = if row == 0 { here >> 18 } else { here >> (NEGATIVE + shift - 3) };
        let around = here >> shift & 0b1010_1010
            | left >> (NEGATIVE + shift) & 1
            | (right >> (NEGATIVE + shift) & 1) << 2
            | (above & 1) << 4
            | (here >> (NEGATIVE + 3 + shift) & 1) << 6;
        let entry = SIGN[around as usize];
        let is_inverted = u32::from(entry >> 7);
        let symbol = symbols.symbol(usize::from(entry & 0x7f));
        let negative = if S::IS_PLAIN { symbol } else { symbol ^ is_inverted };
        let middle = one | one >> 1;
        self.values[value] = if negative == 1 { -middle } else { middle };
        self.flags[word - 1] |= 1 << (5 + shift);
        self.flags[word] |= (negative << NEGATIVE | SIGNIFICANT) << shift;
        self.flags[word + 1] |= 1 << (3 + shift);
        if row == 0 && !self.is_causal {
            let word = word - self.stride;
            self.flags[word - 1] |= 1 << 17;
            self.flags[word] |= negative << 31 | 1 << 16;
            self.flags[word + 1] |= 1 << 15;
        }
        if row == 3 {
            let word = word + self.stride;
            self.flags[word - 1] |= 1 << 2;
            self.flags[word] |= negative << 18 | 1 << 1;
            self.flags[word + 1] |= 1;
        }
    }
}

/// The number of combinations of significance in 3×3 coefficients: bit 0 is the upper left one, bit 4 the centre.
const NEIGHBOURS: usize = 512;

/// The contexts of significance by the neighbours' significance, for the bands LL, HL, LH, HH (ITU-T T.800, table D.1).
static SIGNIFICANCE: [[u8; NEIGHBOURS]; 4] =
    [significance(0), significance(1), significance(2), significance(3)];

/// The contexts of signs, with bit 7 set if the sign is inverted (ITU-T T.800, tables D.2 and D.3). The bits of the
/// index, from bit 0 on: left negative, above significant, right negative, left significant, above negative, right
/// significant, below negative, below significant.
static SIGN: [u8; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let across = sum(index >> 3, index) + sum(index >> 5, index >> 2);
        let down = sum(index >> 1, index >> 4) + sum(index >> 7, index >> 6);
        let (across, down) = (limited(across), limited(down));
        let is_inverted = across < 0 || (across == 0 && down < 0);
        let (across, down) = if is_inverted { (-across, -down) } else { (across, down) };
        let context = 9 + (if across == 1 { 3 + down } else { down }) as u8;
        table[index] = context | if is_inverted { 0x80 } else { 0 };
        index += 1;
    }
    table
};

/// Returns a neighbour's contribution: 0 if it is not significant, else its sign.
const fn sum(is_significant: usize, is_negative: usize) -> i32 {
    match (is_significant & 1, is_negative & 1) {
        (0, _) => 0,
        (_, 0) => 1,
        _ => -1,
    }
}

const fn limited(sum: i32) -> i32 {
    if sum > 1 {
        1
    } else if sum < -1 {
        -1
    } else {
        sum
    }
}

const fn significance(band: usize) -> [u8; NEIGHBOURS] {
    let mut table = [0; NEIGHBOURS];
    let mut index = 0;
    while index < NEIGHBOURS {
        let across = (index >> 3 & 1) + (index >> 5 & 1);
        let down = (index >> 1 & 1) + (index >> 7 & 1);
        let diagonal = (index & 1) + (index >> 2 & 1) + (index >> 6 & 1) + (index >> 8 & 1);
        table[index] = match band {
            1 => beside(down, across, diagonal),
            3 => diagonally(across + down, diagonal),
            _ => beside(across, down, diagonal),
        };
        index += 1;
    }
    table
}

const fn beside(first: usize, second: usize, diagonal: usize) -> u8 {
    match (first, second, diagonal) {
        (2, _, _) => 8,
        (1, 1.., _) => 7,
        (1, 0, 1..) => 6,
        (1, 0, 0) => 5,
        (_, 2, _) => 4,
        (_, 1, _) => 3,
        (_, _, 2..) => 2,
        (_, _, 1) => 1,
        _ => 0,
    }
}

const fn diagonally(beside: usize, diagonal: usize) -> u8 {
    match (diagonal, beside) {
        (3.., _) => 8,
        (2, 1..) => 7,
        (2, 0) => 6,
        (1, 2..) => 5,
        (1, 1) => 4,
        (1, 0) => 3,
        (_, 2..) => 2,
        (_, 1) => 1,
        _ => 0,
    }
}
