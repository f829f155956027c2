//! LZW, of TIFF 6.0 and of the programs before it, which packed codes from the lowest bit.
//!
//! Every string that a code stands for has been decoded before: it is a string that was written, and the byte after it.
//! So the table holds places in the output, and long strings are copied from there. Most strings have a few bytes: the
//! table holds their beginnings too, which are written at once. So a code costs no branch that a processor
//! could not predict, which takes half the time of copying byte by byte where strings are short.
//!
//! Source: TIFF 6.0, section 13; the old order of bits is in libtiff's `LZWDecodeCompat`.

/// The code that empties the table, and the one that ends a strip.
const CLEAR: usize = 256;
const END: usize = 257;
/// The first code of a string.
const FIRST: usize = 258;
/// The codes that 12 bits have.
const CODES: usize = 4096;
/// The bytes of a string that the table holds.
const HELD: usize = 7;
/// The bytes that are copied at once.
const STEP: usize = 16;

/// Decodes strips. It keeps its tables, which are large, from one to the next.
pub struct Lzw {
    /// The short form of each code's string. That table is read for every code, and has to stay in the nearest cache.
    short: Box<[Short; CODES]>,
    /// Where each string is in the output, and its length.
    long: Box<[(u32, u32); CODES]>,
}

/// The first bytes of a string, the very first in the lowest bits, 0 behind its end; in the highest byte its length,
/// 255 for all that are longer.
#[derive(Clone, Copy)]
struct Short(u64);

impl Short {
    const ONE: u64 = 1 << 56;

    #[inline]
    fn length(self) -> usize {
        (self.0 >> 56) as usize
    }

    /// This string and the first byte of another one.
    #[inline]
    fn and_first_of(self, other: Self) -> Self {
        let length = self.length();
        let added = if length < HELD { (other.0 & 0xff) << (8 * length) } else { 0 };
        let longer = if length < 255 { Self::ONE } else { 0 };
        Self((self.0 | added) + longer)
    }
}

impl Default for Lzw {
    fn default() -> Self {
        let mut short = Box::new([Short(0); CODES]);
        for (byte, entry) in (0..).zip(&mut short[..CLEAR]) {
            *entry = Short(byte | Short::ONE);
        }
        Self { short, long: Box::new([(0, 0); CODES]) }
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
        // TIFF 6.0 widens codes one code early.
        let early = usize::from(!OLD);
        let (mut width, mut widen_at) = (9, 512 - early);
        let (mut bit, mut next, mut written) = (0, FIRST, 0);
        // The string before, where it is and how long. Length 0: there is none, the table is empty.
        let (mut before, mut place, mut length) = (Short(0), 0, 0);
        while written < out.len() {
            // Most codes: the table has entries and keeps the width, and the string is short.
            while length > 0 && next < widen_at.min(CODES) {
                let Some(code) = code_within::<OLD>(stored, bit, width) else { break };
                let Some(held) = out.get_mut(written..written + HELD + 1) else { break };
                let itself = before.and_first_of(before);
                let short = if code == next { itself } else { self.short[code & (CODES - 1)] };
                if code > next || code & !1 == CLEAR || short.length() > HELD {
                    break;
                }
                bit += width as usize;
                self.short[next] = before.and_first_of(short);
                self.long[next] = (place as u32, length as u32 + 1);
                next += 1;
                held.copy_from_slice(&short.0.to_le_bytes());
                (place, before, length) = (written, short, short.length());
                written += length;
            }
            if next >= widen_at && width < 12 {
                width += 1;
                widen_at = (1 << width) - early;
            }
            let Some(code) = code_at::<OLD>(stored, bit, width) else { break };
            bit += width as usize;
            if code & !1 == CLEAR {
                if code == END {
                    break;
                }
                (width, widen_at, next, length) = (9, 512 - early, FIRST, 0);
                continue;
            }
            let mut short = self.short[code & (CODES - 1)];
            if length > 0 && next < CODES {
                if code > next {
                    break;
                }
                // The string that this code adds ends with the first byte of this code's own, so it may be the code
                // itself: then that byte is its own first one.
                let itself = before.and_first_of(before);
                short = if code == next { itself } else { short };
                self.short[next] = before.and_first_of(short);
                self.long[next] = (place as u32, length as u32 + 1);
                next += 1;
            } else if code >= next || length == 0 && code > CLEAR {
                break;
            }
            (place, before, length) = (written, short, short.length());
            if let Some(held) = out.get_mut(written..written + HELD + 1)
                && length <= HELD
            {
                // More than the string: the bytes behind it are written later.
                held.copy_from_slice(&short.0.to_le_bytes());
                written += length;
            } else {
                let from = if code < CLEAR { 0 } else { self.long[code & (CODES - 1)].0 as usize };
                length = if code < CLEAR { 1 } else { self.long[code & (CODES - 1)].1 as usize };
                let here = length.min(out.len() - written);
                if code < CLEAR {
                    out[written] = code as u8;
                } else {
                    copy(out, from, written, here);
                }
                written += here;
            }
        }
        written
    }
}

/// The code that begins with this bit, unless that is one of the last eight bytes.
#[inline]
fn code_within<const OLD: bool>(stored: &[u8], bit: usize, width: u32) -> Option<usize> {
    let eight = stored.get(bit / 8..)?.first_chunk()?;
    Some(code_in::<OLD>(*eight, bit % 8, width))
}

/// The code that begins with this bit.
fn code_at<const OLD: bool>(stored: &[u8], bit: usize, width: u32) -> Option<usize> {
    code_within::<OLD>(stored, bit, width).or_else(|| {
        let rest = stored.get(bit / 8..).filter(|_| bit + width as usize <= stored.len() * 8)?;
        let mut eight = [0; 8];
        eight.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
        Some(code_in::<OLD>(eight, bit % 8, width))
    })
}

/// The code that begins with this bit of eight bytes.
#[inline]
fn code_in<const OLD: bool>(eight: [u8; 8], bit: usize, width: u32) -> usize {
    (match OLD {
        true => (u64::from_le_bytes(eight) >> bit) & ((1 << width) - 1),
        false => u64::from_be_bytes(eight) << bit >> (64 - width),
    }) as usize
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
            let mut encoder = weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
            let stored = encoder.encode(&picture).unwrap();
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
