//! The inverse discrete cosine transform of 32 blocks side by side, sample by sample what libjpeg-turbo's vectors give.
//!
//! libjpeg-turbo computes sums of two inputs in 16 bits, which wrap, products in 32 bits, and narrows results to 16 bits with
//! saturation. Only damaged files reach these bounds. A block with coefficients in its first row only takes a
//! shortcut there, which wraps where the full transform saturates; so it does here.
//!
//! Source: C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", 1989;
//! libjpeg-turbo's `jidctint.c` and `jidctint-avx2.asm`.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i8x64, i16x32, i32x16, u8x64};

use super::coefficients::{BLOCKS, Group};
use crate::tables::ZIGZAG;
use crate::vectors::weights::*;
use crate::vectors::{Wide, added, weighted, zip};

/// The samples of a row of all blocks.
pub const SAMPLES: usize = 8 * BLOCKS;

/// Steps to multiply coefficients by, in the order of the file.
pub type Steps = [u16; 64];

/// Transforms all blocks of a group into eight rows of samples, each with the rows of all blocks beside each other.
#[inline(always)]
pub fn inverse<S: Simd>(simd: S, group: &Group, steps: &Steps, out: &mut [[u8; SAMPLES]; 8]) {
    let columns_in_use = columns(group.end());
    let mut between = [[[0_i16; BLOCKS]; 8]; 8];
    let zero = i16x32::splat(simd, 0);
    for (column, to) in between.iter_mut().enumerate() {
        let mut inputs = [zero; 8];
        for (row, input) in inputs.iter_mut().enumerate() {
            let place = PLACES[8 * row + column];
            if place < group.end() {
                *input =
                    i16x32::from_slice(simd, &group.rows()[place]) * i16x32::splat(simd, steps[place] as i16);
            }
        }
        let outputs = match columns_in_use[column] {
            Use::None => continue,
            Use::FirstRow => {
                let (low, high) = inputs[0].widen();
                [(low << 2).saturating_narrow(high << 2); 8]
            }
            Use::All => transform_once(simd, inputs, 13 - 2),
        };
        for (output, to) in outputs.into_iter().zip(to.iter_mut()) {
            output.store_slice(to);
        }
    }
    wrap_lone_rows(group, steps, &mut between);
    for (row, to) in out.iter_mut().enumerate() {
        let mut inputs = [zero; 8];
        for (input, column) in inputs.iter_mut().zip(&between) {
            *input = i16x32::from_slice(simd, &column[row]);
        }
        join(simd, transform_once(simd, inputs, 13 + 2 + 3), to);
    }
}

/// Transforms all blocks into four rows of samples, each with the rows of all blocks beside each other. A sample is the mean of
/// the 2×2 that [`inverse`] gives, but for the rounding. The coefficients are in row order and 8 times as large as a file has
/// them. Those from the number `end` on in the order of the file are zero.
///
/// Source: libjpeg's `jidctred.c`.
#[inline(always)]
pub fn inverse_halved<S: Simd>(
    simd: S,
    coefficients: &[[i16; BLOCKS]; 64],
    end: usize,
    out: &mut [[u8; SAMPLES / 2]; 4],
) {
    let zero = i16x32::splat(simd, 0);
    let mut between = [[zero; 8]; 4];
    for column in USED_WHEN_HALVED {
        // Of a column the first place in the order is in its first row.
        if end <= PLACES[column] {
            continue;
        }
        let mut inputs = [zero; 8];
        for row in USED_WHEN_HALVED {
            inputs[row] = i16x32::from_slice(simd, &coefficients[8 * row + column]);
        }
        let outputs = transform_once_halved(simd, inputs, 13 - 2 + 1 + 3);
        for (output, to) in outputs.into_iter().zip(&mut between) {
            to[column] = output;
        }
    }
    for (inputs, to) in between.into_iter().zip(out) {
        let [c0, c1, c2, c3] = transform_once_halved(simd, inputs, 13 + 2 + 3 + 1);
        let (one, other) = (pack(simd, c0, c2), pack(simd, c1, c3));
        let (front, back) = zip16(one.zip_low(other), one.zip_high(other));
        for (vector, to) in [front, back].into_iter().zip(to.as_chunks_mut::<64>().0) {
            vector.store_slice(to);
        }
    }
}

/// Rows and columns that means of pairs depend on: the fifth cosine has none.
const USED_WHEN_HALVED: [usize; 7] = [0, 1, 2, 3, 5, 6, 7];

/// Transforms in one direction into means of pairs.
#[inline(always)]
fn transform_once_halved<S: Simd>(simd: S, x: [i16x32<S>; 8], shift: u32) -> [i16x32<S>; 4] {
    let (low, high): (i32x16<S>, i32x16<S>) = x[0].widen();
    let mean = (low << 14, high << 14);
    let even = weighted(simd, zip(x[2], x[6]), (F_1_847, -F_0_765));
    let (outer, inner) = (added(mean, even), less(mean, even));
    let (last, first) = (zip(x[7], x[5]), zip(x[3], x[1]));
    let inner_odd =
        added(weighted(simd, last, (-F_0_211, F_1_451)), weighted(simd, first, (-F_2_172, F_1_061)));
    let outer_odd =
        added(weighted(simd, last, (-F_0_509, -F_0_601)), weighted(simd, first, (F_0_899, F_2_562)));
    [
        scaled(simd, added(outer, outer_odd), shift),
        scaled(simd, added(inner, inner_odd), shift),
        scaled(simd, less(inner, inner_odd), shift),
        scaled(simd, less(outer, outer_odd), shift),
    ]
}

/// The place in the order of the file of each coefficient in the order of rows.
const PLACES: [usize; 64] = {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        places[ZIGZAG[place]] = place;
        place += 1;
    }
    places
};

/// The rows of a column that have coefficients.
#[derive(Clone, Copy)]
enum Use {
    None,
    FirstRow,
    All,
}

/// Returns the use of each column by the first coefficients of a file's order.
#[inline(always)]
fn columns(end: usize) -> [Use; 8] {
    std::array::from_fn(
        #[inline(always)]
        |column| {
            // Of a column the first place in the order is in its first row, the next in its second.
            if end <= PLACES[column] {
                Use::None
            } else if end <= PLACES[8 + column] {
                Use::FirstRow
            } else {
                Use::All
            }
        },
    )
}

/// Repeats libjpeg-turbo's shortcut for blocks with coefficients in their first row only: it wraps.
#[inline(always)]
fn wrap_lone_rows(group: &Group, steps: &Steps, between: &mut [[[i16; BLOCKS]; 8]; 8]) {
    const LARGEST: u16 = i16::MAX as u16 / 4;
    let mut largest = [0_u16; BLOCKS];
    for &place in PLACES[..8].iter().filter(|&&place| place < group.end()) {
        for (largest, value) in largest.iter_mut().zip(&group.rows()[place]) {
            *largest = (*largest).max(value.wrapping_mul(steps[place] as i16).unsigned_abs());
        }
    }
    for block in (0..BLOCKS).filter(|&block| largest[block] > LARGEST) {
        let is_lone = PLACES[8..].iter().all(|&place| group.get(block, place) == 0);
        for (column, &place) in between.iter_mut().zip(&PLACES[..8]).take(if is_lone { 8 } else { 0 }) {
            let value = group.get(block, place).wrapping_mul(steps[place] as i16) << 2;
            column.iter_mut().for_each(|row| row[block] = value);
        }
    }
}

/// Transforms in one direction. Columns come first: their results are four times as large as they are at the end.
#[inline(always)]
fn transform_once<S: Simd>(simd: S, x: [i16x32<S>; 8], shift: u32) -> [i16x32<S>; 8] {
    let even = zip(x[2], x[6]);
    let t2 = weighted(simd, even, (C6, C6 - F_1_847));
    let t3 = weighted(simd, even, (C6 + F_0_765, C6));
    let (t0, t1) = (raised(x[0] + x[4]), raised(x[0] - x[4]));
    let (t10, t13) = (added(t0, t3), less(t0, t3));
    let (t11, t12) = (added(t1, t2), less(t1, t2));

    let sums = zip(x[7] + x[3], x[5] + x[1]);
    let z3 = weighted(simd, sums, (C3 - F_1_961, C3));
    let z4 = weighted(simd, sums, (C3, C3 - F_0_390));
    let outer = zip(x[7], x[1]);
    let o0 = added(weighted(simd, outer, (F_0_298 - F_0_899, -F_0_899)), z3);
    let o3 = added(weighted(simd, outer, (-F_0_899, F_1_501 - F_0_899)), z4);
    let inner = zip(x[5], x[3]);
    let o1 = added(weighted(simd, inner, (F_2_053 - F_2_562, -F_2_562)), z4);
    let o2 = added(weighted(simd, inner, (-F_2_562, F_3_072 - F_2_562)), z3);
    [
        scaled(simd, added(t10, o3), shift),
        scaled(simd, added(t11, o2), shift),
        scaled(simd, added(t12, o1), shift),
        scaled(simd, added(t13, o0), shift),
        scaled(simd, less(t13, o0), shift),
        scaled(simd, less(t12, o1), shift),
        scaled(simd, less(t11, o2), shift),
        scaled(simd, less(t10, o3), shift),
    ]
}

/// Returns values times 8,192.
#[inline(always)]
fn raised<S: Simd>(values: i16x32<S>) -> Wide<S> {
    let (low, high): (i32x16<S>, i32x16<S>) = values.widen();
    (low << 13, high << 13)
}

#[inline(always)]
fn less<S: Simd>(one: Wide<S>, other: Wide<S>) -> Wide<S> {
    (one.0 - other.0, one.1 - other.1)
}

/// Takes away as many bits, rounded, and saturates.
#[inline(always)]
fn scaled<S: Simd>(simd: S, (low, high): Wide<S>, bits: u32) -> i16x32<S> {
    let half = i32x16::splat(simd, 1 << (bits - 1));
    ((low + half) >> bits).saturating_narrow((high + half) >> bits)
}

/// Makes samples of eight columns and puts them beside each other, block after block.
#[inline(always)]
fn join<S: Simd>(simd: S, columns: [i16x32<S>; 8], out: &mut [u8; SAMPLES]) {
    let [c0, c1, c2, c3, c4, c5, c6, c7] = columns;
    // Each vector has the samples of two columns that lie four apart: zipped, the lower ones come first.
    let [a, b, c, d] = [pack(simd, c0, c4), pack(simd, c1, c5), pack(simd, c2, c6), pack(simd, c3, c7)];
    let (front, back) = (zip16(a.zip_low(b), c.zip_low(d)), zip16(a.zip_high(b), c.zip_high(d)));
    let vectors = [zip32(front.0, back.0), zip32(front.1, back.1)];
    for (vector, to) in vectors.into_iter().flatten().zip(out.as_chunks_mut::<64>().0) {
        vector.store_slice(to);
    }
}

/// Makes samples of two columns: libjpeg narrows them to signed bytes.
#[inline(always)]
fn pack<S: Simd>(simd: S, one: i16x32<S>, other: i16x32<S>) -> u8x64<S> {
    let signed: i8x64<S> = one.saturating_narrow(other);
    signed.bitcast::<u8x64<S>>() + u8x64::splat(simd, 128)
}

/// Zips pairs of bytes.
#[inline(always)]
fn zip16<S: Simd>(one: u8x64<S>, other: u8x64<S>) -> (u8x64<S>, u8x64<S>) {
    let (one, other) = (one.bitcast::<i16x32<S>>(), other.bitcast::<i16x32<S>>());
    (one.zip_low(other).bitcast(), one.zip_high(other).bitcast())
}

/// Zips fours of bytes.
#[inline(always)]
fn zip32<S: Simd>(one: u8x64<S>, other: u8x64<S>) -> [u8x64<S>; 2] {
    let (one, other) = (one.bitcast::<i32x16<S>>(), other.bitcast::<i32x16<S>>());
    [one.zip_low(other).bitcast(), one.zip_high(other).bitcast()]
}
