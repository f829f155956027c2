//! Sums of differences between pixels, 16 bytes at a time.
//!
//! ```text
//! differences           a  b     c        d           of pixels, next to each other
//! one pixel further     ·  a     b        c
//! sums of two           a  a+b   b+c      c+d
//! two pixels further    ·  ·     a        a+b
//! sums of four          a  a+b   a+b+c    a+b+c+d     and so on; then what came before is added to all of them
//! ```
//! So one addition in 16 bytes waits for those before, instead of one for each pixel.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x16};

/// The bytes of a vector.
const BYTES: usize = 16;

/// Adds each pixel of `N` bytes, at most 4, to the next one.
pub fn add<const N: usize>(row: &mut [u8]) {
    dispatch!(Level::new(), simd => add_with::<N, _>(simd, row));
}

/// The same, while they are copied. The rows are equally long.
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
        // What is more than whole pixels is written again.
        out.copy_from_slice(&sums.next(differences));
        at += Sums::<N, S>::PIXELS;
    }
    for at in at..row.len().min(out.len()) {
        let before = at.checked_sub(N).map_or(0, |before| out[before]);
        out[at] = row[at].wrapping_add(before);
    }
}

/// The sum of all pixels of `N` bytes so far.
struct Sums<const N: usize, S: Simd> {
    simd: S,
    /// The sum before the next pixels, over and over.
    before: u8x16<S>,
    /// Where the bytes of a vector's last pixel are, over and over.
    last: u8x16<S>,
}

impl<const N: usize, S: Simd> Sums<N, S> {
    /// The bytes of a vector that are whole pixels.
    const PIXELS: usize = BYTES / N * N;

    #[inline(always)]
    fn new(simd: S) -> Self {
        let last: [u8; BYTES] = std::array::from_fn(|at| (Self::PIXELS - N + at % N) as u8);
        Self { simd, before: u8x16::splat(simd, 0), last: u8x16::from_slice(simd, &last) }
    }

    /// The sums up to each of the next pixels.
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
