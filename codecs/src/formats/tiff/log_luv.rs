//! LogL and LogLuv: light from starlight to sunlight, as logarithms, tone-mapped to sRGB.
//!
//! ```text
//! LogL       s LLLLLLL LLLLLLLL                       16 bits: sign, log2 of luminance
//! LogLuv 32  s LLLLLLL LLLLLLLL  uuuuuuuu  vvvvvvvv    and CIE (u', v')
//! LogLuv 24  LLLLLLLL LLcccccc cccccccc               10 bits of luminance, and a number for (u', v')
//! ```
//! A row is stored as planes of bytes, the highest first, each as runs; one of 24 bits as it is.
//!
//! Source: Greg Ward Larson, "LogLuv encoding for full-gamut, high-dynamic range images" (1998); libtiff's tif_luv.c.

use super::log_luv_codes;
use crate::colour::tone_mapping;

/// What a strip holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LogLuv {
    L,
    Luv,
    Luv24,
}

impl LogLuv {
    /// The 8-bit samples of a pixel when it is decoded.
    pub fn samples(self) -> usize {
        if self == Self::L { 1 } else { 3 }
    }

    /// Decodes a strip of so many columns into 8-bit samples. Returns how many bytes of full rows have been decoded.
    pub fn decode(self, mut stored: &[u8], columns: usize, out: &mut [u8]) -> usize {
        let row_bytes = columns * self.samples();
        let mut row = vec![0u32; columns];
        let mut written = 0;
        for out in out.chunks_exact_mut(row_bytes) {
            let is_complete = match self {
                Self::L => runs(&mut stored, &[8, 0], &mut row),
                Self::Luv => runs(&mut stored, &[24, 16, 8, 0], &mut row),
                Self::Luv24 => numbers(&mut stored, &mut row),
            };
            if !is_complete {
                break;
            }
            for (out, &pixel) in out.chunks_exact_mut(self.samples()).zip(&row) {
                match self {
                    Self::L => out[0] = tone_mapping::map([luminance(pixel); 3])[0],
                    Self::Luv => out.copy_from_slice(&tone_mapping::map(colour(pixel))),
                    Self::Luv24 => out.copy_from_slice(&tone_mapping::map(colour_24(pixel))),
                }
            }
            written += row_bytes;
        }
        written
    }
}

/// Decodes the planes of a row.
fn runs(stored: &mut &[u8], shifts: &[u32], row: &mut [u32]) -> bool {
    row.fill(0);
    for &shift in shifts {
        let mut column = 0;
        while column < row.len() {
            let [count, rest @ ..] = *stored else { return false };
            let (count, is_run) = (usize::from(*count), *count >= 128);
            let length = if is_run { count - 126 } else { count };
            let bytes = if is_run { 1 } else { length };
            let Some(values) = rest.get(..bytes) else { return false };
            let end = (column + length).min(row.len());
            for (index, pixel) in row[column..end].iter_mut().enumerate() {
                *pixel |= u32::from(values[if is_run { 0 } else { index }]) << shift;
            }
            column = end;
            *stored = &rest[bytes..];
        }
    }
    true
}

/// Reads a row of numbers of 24 bits.
fn numbers(stored: &mut &[u8], row: &mut [u32]) -> bool {
    let Some((bytes, rest)) = stored.split_at_checked(3 * row.len()) else { return false };
    for (pixel, &[high, middle, low]) in row.iter_mut().zip(bytes.as_chunks().0) {
        *pixel = u32::from_be_bytes([0, high, middle, low]);
    }
    *stored = rest;
    true
}

/// The luminance in 16 bits.
fn luminance(bits: u32) -> f32 {
    match bits & 0x7fff {
        0 => 0.0,
        log if bits & 0x8000 == 0 => ((log as f32 + 0.5) / 256.0 - 64.0).exp2(),
        _ => 0.0,
    }
}

fn colour(pixel: u32) -> [f32; 3] {
    let chromaticity = |bits: u32| ((bits & 0xff) as f32 + 0.5) / 410.0;
    linear(luminance(pixel >> 16), chromaticity(pixel >> 8), chromaticity(pixel))
}

fn colour_24(pixel: u32) -> [f32; 3] {
    let luminance = match pixel >> 14 {
        0 => 0.0,
        log => ((log as f32 + 0.5) / 64.0 - 12.0).exp2(),
    };
    let [u, v] = log_luv_codes::chromaticity((pixel & 0x3fff) as usize);
    linear(luminance, u, v)
}

/// Linear colours with sRGB's primaries. White is where x and y are a third, as in libtiff.
fn linear(luminance: f32, u: f32, v: f32) -> [f32; 3] {
    let scale = 1.0 / (6.0 * u - 16.0 * v + 12.0);
    let (x, y) = (9.0 * u * scale, 4.0 * v * scale);
    let (big_x, big_z) = (x / y * luminance, (1.0 - x - y) / y * luminance);
    [
        2.690 * big_x - 1.276 * luminance - 0.414 * big_z,
        -1.022 * big_x + 1.978 * luminance + 0.044 * big_z,
        0.061 * big_x - 0.224 * luminance + 1.163 * big_z,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luminance_1_in_white_is_white_and_nothing_is_black() {
        // Half a step beside 1, at (u', v') = (0.2105, 0.4737).
        let white = (64 * 256) << 16 | 86 << 8 | 194;
        let [red, green, blue] = colour(white);
        assert!((red - 1.0).abs() < 0.02 && (green - 1.0).abs() < 0.02 && (blue - 1.0).abs() < 0.03);
        assert_eq!(tone_mapping::map(colour(0)), [0; 3]);
    }

    #[test]
    fn planes_of_runs_are_put_together() {
        let mut row = [0; 4];
        let mut stored = [130, 1, 4, 5, 6, 7, 8].as_slice();
        assert!(runs(&mut stored, &[8, 0], &mut row));
        assert_eq!((row, stored.len()), ([0x105, 0x106, 0x107, 0x108], 0));
        assert!(!runs(&mut [130].as_slice(), &[8, 0], &mut row));
        // Counts of nothing.
        assert!(!runs(&mut [0; 3].as_slice(), &[8, 0], &mut row));
    }
}
