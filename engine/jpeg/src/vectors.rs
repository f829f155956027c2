//! Vector operations on values of 16 bits that the conversion of colours and the transforms share.

use std::ops::Add;

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i16x32, u8x64, u16x32};

/// Runs code that is compiled for the widest vectors of the processor. All functions that it calls must be inlined.
macro_rules! with_vectors {
    ($simd:ident => $run:expr) => {
        fearless_simd::dispatch!(fearless_simd::Level::new(), $simd => {
            fearless_simd::Simd::vectorize($simd, #[inline(always)] || $run)
        })
    };
}
pub(crate) use with_vectors;

/// Widens bytes to 16 bits: the lower half and the upper half.
#[inline(always)]
pub fn widened<S: Simd>(bytes: u8x64<S>) -> (i16x32<S>, i16x32<S>) {
    let (low, high): (u16x32<S>, u16x32<S>) = bytes.widen();
    (low.bitcast(), high.bitcast())
}

/// Interleaves two vectors.
#[inline(always)]
pub fn zip<S: Simd, V: SimdBase<S>>(one: V, other: V) -> (V, V) {
    (one.zip_low(other), one.zip_high(other))
}

/// Returns the weighted sum of each pair.
#[inline(always)]
pub fn weighted<S: Simd, V, W>(simd: S, (low, high): (V, V), (first, second): (i16, i16)) -> (W, W)
where
    V: SimdIntWiden<S, Element = i16, Widened = W>,
    W: SimdInt<S, Element = i32, ByteVector = V::ByteVector>,
{
    let weights = W::splat(simd, i32::from(second) << 16 | i32::from(first as u16)).bitcast::<V>();
    (low.pairwise_dot_product(weights), high.pairwise_dot_product(weights))
}

/// Adds two vectors.
#[inline(always)]
pub fn added<V: Add<Output = V>>(one: (V, V), other: (V, V)) -> (V, V) {
    (one.0 + other.0, one.1 + other.1)
}

/// Adds a constant, shifts right by this number of bits and narrows to 16 bits.
#[inline(always)]
pub fn shifted<S: Simd, W: SimdInt<S, Element = i32> + SimdNarrow<S>>(
    simd: S,
    (low, high): (W, W),
    constant: i32,
    bits: u32,
) -> W::Narrowed {
    let constant = W::splat(simd, constant);
    ((low + constant) >> bits).relaxed_narrow((high + constant) >> bits)
}

/// The weights of the transforms times 8,192, under libjpeg's names.
pub mod weights {
    pub const F_0_211: i16 = 1730;
    pub const F_0_298: i16 = 2446;
    pub const F_0_390: i16 = 3196;
    pub const F_0_509: i16 = 4176;
    pub const F_0_601: i16 = 4926;
    pub const F_0_765: i16 = 6270;
    pub const F_0_899: i16 = 7373;
    pub const F_1_061: i16 = 8697;
    pub const F_1_451: i16 = 11893;
    pub const F_1_501: i16 = 12299;
    pub const F_1_847: i16 = 15137;
    pub const F_1_961: i16 = 16069;
    pub const F_2_053: i16 = 16819;
    pub const F_2_172: i16 = 17799;
    pub const F_2_562: i16 = 20995;
    pub const F_3_072: i16 = 25172;
    /// √2 · cos(6π/16).
    pub const C6: i16 = 4433;
    /// √2 · cos(3π/16).
    pub const C3: i16 = 9633;
}
