//! Predictors: a file stores each pixel as the difference to the pixel before.
//!
//! Source: TIFF 6.0, section 14 (2, horizontal differencing); Adobe Photoshop TIFF Technical Note 3 (3, floating
//! point).

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x16};

use super::FORMAT;
use crate::SourceError;

/// The prediction of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Predictor {
    None,
    /// Integers, each the difference to the same sample of the pixel before.
    Horizontal,
    /// Floats: all their highest bytes, then all of the next, and so on, each the difference to the byte before.
    Float,
}

impl Predictor {
    /// Returns the predictor for a value of the tag Predictor, and samples of `bits` bits.
    pub fn new(number: u64, bits: u8) -> Result<Self, SourceError> {
        match number {
            0 | 1 => Ok(Self::None),
            2 if matches!(bits, 8 | 16 | 24 | 32 | 64) => Ok(Self::Horizontal),
            3 if matches!(bits, 16 | 24 | 32 | 64) => Ok(Self::Float),
            _ => Err(FORMAT.unsupported(format_args!("its predictor is {number}, of {bits} bits"))),
        }
    }

    /// Restores a row of bytes, `together` to a pixel, while copying it, as far as `out` has room.
    pub fn undo_into(self, row: &[u8], together: usize, out: &mut [u8]) {
        match (self, together) {
            (Self::Horizontal, 1) => add_into::<1>(row, out),
            (Self::Horizontal, 3) => add_into::<3>(row, out),
            (Self::Horizontal, 4) => add_into::<4>(row, out),
            _ => {
                out.copy_from_slice(&row[..out.len()]);
                self.undo(out, 8, together, &mut Vec::new());
            }
        }
    }

    /// Restores a row of samples in little-endian order, `together` to a pixel.
    pub fn undo(self, row: &mut [u8], bits: u8, together: usize, spare: &mut Vec<u8>) {
        match (self, bits) {
            (Self::None, _) => {}
            (Self::Horizontal, 8) => match together {
                1 => add::<1>(row),
                2 => add::<2>(row),
                3 => add::<3>(row),
                4 => add::<4>(row),
                _ => (together..row.len())
                    .for_each(|index| row[index] = row[index].wrapping_add(row[index - together])),
            },
            (Self::Horizontal, _) => {
                let bytes = usize::from(bits) / 8;
                let mut before = vec![0u64; together];
                for (index, sample) in row.chunks_exact_mut(bytes).enumerate() {
                    let mut wide = [0; 8];
                    wide[..bytes].copy_from_slice(sample);
                    let before = &mut before[index % together];
                    *before = before.wrapping_add(u64::from_le_bytes(wide));
                    sample.copy_from_slice(&before.to_le_bytes()[..bytes]);
                }
            }
            (Self::Float, _) => {
                (together..row.len())
                    .for_each(|index| row[index] = row[index].wrapping_add(row[index - together]));
                let bytes = usize::from(bits) / 8;
                let samples = row.len() / bytes;
                spare.clear();
                spare.extend_from_slice(row);
                for (plane, values) in spare.chunks_exact(samples.max(1)).take(bytes).enumerate() {
                    let places = row.iter_mut().skip(bytes - 1 - plane).step_by(bytes);
                    places.zip(values).for_each(|(place, &value)| *place = value);
                }
            }
        }
    }
}

/// Number of bytes in a vector.
const BYTES: usize = 16;

/// Adds each pixel of `N` bytes, at most 4, to the next one, 16 bytes at a time.
///
/// ```text
/// differences           a  b     c        d           of adjacent pixels
/// one pixel further     ·  a     b        c
/// sums of two           a  a+b   b+c      c+d
/// two pixels further    ·  ·     a        a+b
/// sums of four          a  a+b   a+b+c    a+b+c+d     and so on; then the sum of all pixels before is added
/// ```
/// So one addition in 16 bytes waits for those before, instead of one for each pixel.
pub fn add<const N: usize>(row: &mut [u8]) {
    dispatch!(Level::new(), simd => add_with::<N, _>(simd, row));
}

/// Does the same while copying. The rows have the same length.
pub fn add_into<const N: usize>(row: &[u8], out: &mut [u8]) {
    dispatch!(Level::new(), simd => add_into_with::<N, _>(simd, row, out));
}

#[inline(always)]
fn add_with<const N: usize, S: Simd>(simd: S, row: &mut [u8]) {
    let mut sums = Sums::<N, S>::new(simd);
    let mut at = 0;
    while let Some(differences) = row.get_mut(at..at + BYTES) {
        let (pixels, next) = (Sums::<N, S>::PIXELS, sums.next(differences));
        differences[..pixels].copy_from_slice(&next[..pixels]);
        at += pixels;
    }
    for at in at..row.len() {
        let before = at.checked_sub(N).map_or(0, |before| row[before]);
        row[at] = row[at].wrapping_add(before);
    }
}

#[inline(always)]
fn add_into_with<const N: usize, S: Simd>(simd: S, row: &[u8], out: &mut [u8]) {
    let mut sums = Sums::<N, S>::new(simd);
    let mut at = 0;
    while let (Some(differences), Some(out)) = (row.get(at..at + BYTES), out.get_mut(at..at + BYTES)) {
        // Bytes beyond the whole pixels are written again.
        out.copy_from_slice(&sums.next(differences));
        at += Sums::<N, S>::PIXELS;
    }
    for at in at..row.len().min(out.len()) {
        let before = at.checked_sub(N).map_or(0, |before| out[before]);
        out[at] = row[at].wrapping_add(before);
    }
}

/// The running sum of pixels of `N` bytes.
struct Sums<const N: usize, S: Simd> {
    simd: S,
    /// Sum before the next pixels, repeated.
    before: u8x16<S>,
    /// Indices of the bytes of a vector's last pixel, repeated.
    last: u8x16<S>,
}

impl<const N: usize, S: Simd> Sums<N, S> {
    /// Number of bytes in a vector that are whole pixels.
    const PIXELS: usize = BYTES / N * N;

    #[inline(always)]
    fn new(simd: S) -> Self {
        let last: [u8; BYTES] = std::array::from_fn(|at| (Self::PIXELS - N + at % N) as u8);
        Self { simd, before: u8x16::splat(simd, 0), last: u8x16::from_slice(simd, &last) }
    }

    /// Returns the sum up to each of the next pixels.
    #[inline(always)]
    fn next(&mut self, differences: &[u8]) -> [u8; BYTES] {
        let zero = u8x16::splat(self.simd, 0);
        let mut sums = u8x16::from_slice(self.simd, differences);
        // A slide by 16 bytes less is one to the right.
        match N {
            1 => {
                sums += zero.slide::<15>(sums);
                sums += zero.slide::<14>(sums);
                sums += zero.slide::<12>(sums);
                sums += zero.slide::<8>(sums);
            }
            2 => {
                sums += zero.slide::<14>(sums);
                sums += zero.slide::<12>(sums);
                sums += zero.slide::<8>(sums);
            }
            3 => {
                sums += zero.slide::<13>(sums);
                sums += zero.slide::<10>(sums);
                sums += zero.slide::<4>(sums);
            }
            _ => {
                sums += zero.slide::<12>(sums);
                sums += zero.slide::<8>(sums);
            }
        }
        let before = self.before;
        self.before += sums.swizzle_dyn_within_blocks(self.last);
        (before + sums).into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn undone(predictor: u64, bits: u8, together: usize, row: &[u8]) -> Vec<u8> {
        let mut row = row.to_vec();
        Predictor::new(predictor, bits).unwrap().undo(&mut row, bits, together, &mut Vec::new());
        row
    }

    #[test]
    fn differences_become_samples() {
        assert_eq!(undone(2, 8, 1, &[1, 2, 255]), [1, 3, 2]);
        assert_eq!(undone(2, 8, 3, &[1, 2, 3, 1, 1, 1]), [1, 2, 3, 2, 3, 4]);
        assert_eq!(undone(2, 8, 5, &[1, 2, 3, 4, 5, 1, 1, 1, 1, 1]), [1, 2, 3, 4, 5, 2, 3, 4, 5, 6]);
        assert_eq!(undone(2, 16, 1, &[255, 0, 1, 0]), [255, 0, 0, 1]);
        assert_eq!(
            undone(2, 32, 2, &[1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0])[8..],
            [0, 0, 0, 0, 3, 0, 0, 0]
        );
    }

    #[test]
    fn rows_are_restored_while_they_are_copied() {
        let row: Vec<u8> = (0..120_u8).map(|index| index.wrapping_mul(7)).collect();
        for together in 1..=5 {
            for predictor in [1, 2] {
                let mut out = [0; 60];
                Predictor::new(predictor, 8).unwrap().undo_into(&row, together, &mut out);
                assert_eq!(out, undone(predictor, 8, together, &row)[..60], "{together} to a pixel");
            }
        }
    }

    #[test]
    fn floats_are_put_together_from_their_bytes() {
        // 1.0 and 2.0: 3f 80 00 00 and 40 00 00 00.
        let planes = [0x3f, 0x40, 0x80, 0, 0, 0, 0, 0u8];
        let stored: Vec<u8> = (0..8)
            .map(|index| if index == 0 { planes[0] } else { planes[index].wrapping_sub(planes[index - 1]) })
            .collect();
        let row = undone(3, 32, 1, &stored);
        assert_eq!(row, [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat());
    }

    fn sums_of<const N: usize>(differences: &[u8]) -> Vec<u8> {
        let mut sums = differences.to_vec();
        (N..sums.len()).for_each(|at| sums[at] = sums[at].wrapping_add(sums[at - N]));
        sums
    }

    fn check<const N: usize>(differences: &[u8]) -> Result<(), TestCaseError> {
        let expected = sums_of::<N>(differences);
        let (mut in_place, mut copied) = (differences.to_vec(), vec![0; differences.len()]);
        add::<N>(&mut in_place);
        prop_assert_eq!(&in_place, &expected);
        add_into::<N>(differences, &mut copied);
        prop_assert_eq!(&copied, &expected);
        // As on processors that have no wider vectors.
        let level = Level::baseline();
        dispatch!(level, simd => add_into_with::<N, _>(simd, differences, &mut copied));
        prop_assert_eq!(&copied, &expected);
        Ok(())
    }

    proptest! {
        #[test]
        fn each_pixel_is_the_sum_of_all_differences_up_to_it(
            differences in proptest::collection::vec(any::<u8>(), 0..150),
        ) {
            check::<1>(&differences)?;
            check::<2>(&differences)?;
            check::<3>(&differences)?;
            check::<4>(&differences)?;
        }
    }
}
