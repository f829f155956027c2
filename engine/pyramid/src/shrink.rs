//! Halves a picture by a box filter: each pixel of the smaller picture is the rounded mean of 2×2 pixels of the larger
//! one.
//!
//! At an odd edge it is the mean of the pixels that exist. The upright picture may begin where the stored rows end
//! (`from_end`). Colours are weighted by opacity, so the invisible colours of transparent pixels do not bleed into
//! visible ones.
//!
//! The loops are simple on purpose: the compiler vectorises them.

use edgezoom_codecs::{Layout, vectorised};
use edgezoom_jpeg::ycbcr420::{Pair, PairMut};

use crate::geometry::Axis;

/// Halves two rows into one. At an odd lower edge, pass the last row twice. With `from_end`, pixels are paired from the
/// right.
///
/// `out` must have half the pixels of `upper`, rounded up.
pub fn halve_rows(layout: Layout, from_end: bool, upper: &[u8], lower: &[u8], out: &mut [u8]) {
    match layout {
        Layout::Grey => halve::<1>(from_end, upper, lower, out),
        Layout::Rgb => halve::<3>(from_end, upper, lower, out),
        Layout::Rgba => halve::<4>(from_end, upper, lower, out),
        // `halve_ycbcr420` halves planes.
        Layout::YCbCr420 => {}
    }
}

/// Halves two pairs of rows into one pair. At an odd edge one pair is missing, and so is its row of the result. `above`
/// and `below` are the columns of the larger and the smaller picture.
pub fn halve_ycbcr420(above: &Axis, below: &Axis, pairs: [Option<Pair<'_>>; 2], out: PairMut<'_>) {
    for (pair, out) in pairs.into_iter().zip(out.luma) {
        let Some(pair) = pair else { continue };
        let [upper, lower] = pair.luma.map(|row| &row[above.lead as usize..above.positions() as usize]);
        let out = &mut out[below.lead as usize..below.positions() as usize];
        halve::<1>(above.from_end, upper, lower, out);
    }
    let [first, second] = pairs;
    let (Some(upper), Some(lower)) = (first.or(second), second.or(first)) else { return };
    for ((upper, lower), out) in upper.chroma.into_iter().zip(lower.chroma).zip(out.chroma) {
        let samples = |columns: &Axis| columns.positions().div_ceil(2) as usize;
        let [upper, lower] = [upper, lower].map(|row| &row[..samples(above)]);
        halve::<1>(above.from_end, upper, lower, &mut out[..samples(below)]);
    }
}

/// Halves rows of pixels of `N` bytes; the last of four bytes is opacity. Of an odd number of pixels the last one is
/// halved alone, or with `from_end` the first one.
fn halve<const N: usize>(from_end: bool, upper: &[u8], lower: &[u8], out: &mut [u8]) {
    let alone = if from_end && (upper.len() / N) % 2 == 1 { N } else { 0 };
    let (upper_alone, upper) = upper.split_at(alone);
    let (lower_alone, lower) = lower.split_at(alone);
    let (out_alone, out) = out.split_at_mut(alone);
    vectorised(
        #[inline(always)]
        || {
            for (upper, lower, out) in [(upper_alone, lower_alone, out_alone), (upper, lower, out)] {
                match N {
                    4 => weighted_box_filter(upper, lower, out),
                    _ => box_filter::<N>(upper, lower, out),
                }
            }
        },
    );
}

/// Writes the mean of each of the `N` channels.
#[inline(always)]
fn box_filter<const N: usize>(upper: &[u8], lower: &[u8], out: &mut [u8]) {
    let (upper, upper_rest) = upper.as_chunks::<N>();
    let (lower, lower_rest) = lower.as_chunks::<N>();
    debug_assert!(upper_rest.is_empty() && lower_rest.is_empty());
    let (upper_pairs, upper_last) = upper.as_chunks::<2>();
    let (lower_pairs, lower_last) = lower.as_chunks::<2>();
    let (out, _) = out.as_chunks_mut::<N>();
    let (inner, edge) = out.split_at_mut(upper_pairs.len());
    for ((out, above), below) in inner.iter_mut().zip(upper_pairs).zip(lower_pairs) {
        for channel in 0..N {
            out[channel] = mean([above[0][channel], above[1][channel], below[0][channel], below[1][channel]]);
        }
    }
    for ((out, above), below) in edge.iter_mut().zip(upper_last).zip(lower_last) {
        for channel in 0..N {
            out[channel] = mean([above[channel], above[channel], below[channel], below[channel]]);
        }
    }
}

/// Writes the mean opacity, and the mean colours weighted by opacity.
#[inline(always)]
fn weighted_box_filter(upper: &[u8], lower: &[u8], out: &mut [u8]) {
    let (upper, _) = upper.as_chunks::<4>();
    let (lower, _) = lower.as_chunks::<4>();
    let (out, _) = out.as_chunks_mut::<4>();
    for ((out, above), below) in out.iter_mut().zip(upper.chunks(2)).zip(lower.chunks(2)) {
        if let ([first, .., last], [third, .., fourth]) | ([first @ last], [third @ fourth]) = (above, below)
        {
            *out = blend([first, last, third, fourth]);
        }
    }
}

#[inline(always)]
fn mean(values: [u8; 4]) -> u8 {
    ((values.iter().map(|&value| u16::from(value)).sum::<u16>() + 2) / 4) as u8
}

#[inline(always)]
fn blend(pixels: [&[u8; 4]; 4]) -> [u8; 4] {
    let alphas = pixels.map(|pixel| u32::from(pixel[3]));
    let opacity: u32 = alphas.iter().sum();
    if opacity == 4 * 255 {
        return std::array::from_fn(|channel| mean(pixels.map(|pixel| pixel[channel])));
    }
    if opacity == 0 {
        return [0; 4];
    }
    let colour = |channel: usize| {
        let weighted: u32 =
            pixels.iter().zip(alphas).map(|(pixel, alpha)| u32::from(pixel[channel]) * alpha).sum();
        ((weighted + opacity / 2) / opacity) as u8
    };
    [colour(0), colour(1), colour(2), ((opacity + 2) / 4) as u8]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_mean_is_rounded() {
        let mut out = [0; 1];
        halve_rows(Layout::Grey, false, &[0, 1], &[0, 1], &mut out);
        assert_eq!(out, [1]);
        halve_rows(Layout::Grey, false, &[0, 0], &[0, 1], &mut out);
        assert_eq!(out, [0]);
    }

    #[test]
    fn an_odd_edge_is_the_mean_of_what_exists() {
        let mut out = [0; 6];
        halve_rows(Layout::Rgb, false, &[0, 0, 0, 4, 4, 4, 9, 10, 11], &[8; 9], &mut out);
        assert_eq!(out, [5, 5, 5, 9, 9, 10]);
    }

    #[test]
    fn colour_under_transparent_pixels_does_not_bleed() {
        let mut out = [0; 4];
        halve_rows(
            Layout::Rgba,
            false,
            &[200, 100, 50, 255, 0, 255, 0, 0],
            &[0, 255, 0, 0, 0, 255, 0, 0],
            &mut out,
        );
        assert_eq!(out, [200, 100, 50, 64]);
        halve_rows(Layout::Rgba, false, &[9, 9, 9, 0], &[9, 9, 9, 0], &mut out);
        assert_eq!(out, [0; 4]);
    }

    proptest! {
        #[test]
        fn every_channel_is_the_rounded_mean(pixels in 1usize..40, seed in any::<u64>()) {
            for (layout, channels) in [(Layout::Grey, 1), (Layout::Rgb, 3)] {
                let byte = |i: usize| (seed.wrapping_mul(6_364_136_223_846_793_005).rotate_left(i as u32 * 7) >> 40) as u8;
                let upper: Vec<u8> = (0..pixels * channels).map(byte).collect();
                let lower: Vec<u8> = (0..pixels * channels).map(|i| byte(i + 31)).collect();
                let mut out = vec![0; pixels.div_ceil(2) * channels];
                halve_rows(layout, false, &upper, &lower, &mut out);
                for (i, &value) in out.iter().enumerate() {
                    let (x, channel) = (i / channels, i % channels);
                    let columns = [2 * x, (2 * x + 1).min(pixels - 1)];
                    let sum: u32 = columns.iter().map(|&column| column * channels + channel)
                        .map(|at| u32::from(upper[at]) + u32::from(lower[at])).sum();
                    prop_assert_eq!(u32::from(value), (sum + 2) / 4);
                }
            }
        }

        #[test]
        fn opaque_pixels_shrink_as_if_there_were_no_transparency(bytes in proptest::array::uniform16(any::<u8>())) {
            let rgba: Vec<u8> = bytes.chunks(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255]).collect();
            let rgb: Vec<u8> = bytes.chunks(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
            let (mut with, mut without) = ([0; 4], [0; 3]);
            halve_rows(Layout::Rgba, false, &rgba[..8], &rgba[8..], &mut with);
            halve_rows(Layout::Rgb, false, &rgb[..6], &rgb[6..], &mut without);
            prop_assert_eq!(&with[..3], &without[..]);
            prop_assert_eq!(with[3], 255);
        }
    }
}
