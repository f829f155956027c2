//! Shrinks rows of pixels to any smaller size. Each pixel of the result is the mean of the pixels that it covers,
//! weighted by the covered part.
//!
//! ```text
//! pixels of the source     |     0     |     1     |     2     |     3     |     4     |       each `to` long
//! pixels of the result     |        0         |        1         |        2         | …       each `from` long
//! ```
//! Lengths in these units are whole numbers, so only the result is rounded. Colours are weighted by opacity, as when a
//! level is halved.

use std::ops::Range;

use edgezoom_geometry::Size;

/// Shrinks a picture with `N` channels. The last of four channels is opacity.
pub struct MeanFilter<const N: usize> {
    from: Size,
    to: Size,
    /// Source columns that each pixel of the result covers, with the weights of the first and the last column.
    columns: Vec<(Range<usize>, u32, u32)>,
    /// Weighted sums of the result's current row.
    sums: Vec<[u64; N]>,
    /// Last complete row of the result.
    row: Vec<u8>,
    /// Number of source rows added.
    rows: u32,
}

impl<const N: usize> MeanFilter<N> {
    /// Makes a filter that shrinks `from` to `to`. No side of `to` may be zero or larger than in `from`.
    pub fn new(from: Size, to: Size) -> Self {
        let (long, short) = (u64::from(from.width), u64::from(to.width));
        let columns = (0..short).map(|column| {
            let (start, end) = (column * long, (column + 1) * long);
            let (first, last) = (start / short, (end - 1) / short);
            let weight = |at: u64| ((at + 1) * short).min(end) - (at * short).max(start);
            (first as usize..last as usize + 1, weight(first) as u32, weight(last) as u32)
        });
        let (columns, width) = (columns.collect(), to.width as usize);
        Self { from, to, columns, sums: vec![[0; N]; width], row: vec![0; N * width], rows: 0 }
    }

    /// Adds the next source row. Calls `take` if that completes a row of the result.
    pub fn row<E>(&mut self, pixels: &[u8], take: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let (height, rows) = (u64::from(self.from.height), u64::from(self.to.height));
        // The source row's start and end, and the end of the result's row.
        let (start, end) = (u64::from(self.rows) * rows, u64::from(self.rows + 1) * rows);
        let limit = (start / height + 1) * height;
        self.rows += 1;
        self.add(pixels, end.min(limit) - start);
        if end < limit {
            return Ok(());
        }
        self.complete();
        // A source row is at most as high as a result row, so it reaches into one further row at most.
        if end > limit {
            self.add(pixels, end - limit);
        }
        take(&self.row)
    }

    /// Adds a row with a weight to the sums.
    fn add(&mut self, pixels: &[u8], weight: u64) {
        let (pixels, _) = pixels.as_chunks::<N>();
        let whole = self.to.width;
        for (sums, (columns, first, last)) in self.sums.iter_mut().zip(&self.columns) {
            let Some(covered) = pixels.get(columns.clone()) else { continue };
            let mut mixed = [0_u32; N];
            for (at, pixel) in covered.iter().enumerate() {
                let share = if at == 0 {
                    *first
                } else if at + 1 == covered.len() {
                    *last
                } else {
                    whole
                };
                add_pixel(&mut mixed, pixel, share);
            }
            for (sum, mixed) in sums.iter_mut().zip(mixed) {
                *sum += u64::from(mixed) * weight;
            }
        }
    }

    /// Computes the result's row and resets the sums.
    fn complete(&mut self) {
        let area = f64::from(self.from.width) * f64::from(self.from.height);
        let (row, _) = self.row.as_chunks_mut::<N>();
        for (pixel, sums) in row.iter_mut().zip(&mut self.sums) {
            let opacity = if N == 4 { sums[N - 1] as f64 } else { area };
            for (channel, (out, sum)) in pixel.iter_mut().zip(&mut *sums).enumerate() {
                let whole = if N == 4 && channel + 1 == N { area } else { opacity };
                *out = if whole > 0.0 { (*sum as f64 / whole + 0.5) as u8 } else { 0 };
                *sum = 0;
            }
        }
    }
}

/// Adds a pixel with a weight. Its colours are weighted by its opacity too.
fn add_pixel<const N: usize>(mixed: &mut [u32; N], pixel: &[u8; N], weight: u32) {
    let opacity = if N == 4 { weight * u32::from(pixel[N - 1]) } else { weight };
    for (channel, (sum, value)) in mixed.iter_mut().zip(pixel).enumerate() {
        let weight = if N == 4 && channel + 1 == N { weight } else { opacity };
        *sum += weight * u32::from(*value);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn shrunk<const N: usize>(from: Size, to: Size, pixels: &[u8]) -> Vec<u8> {
        let mut filter = MeanFilter::<N>::new(from, to);
        let mut out = Vec::new();
        for row in pixels.chunks(N * from.width as usize) {
            let take = |row: &[u8]| {
                out.extend_from_slice(row);
                Ok::<_, Infallible>(())
            };
            filter.row(row, take).unwrap();
        }
        out
    }

    fn size(width: u32, height: u32) -> Size {
        Size { width, height }
    }

    #[test]
    fn a_pixel_counts_by_the_part_that_is_covered() {
        assert_eq!(shrunk::<1>(size(3, 1), size(2, 1), &[0, 90, 240]), [30, 190]);
        assert_eq!(shrunk::<1>(size(1, 3), size(1, 2), &[0, 90, 240]), [30, 190]);
        assert_eq!(shrunk::<1>(size(5, 2), size(2, 1), &[0, 10, 20, 30, 40, 0, 10, 20, 30, 40]), [8, 32]);
    }

    #[test]
    fn colour_under_transparent_pixels_does_not_bleed() {
        let pixels = [200, 100, 50, 255, 0, 255, 0, 0];
        assert_eq!(shrunk::<4>(size(2, 1), size(1, 1), &pixels), [200, 100, 50, 128]);
        assert_eq!(shrunk::<4>(size(2, 1), size(1, 1), &[9, 9, 9, 0, 9, 9, 9, 0]), [0; 4]);
    }

    proptest! {
        #[test]
        fn each_pixel_is_the_mean_of_its_area(
            width in 1u32..40, height in 1u32..40, shrink in (1u32..40, 1u32..40), seed in any::<u64>(),
        ) {
            let (from, to) = (size(width, height), size(shrink.0.min(width), shrink.1.min(height)));
            let pixels: Vec<u8> = (0..width * height)
                .map(|at| (seed.wrapping_mul(6_364_136_223_846_793_005).rotate_left(at * 7) >> 40) as u8)
                .collect();
            let covered = |at: u32, from: u32, to: u32, result: u32| {
                let (start, end) = (f64::from(result * from), f64::from((result + 1) * from));
                (f64::from((at + 1) * to).min(end) - f64::from(at * to).max(start)).max(0.0)
            };
            let out = shrunk::<1>(from, to, &pixels);
            prop_assert_eq!(out.len() as u64, to.pixels());
            for (at, value) in out.iter().enumerate() {
                let (x, y) = (at as u32 % to.width, at as u32 / to.width);
                let sum: f64 = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)))
                    .map(|(column, row)| {
                        let weight = covered(column, from.width, to.width, x) * covered(row, from.height, to.height, y);
                        weight * f64::from(pixels[(row * width + column) as usize])
                    })
                    .sum();
                let mean = sum / (f64::from(width) * f64::from(height));
                prop_assert!((mean - f64::from(*value)).abs() <= 0.5001, "{mean} {value}");
            }
            if from == to {
                prop_assert_eq!(out, pixels);
            }
        }
    }
}
