//! The formats of TIFF's samples, and their conversion to 8 bits.
//!
//! Samples of 16 bits and more are little-endian here, whatever the file's byte order. Samples whose bits do not fill
//! bytes are packed from the highest bit on.
//!
//! Source: TIFF 6.0, section 8 (BitsPerSample), section 19 (SampleFormat); TIFF Technical Note 3 for floats of 16 and
//! 24 bits.

use std::iter::zip;

use super::FORMAT;
use crate::SourceError;
use crate::colour::samples::{half, round_16};

/// The storage of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleFormat {
    pub bits: u8,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unsigned,
    /// The least value is black, as in ImageMagick.
    Signed,
    /// From 0 to 1.
    Float,
}

impl SampleFormat {
    /// 8 bits, unsigned.
    pub const BYTE: Self = Self { bits: 8, kind: Kind::Unsigned };

    /// Returns the format for values of the tags BitsPerSample and SampleFormat.
    pub fn new(bits: u64, format: u64) -> Result<Self, SourceError> {
        let kind = match (format, bits) {
            // 4: "undefined".
            (1 | 4, 1..=32 | 64) => Some(Kind::Unsigned),
            (2, 8 | 16 | 24 | 32 | 64) => Some(Kind::Signed),
            (3, 16 | 24 | 32 | 64) => Some(Kind::Float),
            _ => None,
        };
        let unknown = || {
            let what = if matches!(format, 5 | 6) { "complex numbers" } else { "an unknown format" };
            FORMAT.unsupported(format_args!("its samples of {bits} bits have {what}"))
        };
        Ok(Self { bits: bits as u8, kind: kind.ok_or_else(unknown)? })
    }

    /// Returns the number of bytes in a row of `samples` samples.
    pub fn row_bytes(self, samples: usize) -> usize {
        (samples * usize::from(self.bits)).div_ceil(8)
    }

    /// Returns the number of bytes in a sample whose bytes are in the file's order, or 1 if it has no such order.
    pub fn bytes_in_order(self) -> usize {
        match self.bits {
            16 | 24 | 32 | 64 => usize::from(self.bits) / 8,
            _ => 1,
        }
    }

    pub fn is_float(self) -> bool {
        self.kind == Kind::Float
    }

    /// Returns the least and the greatest value.
    pub fn range(self) -> (f64, f64) {
        let half = 2f64.powi(i32::from(self.bits) - 1);
        match self.kind {
            Kind::Unsigned => (0.0, 2.0 * half - 1.0),
            Kind::Signed => (-half, half - 1.0),
            Kind::Float => (0.0, 1.0),
        }
    }

    /// Returns the bits of a sample of a row, or 0 beyond its end.
    fn bits_at(self, row: &[u8], index: usize) -> u64 {
        let bits = usize::from(self.bits);
        let bytes = self.bytes_in_order();
        if bytes > 1 {
            let stored = row.get(index * bytes..(index + 1) * bytes).unwrap_or_default();
            return stored.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        }
        let (first, last) = (index * bits / 8, ((index + 1) * bits).div_ceil(8));
        let stored = row.get(first..last).unwrap_or_default();
        let wide = stored.iter().fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
        wide >> (last * 8 - (index + 1) * bits) & (u64::MAX >> (64 - bits))
    }

    /// Returns the value of a sample of a row.
    pub fn value(self, row: &[u8], index: usize) -> f64 {
        let bits = self.bits_at(row, index);
        match self.kind {
            Kind::Unsigned => bits as f64,
            Kind::Signed => {
                let unused = 64 - u32::from(self.bits);
                ((bits << unused) as i64 >> unused) as f64
            }
            Kind::Float => match self.bits {
                16 => f64::from(half(bits as u16)),
                24 => float_24(bits as u32),
                32 => f64::from(f32::from_bits(bits as u32)),
                _ => f64::from_bits(bits),
            },
        }
    }

    /// Returns the value of a sample that is nearest to a number, or `None` if an integer cannot have the number.
    pub fn nearest(self, number: f64) -> Option<f64> {
        let (least, most) = self.range();
        match (self.kind, self.bits) {
            (Kind::Float, 16) => Some(rounded(number, 10, -14)),
            (Kind::Float, 24) => Some(rounded(number, 16, -62)),
            (Kind::Float, 32) => Some(f64::from(number as f32)),
            (Kind::Float, _) => Some(number),
            _ => (number.fract() == 0.0 && (least..=most).contains(&number)).then_some(number),
        }
    }

    /// Returns a sample of a row as a palette index.
    pub fn index(self, row: &[u8], index: usize) -> usize {
        self.bits_at(row, index) as usize
    }

    /// Converts the samples of a row to 8 bits.
    pub fn to_8_bit(self, row: &[u8], out: &mut [u8]) {
        let unit = |value: f64| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        match (self.kind, self.bits) {
            (Kind::Unsigned, 8) => zip(out, row).for_each(|(out, &value)| *out = value),
            (Kind::Signed, 8) => zip(out, row).for_each(|(out, &value)| *out = value ^ 0x80),
            (Kind::Unsigned, 16) => {
                zip(out, row.as_chunks().0)
                    .for_each(|(out, &value)| *out = round_16(u16::from_le_bytes(value)));
            }
            (Kind::Unsigned, 1) => unpack::<1>(row, out),
            (Kind::Unsigned, 2) => unpack::<2>(row, out),
            (Kind::Unsigned, 4) => unpack::<4>(row, out),
            (Kind::Float, 32) => {
                zip(out, row.as_chunks().0)
                    .for_each(|(out, &value)| *out = unit(f64::from(f32::from_le_bytes(value))));
            }
            (Kind::Float, _) => {
                out.iter_mut().enumerate().for_each(|(index, out)| *out = unit(self.value(row, index)));
            }
            (kind, bits) => {
                let max = u64::MAX >> (64 - bits);
                let offset = if kind == Kind::Signed { 1 << (bits - 1) } else { 0 };
                for (index, out) in out.iter_mut().enumerate() {
                    let value = self.bits_at(row, index) ^ offset;
                    *out = ((u128::from(value) * 255 + u128::from(max / 2)) / u128::from(max)) as u8;
                }
            }
        }
    }
}

/// Unpacks samples of fewer than 8 bits.
fn unpack<const BITS: usize>(row: &[u8], out: &mut [u8]) {
    let (in_byte, max) = (8 / BITS, (1u16 << BITS) - 1);
    for (out, &byte) in out.chunks_mut(in_byte).zip(row) {
        for (index, out) in out.iter_mut().enumerate() {
            let shift = 8 - BITS * (index + 1);
            *out = ((u16::from(byte) >> shift & max) * (255 / max)) as u8;
        }
    }
}

/// Rounds a number to a float with this number of bits in its mantissa, and this smallest exponent.
fn rounded(number: f64, mantissa: i32, smallest: i32) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let exponent = (number.abs().log2().floor() as i32).max(smallest);
    let step = 2f64.powi(exponent - mantissa);
    (number / step).round_ties_even() * step
}

/// Converts a float of 24 bits: a sign, 7 bits of exponent, 16 of mantissa.
fn float_24(bits: u32) -> f64 {
    let (exponent, mantissa) = ((bits >> 16 & 0x7f) as i32, f64::from(bits & 0xffff) / 65_536.0);
    let size = match exponent {
        0 => mantissa * 2f64.powi(-62),
        0x7f if mantissa == 0.0 => f64::INFINITY,
        0x7f => f64::NAN,
        _ => (1.0 + mantissa) * 2f64.powi(exponent - 63),
    };
    if bits >> 23 & 1 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(bits: u64, format: u64, row: &[u8]) -> [u8; 2] {
        let mut out = [0; 2];
        SampleFormat::new(bits, format).unwrap().to_8_bit(row, &mut out);
        out
    }

    #[test]
    fn integers_of_all_sizes_are_scaled() {
        assert_eq!(shown(1, 1, &[0b0100_0000]), [0, 255]);
        assert_eq!(shown(4, 1, &[0x0f]), [0, 255]);
        assert_eq!(shown(6, 1, &[0b1111_1110, 0]), [255, 130]);
        assert_eq!(shown(10, 1, &[0xff, 0xe0, 0x00]), [255, 128]);
        assert_eq!(shown(12, 1, &[0xff, 0xf8, 0x00]), [255, 128]);
        assert_eq!(shown(14, 1, &[0xff, 0xfe, 0, 0]), [255, 128]);
        assert_eq!(shown(16, 1, &[0xff, 0xff, 0, 0x80]), [255, 128]);
        assert_eq!(shown(24, 1, &[0xff, 0xff, 0xff, 0, 0, 0x80]), [255, 128]);
        assert_eq!(shown(64, 1, &[[0xff; 8], [0; 8]].concat()), [255, 0]);
        assert_eq!(shown(8, 2, &[0x7f, 0x80]), [255, 0]);
        assert_eq!(shown(16, 2, &[0, 0x80, 0, 0]), [0, 128]);
    }

    #[test]
    fn floats_of_all_sizes_are_clamped() {
        assert_eq!(shown(16, 3, &[0, 0x3c, 0, 0x38]), [255, 128]);
        assert_eq!(shown(24, 3, &[0, 0, 0x3f, 0, 0, 0x3e]), [255, 128]);
        assert_eq!(shown(64, 3, &[2f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat()), [255, 0]);
    }

    proptest! {
        #[test]
        fn a_row_that_is_too_short_is_no_panic(
            bits in 0u64..70, format in 0u64..7, row in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            if let Ok(sample) = SampleFormat::new(bits, format) {
                sample.to_8_bit(&row, &mut [0; 20]);
                for index in 0..20 {
                    let _ = (sample.value(&row, index), sample.index(&row, index));
                }
            }
        }
    }
}
