//! LogL and LogLuv: luminances from starlight to sunlight, as logarithms, tone-mapped to sRGB.
//!
//! ```text
//! LogL       s LLLLLLL LLLLLLLL                       16 bits: sign, log2 of luminance
//! LogLuv 32  s LLLLLLL LLLLLLLL  uuuuuuuu  vvvvvvvv    and CIE (u', v')
//! LogLuv 24  LLLLLLLL LLcccccc cccccccc               10 bits of luminance, and a number for (u', v')
//! ```
//! A row is stored as planes of bytes, the highest first, each as runs; one of 24 bits as it is.
//!
//! Source: Greg Ward Larson, "LogLuv encoding for full-gamut, high-dynamic range images" (1998); libtiff's tif_luv.c.

use std::sync::LazyLock;

use crate::colour::tone_mapping;

/// The encoding of a strip.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LogLuv {
    L,
    Luv,
    Luv24,
}

impl LogLuv {
    /// Returns the number of 8-bit samples in a decoded pixel.
    pub fn samples(self) -> usize {
        if self == Self::L { 1 } else { 3 }
    }

    /// Decodes a strip of `columns` columns into 8-bit samples. Returns the number of bytes of full rows decoded.
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

/// Decodes the planes of a row. Returns false if they are incomplete.
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

/// Reads a row of numbers of 24 bits. Returns false if it is incomplete.
fn numbers(stored: &mut &[u8], row: &mut [u32]) -> bool {
    let Some((bytes, rest)) = stored.split_at_checked(3 * row.len()) else { return false };
    for (pixel, &[high, middle, low]) in row.iter_mut().zip(bytes.as_chunks().0) {
        *pixel = u32::from_be_bytes([0, high, middle, low]);
    }
    *stored = rest;
    true
}

/// Decodes a luminance of 16 bits.
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
    let [u, v] = chromaticity_24((pixel & 0x3fff) as usize);
    linear(luminance, u, v)
}

/// Returns linear colours with sRGB's primaries. White has x and y of one third, as in libtiff.
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

/// Side of a square of CIE (u', v'). In LogLuv of 24 bits each square with a visible colour has a number, counted row
/// by row.
const SIDE: f32 = 0.0035;
/// The v' at which the first row begins.
const LOWEST: f32 = 0.016_94;

/// Minimum u' of each row, in millionths, and its number of squares. Source: libtiff's uvcode.h.
#[rustfmt::skip]
const ROWS: [(u32, u8); 163] = [
    (247_663, 4), (243_779, 6), (241_684, 7), (237_874, 9), (235_906, 10), (232_153, 12), (228_352, 14),
    (226_259, 15), (222_371, 17), (220_410, 18), (214_710, 21), (212_714, 22), (210_721, 23),
    (204_976, 26), (202_986, 27), (199_245, 29), (195_525, 31), (193_560, 32), (189_878, 34),
    (186_216, 36), (186_216, 36), (182_592, 38), (179_003, 40), (175_466, 42), (172_001, 44),
    (172_001, 44), (168_612, 46), (168_612, 46), (163_575, 49), (158_642, 52), (158_642, 52),
    (158_642, 52), (153_815, 55), (153_815, 55), (149_097, 58), (149_097, 58), (142_746, 62),
    (142_746, 62), (142_746, 62), (138_270, 65), (138_270, 65), (138_270, 65), (132_166, 69),
    (132_166, 69), (126_204, 73), (126_204, 73), (126_204, 73), (120_381, 77), (120_381, 77),
    (120_381, 77), (120_381, 77), (112_962, 82), (112_962, 82), (112_962, 82), (107_450, 86),
    (107_450, 86), (107_450, 86), (107_450, 86), (100_343, 91), (100_343, 91), (100_343, 91),
    (95_126, 95), (95_126, 95), (95_126, 95), (95_126, 95), (88_276, 100), (88_276, 100), (88_276, 100),
    (88_276, 100), (81_523, 105), (81_523, 105), (81_523, 105), (81_523, 105), (74_861, 110),
    (74_861, 110), (74_861, 110), (74_861, 110), (68_290, 115), (68_290, 115), (68_290, 115),
    (68_290, 115), (63_573, 119), (63_573, 119), (63_573, 119), (63_573, 119), (57_219, 124),
    (57_219, 124), (57_219, 124), (57_219, 124), (50_985, 129), (50_985, 129), (50_985, 129),
    (50_985, 129), (50_985, 129), (44_859, 134), (44_859, 134), (44_859, 134), (44_859, 134),
    (40_571, 138), (40_571, 138), (40_571, 138), (40_571, 138), (36_339, 142), (36_339, 142),
    (36_339, 142), (36_339, 142), (32_139, 146), (32_139, 146), (32_139, 146), (32_139, 146),
    (27_947, 150), (27_947, 150), (27_947, 150), (23_739, 154), (23_739, 154), (23_739, 154),
    (23_739, 154), (19_504, 158), (19_504, 158), (19_504, 158), (16_976, 161), (16_976, 161),
    (16_976, 161), (16_976, 161), (12_639, 165), (12_639, 165), (12_639, 165), (9991, 168), (9991, 168),
    (9991, 168), (9016, 170), (9016, 170), (9016, 170), (6217, 173), (6217, 173), (5097, 175),
    (5097, 175), (5097, 175), (3909, 177), (3909, 177), (2340, 177), (2389, 170), (1068, 164),
    (1653, 157), (717, 150), (1614, 143), (270, 136), (484, 129), (1103, 123), (1242, 115), (1188, 109),
    (1011, 103), (709, 97), (301, 89), (2416, 82), (3251, 76), (3246, 69), (4141, 62), (5963, 55),
    (8839, 47), (10_490, 40), (16_994, 31), (23_659, 21),
];

/// The centres of all squares.
static SQUARES: LazyLock<Vec<[f32; 2]>> = LazyLock::new(|| {
    let row = |(number, &(least, count)): (usize, &(u32, u8))| {
        let middle = move |steps: u16| (f32::from(steps) + 0.5) * SIDE;
        let v = LOWEST + middle(number as u16);
        (0..count).map(move |column| [least as f32 / 1e6 + middle(column.into()), v])
    };
    ROWS.iter().enumerate().flat_map(row).collect()
});

/// Returns the (u', v') of a square by its number, or of white if it is too large.
fn chromaticity_24(number: usize) -> [f32; 2] {
    SQUARES.get(number).copied().unwrap_or([4.0 / 19.0, 9.0 / 19.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luminance_1_in_white_is_white_and_nothing_is_black() {
        // Half a step from 1, at (u', v') = (0.2105, 0.4737).
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
        // Counts of zero.
        assert!(!runs(&mut [0; 3].as_slice(), &[8, 0], &mut row));
    }
}
