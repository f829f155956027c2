//! Transforms (DCT) and quantises 32 blocks side by side. A vector holds the same coefficient of all blocks, so no block has to
//! be transposed, and reordering coefficients costs nothing.
//!
//! The sums and products are those of libjpeg's accurate integer transform, in the order of its SIMD code.
//!
//! Source: C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", 1989;
//! libjpeg's `jfdctint.c` and `jcdctmgr.c`.

use edgezoom_geometry::Orientation;
use fearless_simd::Simd;
use fearless_simd::prelude::*;

use crate::quantisation::Quantisation;
use crate::tables::ZIGZAG;
use crate::turn;
use crate::vectors::weights::*;
use crate::vectors::{added, shifted, weighted, zip};

/// Number of blocks side by side.
pub const BLOCKS: usize = 32;
/// Samples in a row of all blocks.
pub const SAMPLES: usize = 8 * BLOCKS;

/// Rows of all blocks.
pub type Rows<'a> = [&'a [u8; SAMPLES]; 8];

/// Quantised coefficients of all blocks, in zigzag order.
#[derive(Default)]
#[repr(align(64))]
pub struct Coefficients {
    pub values: Each<i16>,
    /// Mask of the nonzero coefficients, except the first, 16 to a word.
    pub nonzero: [[u16; BLOCKS]; 4],
    /// Disjunction of the magnitudes, except the first.
    pub magnitudes: [u16; BLOCKS],
}

/// Coefficients before they are quantised. They are kept, because new ones would have to be set to zero.
#[derive(Default)]
pub struct Transformed {
    rows_done: Each<i16>,
    all_done: Each<i16>,
}

/// A value for each coefficient of each block. Aligned, because vectors across two cache lines take twice the time.
#[repr(align(64))]
pub struct Each<T>(pub [[T; BLOCKS]; 64]);

impl<T: Copy + Default> Default for Each<T> {
    fn default() -> Self {
        Self([[T::default(); BLOCKS]; 64])
    }
}

/// Divides coefficients by their steps and rounds, by multiplying with reciprocals.
pub struct Quantiser {
    /// The stored place of each coefficient in zigzag order, and a mask that changes its sign.
    sources: [(u8, i16); 64],
    steps: [Step; 64],
    /// For each coefficient, the smallest magnitude that counts as busy, and what is added to the magnitudes of a busy block.
    busy: Option<[(u16, u16); 64]>,
}

/// A quotient is the upper half of (8 · magnitude + `added`) · `reciprocal`, shifted right by `shift`.
#[derive(Clone, Copy)]
struct Step {
    added: u16,
    reciprocal: u16,
    shift: u32,
}

impl Quantiser {
    /// Makes the quantiser of luma (0) or chroma (1).
    pub fn new(quantisation: &Quantisation, kind: usize) -> Self {
        Self::turning(Orientation::UPRIGHT, quantisation, kind)
    }

    /// Makes a quantiser that turns stored blocks.
    pub fn turning(orientation: Orientation, quantisation: &Quantisation, kind: usize) -> Self {
        let step = |place| {
            let step = quantisation.steps[kind][place];
            Step::new(step, quantisation.rounding(kind, place))
        };
        let busy = |place| {
            let step = quantisation.steps[kind][place];
            (8 * step - quantisation.rounding(kind, place), quantisation.busy_rounding(kind, place))
        };
        Self {
            sources: turn::coefficients(orientation),
            steps: std::array::from_fn(step),
            busy: (kind == 1).then(|| std::array::from_fn(busy)),
        }
    }
}

impl Step {
    /// `rounding` is added to 8 times a magnitude, at most 8 times the step.
    fn new(step: u16, rounding: u16) -> Self {
        // The transform's coefficients are eight times as large.
        let divisor = 8 * u32::from(step);
        let bits = 16 + divisor.ilog2();
        let (quotient, rest) = ((1 << bits) / u64::from(divisor), (1 << bits) % u64::from(divisor));
        let (reciprocal, added, bits) = match rest {
            0 => (quotient / 2, rounding, bits - 1),
            1.. if rest <= u64::from(divisor / 2) => (quotient, rounding + 1, bits),
            _ => (quotient + 1, rounding, bits),
        };
        Self { added, reciprocal: reciprocal as u16, shift: bits - 16 }
    }

    #[inline(always)]
    fn quotient(self, magnitude: u16) -> u16 {
        let product = u32::from(magnitude.wrapping_add(self.added)) * u32::from(self.reciprocal);
        (product >> 16) as u16 >> self.shift
    }
}

/// Transforms and quantises 32 blocks: as many at once as a vector of the processor has values.
#[inline(always)]
pub fn transform<S: Simd>(
    simd: S,
    rows: Rows<'_>,
    quantiser: &Quantiser,
    Transformed { rows_done, all_done }: &mut Transformed,
    out: &mut Coefficients,
) {
    for (samples, row) in rows.iter().zip(rows_done.0.as_chunks_mut::<8>().0) {
        for (part, samples) in samples.chunks_exact(8 * S::i16s::LEN).enumerate() {
            let transformed = transform_once(simd, split(simd, samples), true);
            for (coefficients, to) in transformed.into_iter().zip(row.iter_mut()) {
                coefficients.store_slice(&mut to[part * S::i16s::LEN..][..S::i16s::LEN]);
            }
        }
    }
    for column in 0..8 {
        for first in (0..BLOCKS).step_by(S::i16s::LEN) {
            let blocks = first..first + S::i16s::LEN;
            let mut values = [S::i16s::splat(simd, 0); 8];
            for (value, row) in values.iter_mut().zip(rows_done.0.as_chunks::<8>().0) {
                *value = S::i16s::from_slice(simd, &row[column][blocks.clone()]);
            }
            let transformed = transform_once(simd, values, false);
            for (coefficients, row) in transformed.into_iter().zip(all_done.0.as_chunks_mut::<8>().0) {
                coefficients.store_slice(&mut row[column][blocks.clone()]);
            }
        }
    }
    quantise(all_done, 64, quantiser, out);
}

/// Splits a row into the first samples of all blocks, the second ones, and so on.
#[inline(always)]
fn split<S: Simd>(simd: S, samples: &[u8]) -> [S::i16s; 8] {
    let [a, b, c, d] = [0, 1, 2, 3].map(
        #[inline(always)]
        |part| S::u8s::from_slice(simd, &samples[part * S::u8s::LEN..][..S::u8s::LEN]),
    );
    let ((even, odd), (more_even, more_odd)) = (a.deinterleave(b), c.deinterleave(d));
    let ((by_4, by_4_and_2), (by_4_and_1, by_4_and_3)) =
        (even.deinterleave(more_even), odd.deinterleave(more_odd));
    let ((x0_x2, x4_x6), (x1_x3, x5_x7)) =
        (by_4.deinterleave(by_4_and_2), by_4_and_1.deinterleave(by_4_and_3));
    let [(x0, x2), (x4, x6), (x1, x3), (x5, x7)] = [x0_x2, x4_x6, x1_x3, x5_x7].map(
        #[inline(always)]
        |bytes| bytes.widen(),
    );
    [x0, x1, x2, x3, x4, x5, x6, x7].map(
        #[inline(always)]
        |values| values.bitcast(),
    )
}

/// Transforms in one direction: rows first. Their results are four times the final scale.
#[inline(always)]
fn transform_once<S: Simd>(simd: S, x: [S::i16s; 8], are_rows: bool) -> [S::i16s; 8] {
    /// 13 bits of the weights, with the 2 bits of the rows' scale.
    const SHIFTS: [u32; 2] = [13 + 2, 13 - 2];
    let shift = SHIFTS[usize::from(are_rows)];
    let (t0, t7) = (x[0] + x[7], x[0] - x[7]);
    let (t1, t6) = (x[1] + x[6], x[1] - x[6]);
    let (t2, t5) = (x[2] + x[5], x[2] - x[5]);
    let (t3, t4) = (x[3] + x[4], x[3] - x[4]);
    let (t10, t13) = (t0 + t3, t0 - t3);
    let (t11, t12) = (t1 + t2, t1 - t2);
    let (y0, y4) = if are_rows {
        // Samples are unsigned here; subtracting 128 from each changes only the mean.
        ((t10 + t11 - S::i16s::splat(simd, 8 * 128)) << 2, (t10 - t11) << 2)
    } else {
        let half = S::i16s::splat(simd, 2);
        ((t10 + t11 + half) >> 2, (t10 - t11 + half) >> 2)
    };
    let even = zip(t12, t13);
    let y2 = scaled(simd, weighted(simd, even, (C6, C6 + F_0_765)), shift);
    let y6 = scaled(simd, weighted(simd, even, (C6 - F_1_847, C6)), shift);
    let sums = zip(t4 + t6, t5 + t7);
    let z3 = weighted(simd, sums, (C3 - F_1_961, C3));
    let z4 = weighted(simd, sums, (C3, C3 - F_0_390));
    let outer = zip(t4, t7);
    let y7 = scaled(simd, added(weighted(simd, outer, (F_0_298 - F_0_899, -F_0_899)), z3), shift);
    let y1 = scaled(simd, added(weighted(simd, outer, (-F_0_899, F_1_501 - F_0_899)), z4), shift);
    let inner = zip(t5, t6);
    let y5 = scaled(simd, added(weighted(simd, inner, (F_2_053 - F_2_562, -F_2_562)), z4), shift);
    let y3 = scaled(simd, added(weighted(simd, inner, (-F_2_562, F_3_072 - F_2_562)), z3), shift);
    [y0, y1, y2, y3, y4, y5, y6, y7]
}

/// Shifts sums right by this number of bits and rounds.
#[inline(always)]
fn scaled<S: Simd>(simd: S, sums: (S::i32s, S::i32s), bits: u32) -> S::i16s {
    shifted(simd, sums, 1 << (bits - 1), bits)
}

/// Quantises coefficients, 8 times as large as a file has them, in row order. Those from the number `end` on in zigzag order of the
/// turned block are zero.
/// The compiler vectorises these loops as they are written.
#[inline(always)]
#[allow(clippy::needless_range_loop, clippy::manual_map, reason = "a closure would have vectors of its own")]
pub fn quantise(coefficients: &Each<i16>, end: usize, quantiser: &Quantiser, out: &mut Coefficients) {
    let end = end.max(1);
    let busy = match &quantiser.busy {
        Some(busy) => Some((busy, busy_blocks(coefficients, end, &quantiser.sources, busy))),
        None => None,
    };
    out.magnitudes = [0; BLOCKS];
    for (word, places) in ZIGZAG.as_chunks::<16>().0.iter().enumerate() {
        let mut nonzero = [0_u16; BLOCKS];
        for (bit, &place) in places.iter().enumerate().take(end.saturating_sub(16 * word)) {
            let step = quantiser.steps[place];
            let (from, changes) = quantiser.sources[16 * word + bit];
            let values = &coefficients.0[usize::from(from % 64)];
            let mut magnitudes = [0_u16; BLOCKS];
            let is_first = word == 0 && bit == 0;
            match &busy {
                Some((rounding, is_busy)) if !is_first => {
                    for block in 0..BLOCKS {
                        let more = rounding[place].1 & is_busy[block];
                        magnitudes[block] = step.quotient(values[block].unsigned_abs() + more);
                    }
                }
                _ => {
                    for block in 0..BLOCKS {
                        magnitudes[block] = step.quotient(values[block].unsigned_abs());
                    }
                }
            }
            let to = &mut out.values.0[16 * word + bit];
            for block in 0..BLOCKS {
                let sign = values[block] >> 15 ^ changes;
                to[block] = (magnitudes[block] as i16 ^ sign).wrapping_sub(sign);
            }
            if !is_first {
                for block in 0..BLOCKS {
                    nonzero[block] |= if magnitudes[block] != 0 { 1 << bit } else { 0 };
                    out.magnitudes[block] |= magnitudes[block];
                }
            }
        }
        out.nonzero[word] = nonzero;
    }
}

/// Returns a mask of all bits for each busy block, else 0.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn busy_blocks(
    coefficients: &Each<i16>,
    end: usize,
    sources: &[(u8, i16); 64],
    busy: &[(u16, u16); 64],
) -> [u16; BLOCKS] {
    let mut counts = [0_u16; BLOCKS];
    for (&place, &(from, _)) in ZIGZAG.iter().zip(sources).take(end).skip(1) {
        let (values, (smallest, _)) = (&coefficients.0[usize::from(from % 64)], &busy[place]);
        for block in 0..BLOCKS {
            counts[block] += u16::from(values[block].unsigned_abs() >= *smallest);
        }
    }
    counts.map(
        #[inline(always)]
        |count| if count > Quantisation::BUSY_FROM { u16::MAX } else { 0 },
    )
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};

    use super::*;

    #[test]
    fn narrow_vectors_give_the_coefficients_of_wide_ones() {
        let rows: [[u8; SAMPLES]; 8] =
            std::array::from_fn(|row| std::array::from_fn(|at| (row * 37 + at * at * 11) as u8));
        let quantiser = Quantiser::new(&Quantisation::of_quality(90, true), 1);
        let coefficients = [Level::baseline(), Level::new()].map(|level| {
            let (mut transformed, mut out) = (Transformed::default(), Coefficients::default());
            dispatch!(level, simd => transform(simd, rows.each_ref(), &quantiser, &mut transformed, &mut out));
            out.values.0
        });
        assert_eq!(coefficients[0], coefficients[1]);
    }

    #[test]
    fn a_quotient_is_exact_for_every_step_and_rounding() {
        for step in 1..=255_u16 {
            for rounding in [0, 2 * step, step * 27 / 8, 4 * step, 8 * step - 1] {
                let divider = Step::new(step, rounding);
                for magnitude in 0..=16_384_u16 {
                    let expected = (magnitude + rounding) / (8 * step);
                    assert_eq!(
                        divider.quotient(magnitude),
                        expected,
                        "({magnitude} + {rounding}) / 8 / {step}"
                    );
                }
            }
        }
    }
}
