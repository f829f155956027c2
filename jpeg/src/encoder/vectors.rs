//! What colours and the transform have in common: 32 values of 16 bits, and sums of two of them that are weighted.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i16x32, i32x16, u8x64, u16x32};

/// Runs a function of vectors, compiled for the widest that the processor has. All that it calls must be inlined.
macro_rules! with_vectors {
    ($simd:ident => $run:expr) => {
        fearless_simd::dispatch!(fearless_simd::Level::new(), $simd => {
            fearless_simd::Simd::vectorize($simd, #[inline(always)] || $run)
        })
    };
}
pub(super) use with_vectors;

/// Each value of one vector beside that of another one: the lower half of them, and the upper one.
pub type Pairs<S> = (i16x32<S>, i16x32<S>);

/// Values that are twice as wide: the lower half of them, and the upper one.
pub type Wide<S> = (i32x16<S>, i32x16<S>);

/// The lower half of bytes, and the upper one.
#[inline(always)]
pub fn widened<S: Simd>(bytes: u8x64<S>) -> (i16x32<S>, i16x32<S>) {
    let (low, high): (u16x32<S>, u16x32<S>) = bytes.widen();
    (low.bitcast(), high.bitcast())
}

#[inline(always)]
pub fn zip<S: Simd>(one: i16x32<S>, other: i16x32<S>) -> Pairs<S> {
    (one.zip_low(other), one.zip_high(other))
}

/// The sum of each pair, whose values are weighted.
#[inline(always)]
pub fn weighted<S: Simd>(simd: S, (low, high): Pairs<S>, (first, second): (i16, i16)) -> Wide<S> {
    let weights =
        i32x16::splat(simd, i32::from(second) << 16 | i32::from(first as u16)).bitcast::<i16x32<S>>();
    (low.pairwise_dot_product(weights), high.pairwise_dot_product(weights))
}

#[inline(always)]
pub fn added<S: Simd>(one: Wide<S>, other: Wide<S>) -> Wide<S> {
    (one.0 + other.0, one.1 + other.1)
}

/// Adds a constant, and takes away as many bits.
#[inline(always)]
pub fn shifted<S: Simd>(simd: S, (low, high): Wide<S>, constant: i32, bits: u32) -> i16x32<S> {
    let constant = i32x16::splat(simd, constant);
    ((low + constant) >> bits).relaxed_narrow((high + constant) >> bits)
}
