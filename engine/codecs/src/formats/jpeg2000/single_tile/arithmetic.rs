//! The arithmetic decoder (MQ), and the raw bits of passes that bypass it.
//!
//! Source: ITU-T T.800, annex C (the decoder as in figures C.15 to C.20, the states of table C.2), D.6 (bits).

/// Contexts 0 to 8 are of significance, 9 to 13 of signs, 14 to 16 of refinement, and these two of runs and of bits
/// without a model.
pub const RUN: usize = 17;
pub const UNIFORM: usize = 18;
const CONTEXTS: usize = 19;

/// The initial state of each context (table D.7).
const INITIAL: [u8; CONTEXTS] = {
    let mut initial = [0; CONTEXTS];
    initial[0] = 4 << 1;
    initial[RUN] = 3 << 1;
    initial[UNIFORM] = 46 << 1;
    initial
};

/// A probability state combined with its more probable symbol: the probability of the other symbol, and the next
/// states.
#[derive(Clone, Copy)]
struct State {
    probability: u16,
    after_likely: u8,
    after_unlikely: u8,
}

/// Table C.2: the probability of the less probable symbol, the next states after the more probable and the less
/// probable one, and 1 if the two symbols then change places.
const TABLE: [(u16, u8, u8, u8); 47] = [
    (0x5601, 1, 1, 1),
    (0x3401, 2, 6, 0),
    (0x1801, 3, 9, 0),
    (0x0ac1, 4, 12, 0),
    (0x0521, 5, 29, 0),
    (0x0221, 38, 33, 0),
    (0x5601, 7, 6, 1),
    (0x5401, 8, 14, 0),
    (0x4801, 9, 14, 0),
    (0x3801, 10, 14, 0),
    (0x3001, 11, 17, 0),
    (0x2401, 12, 18, 0),
    (0x1c01, 13, 20, 0),
    (0x1601, 29, 21, 0),
    (0x5601, 15, 14, 1),
    (0x5401, 16, 14, 0),
    (0x5101, 17, 15, 0),
    (0x4801, 18, 16, 0),
    (0x3801, 19, 17, 0),
    (0x3401, 20, 18, 0),
    (0x3001, 21, 19, 0),
    (0x2801, 22, 19, 0),
    (0x2401, 23, 20, 0),
    (0x2201, 24, 21, 0),
    (0x1c01, 25, 22, 0),
    (0x1801, 26, 23, 0),
    (0x1601, 27, 24, 0),
    (0x1401, 28, 25, 0),
    (0x1201, 29, 26, 0),
    (0x1101, 30, 27, 0),
    (0x0ac1, 31, 28, 0),
    (0x09c1, 32, 29, 0),
    (0x08a1, 33, 30, 0),
    (0x0521, 34, 31, 0),
    (0x0441, 35, 32, 0),
    (0x02a1, 36, 33, 0),
    (0x0221, 37, 34, 0),
    (0x0141, 38, 35, 0),
    (0x0111, 39, 36, 0),
    (0x0085, 40, 37, 0),
    (0x0049, 41, 38, 0),
    (0x0025, 42, 39, 0),
    (0x0015, 43, 40, 0),
    (0x0009, 44, 41, 0),
    (0x0005, 45, 42, 0),
    (0x0001, 45, 43, 0),
    (0x5601, 46, 46, 0),
];

/// The states, at index 2 × number + more probable symbol. The length lets an index of 8 bits go unchecked.
const STATES: [State; 256] = {
    let mut states = [State { probability: 0x5601, after_likely: 0, after_unlikely: 0 }; 256];
    let mut index = 0;
    while index < 2 * TABLE.len() {
        let (probability, likely, unlikely, changes) = TABLE[index / 2];
        let symbol = (index % 2) as u8;
        states[index] = State {
            probability,
            after_likely: 2 * likely + symbol,
            after_unlikely: 2 * unlikely + (symbol ^ changes),
        };
        index += 1;
    }
    states
};

/// A reader of the symbols of a coding pass.
pub trait Symbols {
    /// True if signs are raw bits.
    const IS_PLAIN: bool;
    /// Returns the next symbol of a context, 0 or 1.
    fn symbol(&mut self, context: usize) -> u32;
}

/// The arithmetic decoder.
pub struct Arithmetic<'a> {
    bytes: &'a [u8],
    at: usize,
    interval: u32,
    code: u32,
    /// Number of shifts until the next byte is needed.
    shifts: u32,
    contexts: [u8; 32],
}

impl<'a> Arithmetic<'a> {
    /// Returns a decoder without bytes.
    pub fn new() -> Self {
        let mut decoder = Self { bytes: &[], at: 0, interval: 0x8000, code: 0, shifts: 0, contexts: [0; 32] };
        decoder.reset();
        decoder
    }

    /// Starts a segment.
    pub fn begin(&mut self, bytes: &'a [u8]) {
        self.bytes = bytes;
        self.at = 0;
        self.code = u32::from(self.byte(0)) << 16;
        self.next_byte();
        self.code <<= 7;
        self.shifts -= 7;
        self.interval = 0x8000;
    }

    /// Resets all contexts.
    pub fn reset(&mut self) {
        self.contexts[..CONTEXTS].copy_from_slice(&INITIAL);
    }

    /// Returns a byte of the segment, or ones after its end.
    #[inline(always)]
    fn byte(&self, index: usize) -> u8 {
        self.bytes.get(index).copied().unwrap_or(0xff)
    }

    #[inline(always)]
    fn next_byte(&mut self) {
        let next = self.byte(self.at + 1);
        if self.byte(self.at) != 0xff {
            self.at += 1;
            self.code = self.code.wrapping_add(u32::from(next) << 8);
            self.shifts = 8;
        } else if next > 0x8f {
            // A marker: the segment has ended.
            self.code = self.code.wrapping_add(0xff00);
            self.shifts = 8;
        } else {
            self.at += 1;
            self.code = self.code.wrapping_add(u32::from(next) << 9);
            self.shifts = 7;
        }
    }

    #[inline(always)]
    fn renormalize(&mut self) {
        loop {
            if self.shifts == 0 {
                self.next_byte();
            }
            self.interval <<= 1;
            self.code <<= 1;
            self.shifts -= 1;
            if self.interval & 0x8000 != 0 {
                return;
            }
        }
    }
}

impl Symbols for Arithmetic<'_> {
    const IS_PLAIN: bool = false;

    #[inline(always)]
    fn symbol(&mut self, context: usize) -> u32 {
        let number = self.contexts[context & 31];
        let state = STATES[usize::from(number)];
        let likely = u32::from(number & 1);
        let probability = u32::from(state.probability);
        self.interval -= probability;
        let (is_likely, interval) = if (self.code >> 16) < probability {
            (self.interval < probability, probability)
        } else {
            self.code -= probability << 16;
            if self.interval & 0x8000 != 0 {
                return likely;
            }
            (self.interval >= probability, self.interval)
        };
        self.interval = interval;
        self.contexts[context & 31] = if is_likely { state.after_likely } else { state.after_unlikely };
        self.renormalize();
        likely ^ u32::from(!is_likely)
    }
}

/// Raw bits. A bit is stuffed after a byte of ones.
pub struct Plain<'a> {
    bytes: &'a [u8],
    at: usize,
    byte: u8,
    left: u8,
}

impl<'a> Plain<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, byte: 0, left: 0 }
    }
}

impl Symbols for Plain<'_> {
    const IS_PLAIN: bool = true;

    #[inline(always)]
    fn symbol(&mut self, _: usize) -> u32 {
        if self.left == 0 {
            self.left = if self.byte == 0xff { 7 } else { 8 };
            self.byte = self.bytes.get(self.at).copied().unwrap_or(0xff);
            self.at += 1;
        }
        self.left -= 1;
        u32::from(self.byte >> self.left & 1)
    }
}
