//! LZW, of TIFF 6.0 and of the programs before it, which packed codes from the lowest bit.
//!
//! Every string that a code stands for has been decoded before: it is a string that was written, and the byte after it.
//! So the table holds places in the output, and strings are copied from there, many bytes at a time.
//!
//! Source: TIFF 6.0, section 13; the old order of bits is in libtiff's `LZWDecodeCompat`.

/// The code that empties the table, and the one that ends a strip.
const CLEAR: usize = 256;
const END: usize = 257;
/// The first code of a string.
const FIRST: usize = 258;
/// The codes that 12 bits have.
const CODES: usize = 4096;
/// The bytes that are copied at once. Most strings are shorter.
const STEP: usize = 16;

/// Decodes strips. It keeps its table, which is large, from one to the next.
pub struct Lzw {
    /// The place in the output and the length of each code's string.
    strings: Box<[(u32, u32); CODES]>,
}

impl Default for Lzw {
    fn default() -> Self {
        Self { strings: Box::new([(0, 0); CODES]) }
    }
}

impl Lzw {
    /// Decodes a strip up to its end or to the end of `out`. Returns how many bytes have been decoded.
    pub fn decode(&mut self, stored: &[u8], out: &mut [u8]) -> usize {
        // Places are kept in 32 bits.
        let most = out.len().min(u32::MAX as usize);
        let out = &mut out[..most];
        // A strip begins with the code 256 in 9 bits: 0x80 from the highest bit, 0x00 0x01 from the lowest.
        match stored {
            [0, second, ..] if second & 1 == 1 => self.run::<true>(stored, out),
            _ => self.run::<false>(stored, out),
        }
    }

    fn run<const OLD: bool>(&mut self, stored: &[u8], out: &mut [u8]) -> usize {
        let mut bits = Bits::<OLD> { stored, next: 0, held: 0, count: 0 };
        // TIFF 6.0 widens codes one code early.
        let early = usize::from(!OLD);
        let (mut width, mut widen_at) = (9, 512 - early);
        let mut code_count = FIRST;
        let mut written = 0;
        // The place and length of the string before. Length 0: there is none, the table is empty.
        let (mut before, mut before_length) = (0, 0);
        while let Some(code) = bits.take(width) {
            if code < CLEAR {
                let Some(place) = out.get_mut(written) else { break };
                *place = code as u8;
                if before_length > 0 && code_count < CODES {
                    self.strings[code_count] = (before as u32, before_length as u32 + 1);
                    code_count += 1;
                }
                (before, before_length) = (written, 1);
                written += 1;
            } else if code == CLEAR {
                (width, widen_at, code_count, before_length) = (9, 512 - early, FIRST, 0);
                continue;
            } else if code == END {
                break;
            } else {
                // The string that this code adds begins with this code's own first byte, so it may be the code itself.
                if before_length == 0 || code > code_count || code >= CODES {
                    break;
                }
                if code_count < CODES {
                    self.strings[code_count] = (before as u32, before_length as u32 + 1);
                    code_count += 1;
                }
                if code >= code_count {
                    break;
                }
                let (place, length) = self.strings[code & (CODES - 1)];
                let (place, length) = (place as usize, length as usize);
                let length_here = length.min(out.len() - written);
                copy(out, place, written, length_here);
                before = written;
                written += length_here;
                before_length = length;
                if length_here < length {
                    break;
                }
            }
            if code_count >= widen_at && width < 12 {
                width += 1;
                widen_at = (1 << width) - early;
            }
        }
        written
    }
}

/// Copies bytes that have been written, or begin with some that have, to the end of what has been written.
#[inline]
fn copy(out: &mut [u8], from: usize, to: usize, length: usize) {
    if length <= STEP && from + STEP <= to && to + STEP <= out.len() {
        // More than needed: the bytes behind are written later.
        let (written, rest) = out.split_at_mut(to);
        rest[..STEP].copy_from_slice(&written[from..from + STEP]);
    } else if length > STEP && from + length <= to {
        out.copy_within(from..from + length, to);
    } else {
        for index in 0..length {
            out[to + index] = out[from + index];
        }
    }
}

/// Takes codes from a strip.
struct Bits<'a, const OLD: bool> {
    stored: &'a [u8],
    next: usize,
    /// Bits that have been read and not taken, from the highest; in the old order from the lowest.
    held: u64,
    count: u32,
}

impl<const OLD: bool> Bits<'_, OLD> {
    #[inline]
    fn take(&mut self, width: u32) -> Option<usize> {
        if self.count < width {
            self.fill(width)?;
        }
        self.count -= width;
        if OLD {
            let code = self.held & ((1 << width) - 1);
            self.held >>= width;
            Some(code as usize)
        } else {
            let code = self.held >> (64 - width);
            self.held <<= width;
            Some(code as usize)
        }
    }

    /// Reads whole bytes, as many as fit. The last bytes of a strip may hold fewer bits than a code has.
    #[inline]
    fn fill(&mut self, width: u32) -> Option<()> {
        if let Some(&eight) = self.stored.get(self.next..).and_then(|rest| rest.first_chunk::<8>()) {
            let bytes = (63 - self.count) / 8;
            if OLD {
                let read = u64::from_le_bytes(eight) & ((1 << (8 * bytes)) - 1);
                self.held |= read << self.count;
            } else {
                let read = u64::from_be_bytes(eight) >> (64 - 8 * bytes) << (64 - 8 * bytes);
                self.held |= read >> self.count;
            }
            self.next += bytes as usize;
            self.count += 8 * bytes;
            return Some(());
        }
        while self.count < width {
            let byte = u64::from(*self.stored.get(self.next)?);
            self.held |= if OLD { byte << self.count } else { byte << 56 >> self.count };
            self.next += 1;
            self.count += 8;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(stored: &[u8], length: usize) -> Vec<u8> {
        let mut out = vec![0; length];
        let written = Lzw::default().decode(stored, &mut out);
        out.truncate(written);
        out
    }

    /// Codes of 9 bits.
    fn packed(codes: &[u32], old: bool) -> Vec<u8> {
        let bit = |index: usize| {
            let (code, place) = (codes[index / 9], index % 9);
            code >> if old { place } else { 8 - place } & 1
        };
        let bits: Vec<u32> = (0..codes.len() * 9).map(bit).collect();
        let byte = |bits: &[u32]| {
            let shift = |place: usize| if old { place } else { 7 - place };
            bits.iter().enumerate().fold(0, |byte, (place, &bit)| byte | (bit as u8) << shift(place))
        };
        bits.chunks(8).map(byte).collect()
    }

    #[test]
    fn the_example_of_the_specification_is_decoded_in_both_orders_of_bits() {
        // TIFF 6.0, section 13.
        let codes = [256, 7, 258, 8, 8, 258, 6, 6, 257];
        for old in [false, true] {
            assert_eq!(decoded(&packed(&codes, old), 100), [7, 7, 7, 8, 8, 7, 7, 6, 6], "old order: {old}");
        }
    }

    #[test]
    fn a_string_that_contains_itself_is_decoded() {
        assert_eq!(decoded(&packed(&[256, 1, 258, 259, 257], false), 100), [1; 6]);
    }

    proptest! {
        #[test]
        fn what_another_encoder_writes_is_decoded(picture in prop::collection::vec(0u8..7, 0..9000)) {
            let stored = weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(&picture).unwrap();
            prop_assert_eq!(decoded(&stored, picture.len()), picture);
        }

        #[test]
        fn anything_ends(stored in prop::collection::vec(any::<u8>(), 0..3000), length in 0usize..5000) {
            prop_assert!(decoded(&stored, length).len() <= length);
            let old = [&[0, 1], stored.as_slice()].concat();
            prop_assert!(decoded(&old, length).len() <= length);
        }
    }
}
