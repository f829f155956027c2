//! Planes of YCbCr 4:2:0, as [`ycbcr420`](crate::ycbcr420) lays them out, from pictures of this sampling and of finer
//! ones, whose chroma is averaged. So nothing is interpolated or converted to RGB only to be halved and converted back.

use super::frame::{Colours, Component, Frame};
use super::mcu_rows::{McuRows, Source, Stop};
use crate::vectors::with_vectors;
use crate::ycbcr420::PairMut;

/// The planes of a picture.
pub struct Planes<S> {
    mcu_rows: McuRows<S>,
    /// Factors by which chroma is averaged, 1 or 2: across and down.
    factors: (u32, u32),
    /// Cb and Cr of a row of MCUs, if they are averaged.
    chroma: [Vec<u8>; 2],
}

/// Returns the factors by which chroma must be averaged, 1 or 2: across and down. `None`: [`Planes`] cannot be made of
/// the picture.
fn factors(frame: &Frame) -> Option<(u32, u32)> {
    let [luma, cb, cr] = &*frame.components else { return None };
    let is_single = |part: &Component| (part.across, part.down) == (1, 1);
    let is_known = frame.colours == Colours::YCbCr && luma.across <= 2 && luma.down <= 2;
    let factor = |blocks: u8| if blocks == 1 { 2 } else { 1 };
    (is_known && is_single(cb) && is_single(cr)).then(|| (factor(luma.across), factor(luma.down)))
}

/// Returns true if [`Planes`] can be made of a picture.
#[must_use]
pub fn can_read(frame: &Frame) -> bool {
    factors(frame).is_some()
}

impl<S: Source> Planes<S> {
    /// Makes planes of the samples that a source decodes.
    #[must_use]
    pub fn new(source: S) -> Self {
        let frame = source.frame();
        let factors = factors(frame).unwrap_or((1, 1));
        let bytes = if factors == (1, 1) { 0 } else { 64 * frame.mcus().0 as usize };
        Self { factors, chroma: [vec![0; bytes], vec![0; bytes]], mcu_rows: McuRows::new(source) }
    }

    /// Reads the next 16 rows of pixels, or what is left of the picture.
    ///
    /// # Errors
    /// If the picture cannot be decoded any further.
    pub fn read(&mut self, band: &mut [PairMut<'_>]) -> Result<(), Stop> {
        let pairs = 4 * self.mcu_rows.frame().most_blocks().1 as usize;
        for pairs in band.chunks_mut(pairs) {
            if self.mcu_rows.row() < self.mcu_rows.frame().mcus().1 {
                self.read_mcus(pairs)?;
            }
        }
        Ok(())
    }

    /// Reads a row of MCUs.
    fn read_mcus(&mut self, pairs: &mut [PairMut<'_>]) -> Result<(), Stop> {
        let Self { mcu_rows, chroma, factors, .. } = self;
        let is_averaged = *factors != (1, 1);
        let stride = 8 * mcu_rows.frame().mcus().0 as usize;
        mcu_rows.read(|plan, segment| {
            if !is_averaged {
                return segment.copy_to_pairs(plan, pairs);
            }
            segment.copy_luma(plan, pairs);
            for (plane, stored) in chroma.iter_mut().enumerate() {
                segment.copy_to(plan, 1 + plane, stored.chunks_exact_mut(stride));
            }
        })?;
        if is_averaged {
            self.average(pairs);
        }
        Ok(())
    }

    /// Averages chroma of the row of MCUs that was read.
    fn average(&mut self, pairs: &mut [PairMut<'_>]) {
        let Self { mcu_rows, chroma, factors: (across, down) } = self;
        let frame = mcu_rows.frame();
        let (width, height) = (frame.width as usize, frame.height as usize);
        let (stride, first) = (8 * frame.mcus().0 as usize, 8 * (mcu_rows.row() as usize - 1));
        for (plane, stored) in chroma.iter_mut().enumerate() {
            if *across == 2 && width % 2 == 1 {
                // The last column is repeated, as the encoder does.
                stored.chunks_exact_mut(stride).for_each(|row| row[width] = row[width - 1]);
            }
            for (number, pair) in pairs.iter_mut().enumerate() {
                let upper = number * *down as usize;
                let has_lower = *down == 2 && first + upper + 1 < height;
                let lower = if has_lower { upper + 1 } else { upper };
                let row =
                    |number: usize| stored.get(number * stride..(number + 1) * stride).unwrap_or_default();
                let (upper, lower, out) = (row(upper), row(lower), &mut *pair.chroma[plane]);
                with_vectors!(_simd => match *across {
                    2 => average_both(upper, lower, out),
                    _ => average_down(upper, lower, out),
                });
            }
        }
    }
}

/// Averages 2×2 samples.
#[inline(always)]
fn average_both(upper: &[u8], lower: &[u8], out: &mut [u8]) {
    let pairs = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
    for (out, (upper, lower)) in out.iter_mut().zip(pairs) {
        *out = ((sum(upper) + sum(lower) + 2) >> 2) as u8;
    }
}

/// Adds two samples beside each other. Made from one number, they take no shuffle of bytes in vectors.
#[inline(always)]
fn sum(pair: &[u8; 2]) -> u16 {
    let both = u16::from_le_bytes(*pair);
    (both & 0xff) + (both >> 8)
}

/// Averages samples below each other.
#[inline(always)]
fn average_down(upper: &[u8], lower: &[u8], out: &mut [u8]) {
    for (out, (&upper, &lower)) in out.iter_mut().zip(upper.iter().zip(lower)) {
        *out = (u16::from(upper) + u16::from(lower)).div_ceil(2) as u8;
    }
}
