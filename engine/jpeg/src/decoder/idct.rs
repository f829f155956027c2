//! The inverse discrete cosine transform of 32 blocks side by side, sample by sample what libjpeg-turbo's vectors give.
//!
//! libjpeg-turbo computes sums of two inputs in 16 bits, which wrap, products in 32 bits, and narrows results to 16
//! bits with saturation. Only damaged files reach these bounds. A block with coefficients in its first row only takes a
//! shortcut there, which wraps where the full transform saturates; so it does here.
//!
//! Source: C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications",
//! 1989; libjpeg-turbo's `jidctint.c` and `jidctint-avx2.asm`.

use fearless_simd::Simd;
use fearless_simd::prelude::*;

use super::coefficients::{BLOCKS, Group};
use crate::tables::ZIGZAG;
use crate::vectors::weights::*;
use crate::vectors::{added, weighted, zip};

/// The samples of a row of all blocks.
pub const SAMPLES: usize = 8 * BLOCKS;

/// Steps to multiply coefficients by, in the order of the file.
pub type Steps = [u16; 64];

/// Memory for the columns' results.
pub type Between = [[[i16; BLOCKS]; 8]; 8];

/// A number of 32 bits for each of 16 bits: those of the lower half, and those of the upper half.
type Wide<S> = (<S as Simd>::i32s, <S as Simd>::i32s);

/// Transforms all blocks of a group into eight rows of samples, each with the rows of all blocks beside each other.
///
/// It takes as many blocks at once as a vector of the processor has values: more would not stay in registers.
#[inline(always)]
pub fn inverse<S: Simd>(
    simd: S,
    group: &Group,
    steps: &Steps,
    between: &mut Between,
    out: &mut [[u8; SAMPLES]; 8],
) {
    let columns_in_use = columns(group.end());
    let zero = S::i16s::splat(simd, 0);
    for (column, to) in between.iter_mut().enumerate() {
        for first in (0..BLOCKS).step_by(S::i16s::LEN) {
            let blocks = first..first + S::i16s::LEN;
            let mut inputs = [zero; 8];
            for (row, input) in inputs.iter_mut().enumerate() {
                let place = PLACES[8 * row + column];
                if place < group.end() {
                    let values = &group.rows()[place][blocks.clone()];
                    *input = S::i16s::from_slice(simd, values) * S::i16s::splat(simd, steps[place] as i16);
                }
            }
            let outputs = match columns_in_use[column] {
                Use::None => [zero; 8],
                Use::FirstRow => {
                    let (low, high) = inputs[0].widen();
                    [(low << 2).saturating_narrow(high << 2); 8]
                }
                Use::All => transform_once(simd, inputs, 13 - 2),
            };
            for (output, to) in outputs.into_iter().zip(to.iter_mut()) {
                output.store_slice(&mut to[blocks.clone()]);
            }
        }
    }
    wrap_lone_rows(group, steps, between);
    for (row, to) in out.iter_mut().enumerate() {
        for (part, to) in to.chunks_exact_mut(8 * S::i16s::LEN).enumerate() {
            let mut inputs = [zero; 8];
            for (input, column) in inputs.iter_mut().zip(&*between) {
                *input = S::i16s::from_slice(simd, &column[row][part * S::i16s::LEN..][..S::i16s::LEN]);
            }
            join(simd, transform_once(simd, inputs, 13 + 2 + 3), to);
        }
    }
}

/// Transforms all blocks into four rows of samples, each with the rows of all blocks beside each other. A sample is the
/// mean of the 2×2 that [`inverse`] gives, but for the rounding. The coefficients are in row order and 8 times as large
/// as a file has them. Those from the number `end` on in the order of the file are zero.
///
/// Source: libjpeg's `jidctred.c`.
#[inline(always)]
pub fn inverse_halved<S: Simd>(
    simd: S,
    coefficients: &[[i16; BLOCKS]; 64],
    end: usize,
    out: &mut [[u8; SAMPLES / 2]; 4],
) {
    let zero = S::i16s::splat(simd, 0);
    for first in (0..BLOCKS).step_by(S::i16s::LEN) {
        let blocks = first..first + S::i16s::LEN;
        let mut between = [[zero; 8]; 4];
        for column in USED_WHEN_HALVED {
            // Of a column the first place in the order is in its first row.
            if end <= PLACES[column] {
                continue;
            }
            let mut inputs = [zero; 8];
            for row in USED_WHEN_HALVED {
                inputs[row] = S::i16s::from_slice(simd, &coefficients[8 * row + column][blocks.clone()]);
            }
            let outputs = transform_once_halved(simd, inputs, 13 - 2 + 1 + 3);
            for (output, to) in outputs.into_iter().zip(&mut between) {
                to[column] = output;
            }
        }
        for (inputs, to) in between.into_iter().zip(out.iter_mut()) {
            let [c0, c1, c2, c3] = transform_once_halved(simd, inputs, 13 + 2 + 3 + 1);
            let (one, other) = (pack(simd, c0, c2), pack(simd, c1, c3));
            let (front, back) = zip16::<S>(one.zip_low(other), one.zip_high(other));
            let to = to[4 * first..].chunks_exact_mut(S::u8s::LEN);
            for (vector, to) in [front, back].into_iter().zip(to) {
                vector.store_slice(to);
            }
        }
    }
}

/// Rows and columns that means of pairs depend on: the fifth cosine has none.
const USED_WHEN_HALVED: [usize; 7] = [0, 1, 2, 3, 5, 6, 7];

/// Transforms in one direction into means of pairs.
#[inline(always)]
fn transform_once_halved<S: Simd>(simd: S, x: [S::i16s; 8], shift: u32) -> [S::i16s; 4] {
    let (low, high) = x[0].widen();
    let half = S::i32s::splat(simd, 1 << (shift - 1));
    let mean = ((low << 14) + half, (high << 14) + half);
    let even = weighted(simd, zip(x[2], x[6]), (F_1_847, -F_0_765));
    let (outer, inner) = (added(mean, even), less::<S>(mean, even));
    let (last, first) = (zip(x[7], x[5]), zip(x[3], x[1]));
    let inner_odd =
        added(weighted(simd, last, (-F_0_211, F_1_451)), weighted(simd, first, (-F_2_172, F_1_061)));
    let outer_odd =
        added(weighted(simd, last, (-F_0_509, -F_0_601)), weighted(simd, first, (F_0_899, F_2_562)));
    [
        scaled::<S>(added(outer, outer_odd), shift),
        scaled::<S>(added(inner, inner_odd), shift),
        scaled::<S>(less::<S>(inner, inner_odd), shift),
        scaled::<S>(less::<S>(outer, outer_odd), shift),
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
fn wrap_lone_rows(group: &Group, steps: &Steps, between: &mut Between) {
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
fn transform_once<S: Simd>(simd: S, x: [S::i16s; 8], shift: u32) -> [S::i16s; 8] {
    let even = zip(x[2], x[6]);
    let t2 = weighted(simd, even, (C6, C6 - F_1_847));
    let t3 = weighted(simd, even, (C6 + F_0_765, C6));
    // Every output has one of these once, so they round all.
    let (t0, t1) = (raised(simd, x[0] + x[4], shift), raised(simd, x[0] - x[4], shift));
    let (t10, t13) = (added(t0, t3), less::<S>(t0, t3));
    let (t11, t12) = (added(t1, t2), less::<S>(t1, t2));

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
        scaled::<S>(added(t10, o3), shift),
        scaled::<S>(added(t11, o2), shift),
        scaled::<S>(added(t12, o1), shift),
        scaled::<S>(added(t13, o0), shift),
        scaled::<S>(less::<S>(t13, o0), shift),
        scaled::<S>(less::<S>(t12, o1), shift),
        scaled::<S>(less::<S>(t11, o2), shift),
        scaled::<S>(less::<S>(t10, o3), shift),
    ]
}

/// Returns values times 8,192, and what rounds them when this number of bits is taken away.
#[inline(always)]
fn raised<S: Simd>(simd: S, values: S::i16s, bits: u32) -> Wide<S> {
    let half = S::i32s::splat(simd, 1 << (bits - 1));
    let (low, high) = values.widen();
    ((low << 13) + half, (high << 13) + half)
}

#[inline(always)]
fn less<S: Simd>(one: Wide<S>, other: Wide<S>) -> Wide<S> {
    (one.0 - other.0, one.1 - other.1)
}

/// Takes away as many bits, and saturates.
#[inline(always)]
fn scaled<S: Simd>((low, high): Wide<S>, bits: u32) -> S::i16s {
    (low >> bits).saturating_narrow(high >> bits)
}

/// Makes samples of eight columns and puts them beside each other, block after block.
#[inline(always)]
fn join<S: Simd>(simd: S, columns: [S::i16s; 8], out: &mut [u8]) {
    let [c0, c1, c2, c3, c4, c5, c6, c7] = columns;
    // Each vector has the samples of two columns that lie four apart: zipped, the lower ones come first.
    let [a, b, c, d] = [pack(simd, c0, c4), pack(simd, c1, c5), pack(simd, c2, c6), pack(simd, c3, c7)];
    let (front, back) = (zip16::<S>(a.zip_low(b), c.zip_low(d)), zip16::<S>(a.zip_high(b), c.zip_high(d)));
    let vectors = [zip32::<S>(front.0, back.0), zip32::<S>(front.1, back.1)];
    for (vector, to) in vectors.into_iter().flatten().zip(out.chunks_exact_mut(S::u8s::LEN)) {
        vector.store_slice(to);
    }
}

/// Makes samples of two columns: libjpeg narrows them to signed bytes.
#[inline(always)]
fn pack<S: Simd>(simd: S, one: S::i16s, other: S::i16s) -> S::u8s {
    let signed: S::i8s = one.saturating_narrow(other);
    signed.bitcast::<S::u8s>() + S::u8s::splat(simd, 128)
}

/// Zips pairs of bytes.
#[inline(always)]
fn zip16<S: Simd>(one: S::u8s, other: S::u8s) -> (S::u8s, S::u8s) {
    let (one, other) = (one.bitcast::<S::i16s>(), other.bitcast::<S::i16s>());
    (one.zip_low(other).bitcast(), one.zip_high(other).bitcast())
}

/// Interleaves groups of four bytes.
#[inline(always)]
fn zip32<S: Simd>(one: S::u8s, other: S::u8s) -> [S::u8s; 2] {
    let (one, other) = (one.bitcast::<S::i32s>(), other.bitcast::<S::i32s>());
    [one.zip_low(other).bitcast(), one.zip_high(other).bitcast()]
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};

    use super::*;

    #[test]
    fn narrow_vectors_give_the_samples_of_wide_ones() {
        let mut group = Group::default();
        let mut state = 1_u32;
        for place in 0..64 {
            for block in 0..BLOCKS {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                group.set(block, place, (state >> 24) as i8 as i16 / (1 + place as i16));
            }
        }
        group.reach(63);
        let samples = [Level::baseline(), Level::new()].map(|level| {
            let (mut between, mut out) = ([[[0; BLOCKS]; 8]; 8], [[0; SAMPLES]; 8]);
            dispatch!(level, simd => inverse(simd, &group, &[7; 64], &mut between, &mut out));
            let mut halved = [[0; SAMPLES / 2]; 4];
            dispatch!(level, simd => inverse_halved(simd, group.rows(), 64, &mut halved));
            (out, halved)
        });
        assert_eq!(samples[0], samples[1]);
    }
}
