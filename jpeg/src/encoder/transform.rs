//! The discrete cosine transform and quantisation of blocks, 32 side by side: a vector has the same coefficient of all.
//! So no block has to be transposed, and the order of coefficients costs nothing.
//!
//! Every sum and product is that of libjpeg's accurate integer transform, in the order in which its vectors have it.
//!
//! Source: C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", 1989;
//! libjpeg's `jfdctint.c` and `jcdctmgr.c`.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i16x32, u8x64};

use super::tables::ZIGZAG;
use super::vectors::{Wide, added, shifted, weighted, widened, zip};

/// The blocks side by side.
pub const BLOCKS: usize = 32;
/// The samples of a row of all of them.
pub const SAMPLES: usize = 8 * BLOCKS;

/// The rows of all blocks.
pub type Rows<'a> = [&'a [u8; SAMPLES]; 8];

/// The quantised coefficients of all blocks, in the order in which they are stored.
#[derive(Default)]
#[repr(align(64))]
pub struct Coefficients {
    /// The bits behind the code of each: its value, or for a negative one its value less one, as many bits as it has.
    pub bits: Each<u16>,
    /// How many bits each has: none if it is zero. Not of the first one.
    pub sizes: Each<u8>,
    /// Which are not zero, 16 in a word. Not the first one.
    pub nonzero: [[u16; BLOCKS]; 4],
    /// The first of each block.
    pub dc: [i16; BLOCKS],
}

/// A value for each coefficient of each block. Vectors that lie across two cache lines take twice the time.
#[repr(align(64))]
pub struct Each<T>(pub [[T; BLOCKS]; 64]);

impl<T: Copy + Default> Default for Each<T> {
    fn default() -> Self {
        Self([[T::default(); BLOCKS]; 64])
    }
}

/// Divides coefficients by their steps, rounded to the nearest: multiplies by the reciprocal.
pub struct Quantiser {
    /// What is added to the eightfold coefficient, by what the upper half of a product is had, and how far that is shifted.
    steps: [(u16, u16, u32); 64],
}

impl Quantiser {
    /// For steps in the order of rows.
    pub fn new(steps: &[u16; 64]) -> Self {
        Self {
            steps: steps.map(|step| {
                // The transform's coefficients are eight times as large.
                let divisor = 8 * u32::from(step);
                let bits = 16 + divisor.ilog2();
                let (quotient, rest) = ((1 << bits) / u64::from(divisor), (1 << bits) % u64::from(divisor));
                let (reciprocal, added, bits) = match rest {
                    0 => (quotient / 2, divisor / 2, bits - 1),
                    1.. if rest <= u64::from(divisor / 2) => (quotient, divisor / 2 + 1, bits),
                    _ => (quotient + 1, divisor / 2, bits),
                };
                (added as u16, reciprocal as u16, bits - 16)
            }),
        }
    }
}

/// Transforms and quantises 32 blocks.
#[inline(always)]
pub fn transform<S: Simd>(simd: S, rows: Rows<'_>, quantiser: &Quantiser, out: &mut Coefficients) {
    let (mut of_rows, mut of_blocks) = (Each::default(), Each::default());
    for (samples, row) in rows.iter().zip(of_rows.0.as_chunks_mut::<8>().0) {
        let transformed = transform_once(simd, split(simd, samples), true);
        for (coefficients, to) in transformed.into_iter().zip(row) {
            coefficients.store_slice(to);
        }
    }
    for column in 0..8 {
        let mut values = [i16x32::splat(simd, 0); 8];
        for (value, row) in values.iter_mut().zip(of_rows.0.as_chunks::<8>().0) {
            *value = i16x32::from_slice(simd, &row[column]);
        }
        let transformed = transform_once(simd, values, false);
        for (coefficients, row) in transformed.into_iter().zip(of_blocks.0.as_chunks_mut::<8>().0) {
            coefficients.store_slice(&mut row[column]);
        }
    }
    quantise(&of_blocks, quantiser, out);
}

/// Splits a row into the first samples of all blocks, the second ones, and so on.
#[inline(always)]
fn split<S: Simd>(simd: S, samples: &[u8; SAMPLES]) -> [i16x32<S>; 8] {
    let [a, b, c, d] = [0, 64, 128, 192].map(
        #[inline(always)]
        |at| u8x64::from_slice(simd, &samples[at..at + 64]),
    );
    let ((even, odd), (more_even, more_odd)) = (a.deinterleave(b), c.deinterleave(d));
    let ((by_4, by_4_and_2), (by_4_and_1, by_4_and_3)) =
        (even.deinterleave(more_even), odd.deinterleave(more_odd));
    let ((x0_x2, x4_x6), (x1_x3, x5_x7)) =
        (by_4.deinterleave(by_4_and_2), by_4_and_1.deinterleave(by_4_and_3));
    let ((x0, x2), (x4, x6)) = (widened(x0_x2), widened(x4_x6));
    let ((x1, x3), (x5, x7)) = (widened(x1_x3), widened(x5_x7));
    [x0, x1, x2, x3, x4, x5, x6, x7]
}

/// Transforms in one direction: rows first, whose results are four times as large as they are at the end.
#[inline(always)]
fn transform_once<S: Simd>(simd: S, x: [i16x32<S>; 8], are_rows: bool) -> [i16x32<S>; 8] {
    /// The weights' 13 bits, and 2 of the results.
    const SHIFTS: [u32; 2] = [13 + 2, 13 - 2];
    let shift = SHIFTS[usize::from(are_rows)];
    let (t0, t7) = (x[0] + x[7], x[0] - x[7]);
    let (t1, t6) = (x[1] + x[6], x[1] - x[6]);
    let (t2, t5) = (x[2] + x[5], x[2] - x[5]);
    let (t3, t4) = (x[3] + x[4], x[3] - x[4]);
    let (t10, t13) = (t0 + t3, t0 - t3);
    let (t11, t12) = (t1 + t2, t1 - t2);
    let (y0, y4) = if are_rows {
        // Samples are 128 too large, which only the mean has.
        ((t10 + t11 - i16x32::splat(simd, 8 * 128)) << 2, (t10 - t11) << 2)
    } else {
        let half = i16x32::splat(simd, 2);
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

// The weights in libjpeg's names, times 8,192.
const F_0_298: i16 = 2446;
const F_0_390: i16 = 3196;
const F_0_765: i16 = 6270;
const F_0_899: i16 = 7373;
const F_1_501: i16 = 12299;
const F_1_847: i16 = 15137;
const F_1_961: i16 = 16069;
const F_2_053: i16 = 16819;
const F_2_562: i16 = 20995;
const F_3_072: i16 = 25172;
/// The square root of 2 times the cosine of 6 sixteenths of pi, and of 3.
const C6: i16 = 4433;
const C3: i16 = 9633;

/// Takes away as many bits, rounded.
#[inline(always)]
fn scaled<S: Simd>(simd: S, sums: Wide<S>, bits: u32) -> i16x32<S> {
    shifted(simd, sums, 1 << (bits - 1), bits)
}

/// Quantises coefficients in the order of rows. The compiler vectorises the loops as they are.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn quantise(coefficients: &Each<i16>, quantiser: &Quantiser, out: &mut Coefficients) {
    out.nonzero = [[0; BLOCKS]; 4];
    for (number, &place) in ZIGZAG.iter().enumerate() {
        let (added, reciprocal, shift) = quantiser.steps[place];
        let values = &coefficients.0[place];
        let mut magnitudes = [0_u16; BLOCKS];
        for block in 0..BLOCKS {
            let product = u32::from(values[block].unsigned_abs().wrapping_add(added)) * u32::from(reciprocal);
            magnitudes[block] = (product >> 16) as u16 >> shift;
        }
        if number == 0 {
            for block in 0..BLOCKS {
                let sign = values[block] >> 15;
                out.dc[block] = (magnitudes[block] as i16 ^ sign).wrapping_sub(sign);
            }
            continue;
        }
        let mut sizes = [0_u16; BLOCKS];
        for block in 0..BLOCKS {
            sizes[block] = (u32::BITS - u32::from(magnitudes[block]).leading_zeros()) as u16;
        }
        let (to_bits, to_sizes) = (&mut out.bits.0[number], &mut out.sizes.0[number]);
        let nonzero = &mut out.nonzero[number / 16];
        for block in 0..BLOCKS {
            let sign = (values[block] >> 15) as u16;
            to_bits[block] = magnitudes[block] ^ (sign & !u16::MAX.wrapping_shl(sizes[block].into()));
            to_sizes[block] = sizes[block] as u8;
            nonzero[block] |= if magnitudes[block] != 0 { 1 << (number % 16) } else { 0 };
        }
    }
}
