//! Converts pixels to planes of YCbCr and halves chroma, as libjpeg does.
//!
//! Source: JFIF 1.02; libjpeg's `jccolor.c` for the fixed point, and `jcsample.c`.

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i16x32, u8x64, u16x32, u32x16};

use crate::vectors::{added, shifted, weighted, widened, zip};

/// Number of pixels that are converted at once.
pub const PIXELS: usize = 64;

/// Places of a channel's values in pixels of three bytes: in the first two vectors, then in the result and the third
/// vector.
const PLACES: [[[u8; PIXELS]; 2]; 3] = [places(0), places(1), places(2)];

const fn places(channel: usize) -> [[u8; PIXELS]; 2] {
    let mut places = [[0; PIXELS]; 2];
    let mut pixel = 0;
    while pixel < PIXELS {
        let at = 3 * pixel + channel;
        if at < 2 * PIXELS {
            places[0][pixel] = at as u8;
            places[1][pixel] = pixel as u8;
        } else {
            places[1][pixel] = (at - PIXELS) as u8;
        }
        pixel += 1;
    }
    places
}

/// Splits pixels of three bytes into planes. All slices must be whole vectors of 64 pixels.
#[inline(always)]
pub fn split<S: Simd>(simd: S, pixels: &[u8], [first, second, third]: &mut [&mut [u8]; 3]) {
    let planes =
        first.as_chunks_mut().0.iter_mut().zip(second.as_chunks_mut().0).zip(third.as_chunks_mut().0);
    for (pixels, ((first, second), third)) in pixels.as_chunks::<{ 3 * PIXELS }>().0.iter().zip(planes) {
        let (early, late) = pixels.split_at(2 * PIXELS);
        let (one, two) = early.split_at(PIXELS);
        let vectors = [one, two, late].map(
            #[inline(always)]
            |bytes| u8x64::from_slice(simd, bytes),
        );
        store(channel(simd, vectors, 0), first);
        store(channel(simd, vectors, 1), second);
        store(channel(simd, vectors, 2), third);
    }
}

#[inline(always)]
fn store<S: Simd>(vector: u8x64<S>, to: &mut [u8; PIXELS]) {
    vector.store_slice(to);
}

#[inline(always)]
fn channel<S: Simd>(simd: S, [one, two, three]: [u8x64<S>; 3], channel: usize) -> u8x64<S> {
    let [early, all] = &PLACES[channel];
    let early = one.concat_swizzle_dyn(two, u8x64::from_slice(simd, early));
    early.concat_swizzle_dyn(three, u8x64::from_slice(simd, all))
}

/// Converts red, green and blue to luma, Cb and Cr in place. All slices must be whole vectors.
#[inline(always)]
pub fn to_ycbcr<S: Simd>(simd: S, [first, second, third]: &mut [&mut [u8]; 3]) {
    let planes =
        first.as_chunks_mut().0.iter_mut().zip(second.as_chunks_mut().0).zip(third.as_chunks_mut().0);
    for ((first, second), third) in planes {
        let (red, more_red) = widened(u8x64::from_slice(simd, &first[..]));
        let (green, more_green) = widened(u8x64::from_slice(simd, &second[..]));
        let (blue, more_blue) = widened(u8x64::from_slice(simd, &third[..]));
        let [luma, cb, cr] = ycbcr(simd, red, green, blue);
        let [more_luma, more_cb, more_cr] = ycbcr(simd, more_red, more_green, more_blue);
        store(luma.relaxed_narrow(more_luma), first);
        store(cb.relaxed_narrow(more_cb), second);
        store(cr.relaxed_narrow(more_cr), third);
    }
}

/// Converts with 16 bits of fraction. A weight that does not fit into an `i16` is the sum of two: green's in luma is
/// 38,470.
#[inline(always)]
fn ycbcr<S: Simd>(simd: S, red: i16x32<S>, green: i16x32<S>, blue: i16x32<S>) -> [u16x32<S>; 3] {
    const ROUNDED: i32 = 1 << 15;
    const MIDDLE: i32 = (128 << 16) + ROUNDED - 1;
    const HALF: (i16, i16) = (16384, 16384);
    let (red_green, blue_green) = (zip(red, green), zip(blue, green));
    let (blue_twice, red_twice) = (zip(blue, blue), zip(red, red));
    let luma = added(weighted(simd, red_green, (19595, 22086)), weighted(simd, blue_green, (7471, 16384)));
    let cb = added(weighted(simd, red_green, (-11059, -21709)), weighted(simd, blue_twice, HALF));
    let cr = added(weighted(simd, blue_green, (-5329, -27439)), weighted(simd, red_twice, HALF));
    [
        shifted(simd, luma, ROUNDED, 16).bitcast(),
        shifted(simd, cb, MIDDLE, 16).bitcast(),
        shifted(simd, cr, MIDDLE, 16).bitcast(),
    ]
}

/// Writes the mean of each 2×2 samples of two rows, which must be whole vectors of 128 samples. Halves are rounded down
/// and up in turn.
#[inline(always)]
pub fn halve<S: Simd>(simd: S, upper: &[u8], lower: &[u8], out: &mut [u8]) {
    let rows = upper.as_chunks::<{ 2 * PIXELS }>().0.iter().zip(lower.as_chunks::<{ 2 * PIXELS }>().0);
    for ((upper, lower), out) in rows.zip(out.as_chunks_mut().0) {
        let ((upper, more_upper), (lower, more_lower)) = (upper.split_at(PIXELS), lower.split_at(PIXELS));
        let (mean, more) = (mean(simd, upper, lower), mean(simd, more_upper, more_lower));
        store(mean.relaxed_narrow(more), out);
    }
}

#[inline(always)]
fn mean<S: Simd>(simd: S, upper: &[u8], lower: &[u8]) -> u16x32<S> {
    let bias: u16x32<S> = u32x16::splat(simd, 2 << 16 | 1).bitcast();
    let sums = u8x64::from_slice(simd, upper).pairwise_widening_add();
    (sums + u8x64::from_slice(simd, lower).pairwise_widening_add() + bias) >> 2
}
