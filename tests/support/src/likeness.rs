//! Compares a picture with its reference: per-pixel differences, and perceptual measures (structural similarity, ΔE).
//!
//! A mean alone hides a broken tile in a large picture. So [`Difference`] also has a high percentile, which detects
//! scattered pixels, and the worst block, which detects a missing or displaced part.

use edgezoom_codecs::Layout;

use crate::Picture;

/// Side of a block for [`Difference::block`], in pixels.
const BLOCK: usize = 32;

/// Absolute difference between the channels of two pictures, from 0 to 255.
#[derive(Clone, Copy, Debug)]
struct Difference {
    /// Mean over all channels of all pixels.
    mean: f64,
    /// 99.9th percentile over all channels of all pixels.
    percentile: u8,
    /// Largest mean over a block. Blocks at the edges may be smaller.
    block: f64,
    most: u8,
}

/// Largest accepted [`Difference`].
#[derive(Clone, Copy, Debug)]
pub struct Tolerance(Difference);

impl Tolerance {
    /// Accepts only equal pixels.
    pub const EXACT: Self = Self::up_to(0);

    /// Accepts pictures in which no channel differs by more than `most`.
    pub const fn up_to(most: u8) -> Self {
        Self(Difference { mean: most as f64, percentile: most, block: most as f64, most })
    }

    /// Accepts the differences of lossy formats and other renderers: limits the mean, the 99.9th percentile and the
    /// worst block's mean. A single channel may differ by any amount.
    pub const fn lossy(mean: f64, percentile: u8, block: f64) -> Self {
        Self(Difference { mean, percentile, block, most: u8::MAX })
    }
}

/// Compares two pictures of any layout. If either has opacity, both are compared on black and on white, so that the
/// colours of transparent pixels do not count.
///
/// # Errors
/// The sizes differ, or the pixels differ by more than the tolerance. The message has the figures.
pub fn compare(one: &Picture, other: &Picture, Tolerance(accepted): Tolerance) -> Result<(), String> {
    if one.size() != other.size() {
        return Err(format!("the size is {:?} and should be {:?}", one.size(), other.size()));
    }
    let found = difference(one, other);
    let is_accepted = found.mean <= accepted.mean
        && found.percentile <= accepted.percentile
        && found.block <= accepted.block
        && found.most <= accepted.most;
    if is_accepted { Ok(()) } else { Err(format!("{found:.2?}, accepted is {accepted:?}")) }
}

fn difference(one: &Picture, other: &Picture) -> Difference {
    let has_opacity = [one, other].iter().any(|picture| picture.layout == Layout::Rgba);
    let backdrops: &[f64] = if has_opacity { &[0.0, 255.0] } else { &[0.0] };
    let width = one.width as usize;
    let (one, other): (Vec<_>, Vec<_>) = (colours(one).collect(), colours(other).collect());
    let mut counts = [0_u64; 256];
    let mut worst: f64 = 0.0;
    for (one, other) in one.chunks(BLOCK * width).zip(other.chunks(BLOCK * width)) {
        let mut blocks = vec![(0_u64, 0_u64); width.div_ceil(BLOCK)];
        for (x, (one, other)) in (0..width).cycle().zip(one.iter().zip(other)) {
            let (sum, count) = &mut blocks[x / BLOCK];
            for &backdrop in backdrops {
                for (one, other) in on(*one, backdrop).into_iter().zip(on(*other, backdrop)) {
                    let difference = one.abs_diff(other);
                    counts[usize::from(difference)] += 1;
                    *sum += u64::from(difference);
                    *count += 1;
                }
            }
        }
        worst = blocks.iter().map(|&(sum, count)| sum as f64 / count as f64).fold(worst, f64::max);
    }
    let count: u64 = counts.iter().sum();
    let sum: u64 = (0..).zip(counts).map(|(difference, count)| difference * count).sum();
    // The largest difference, ignoring the `left_out` largest ones.
    let most_without = |mut left_out: u64| {
        let within = (0..=u8::MAX).rev().zip(counts.into_iter().rev()).find(|&(_, count)| {
            let is_within = count > left_out;
            left_out = left_out.saturating_sub(count);
            is_within
        });
        within.map_or(0, |(difference, _)| difference)
    };
    Difference {
        mean: sum as f64 / count.max(1) as f64,
        percentile: most_without(count / 1000),
        block: worst,
        most: most_without(0),
    }
}

/// Returns a picture's pixels as red, green, blue and opacity.
pub fn colours(picture: &Picture) -> impl Iterator<Item = [u8; 4]> + '_ {
    picture.pixels.chunks_exact(picture.layout.channels()).map(|pixel| match (picture.layout, pixel) {
        (Layout::Grey, &[grey]) => [grey, grey, grey, 255],
        (Layout::Rgb, &[red, green, blue]) => [red, green, blue, 255],
        (_, &[red, green, blue, alpha]) => [red, green, blue, alpha],
        _ => panic!("an odd pixel"),
    })
}

fn on([red, green, blue, alpha]: [u8; 4], backdrop: f64) -> [u8; 3] {
    if alpha == 255 {
        return [red, green, blue];
    }
    let alpha = f64::from(alpha) / 255.0;
    [red, green, blue].map(|colour| (f64::from(colour) * alpha + backdrop * (1.0 - alpha)).round() as u8)
}

/// Returns the structural similarity of two pictures, which is 1 if they are equal: the mean over squares of 8×8 pixels
/// (Wang et al., Image quality assessment, 2004).
pub fn similarity(one: &Picture, other: &Picture) -> f64 {
    assert_eq!((one.size(), one.layout), (other.size(), other.layout));
    let (columns, rows) = (one.width / 8, one.height / 8);
    let squares = (0..rows).flat_map(|row| (0..columns).map(move |column| (column * 8, row * 8)));
    let similar = squares.map(|(left, top)| {
        let grey = |picture: &Picture, x, y| {
            picture.at(x, y).iter().map(|&channel| f64::from(channel)).sum::<f64>() / 3.0
        };
        let pixels = (0..64).map(|index| (left + index % 8, top + index / 8));
        let pairs: Vec<(f64, f64)> = pixels.map(|(x, y)| (grey(one, x, y), grey(other, x, y))).collect();
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / 64.0;
        let (a, b) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        let variance = mean(&|pair| (pair.0 - a).powi(2)) + mean(&|pair| (pair.1 - b).powi(2));
        let covariance = mean(&|pair| (pair.0 - a) * (pair.1 - b));
        let (c1, c2) = ((0.01_f64 * 255.0).powi(2), (0.03_f64 * 255.0).powi(2));
        (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (variance + c2))
    });
    similar.sum::<f64>() / f64::from(columns * rows)
}

/// Returns the CIEDE2000 difference between two sRGB colours. A difference of 1 is just noticeable.
pub fn delta_e(one: [u8; 3], other: [u8; 3]) -> f64 {
    let ([l1, a1, b1], [l2, a2, b2]) = (lab(one), lab(other));
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let seventh = ((c1 + c2) / 2.0).powi(7);
    let stretch = 1.5 - 0.5 * (seventh / (seventh + 25f64.powi(7))).sqrt();
    let (a1, a2) = (a1 * stretch, a2 * stretch);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let grey = c1 * c2 == 0.0;
    let turn = if grey { 0.0 } else { (h2 - h1 + 540.0).rem_euclid(360.0) - 180.0 };
    let big_hue = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let mean_hue = if grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let (lightness, chroma) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(mean_hue - 30.0) + 0.24 * cos(2.0 * mean_hue) + 0.32 * cos(3.0 * mean_hue + 6.0)
        - 0.2 * cos(4.0 * mean_hue - 63.0);
    let off = (lightness - 50.0).powi(2);
    let sl = 1.0 + 0.015 * off / (20.0 + off).sqrt();
    let (sc, sh) = (1.0 + 0.045 * chroma, 1.0 + 0.015 * chroma * t);
    let seventh = chroma.powi(7);
    let around = 30.0 * (-((mean_hue - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * (seventh / (seventh + 25f64.powi(7))).sqrt() * (2.0 * around).to_radians().sin();
    let (dl, dc, dh) = ((l2 - l1) / sl, (c2 - c1) / sc, big_hue / sh);
    (dl * dl + dc * dc + dh * dh + rotation * dc * dh).max(0.0).sqrt()
}

/// Converts sRGB to CIE L*a*b* under D65.
fn lab(colour: [u8; 3]) -> [f64; 3] {
    let [red, green, blue] = colour.map(|value| {
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    let root = |t: f64| if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 };
    let x = root((0.412_456 * red + 0.357_576 * green + 0.180_437 * blue) / 0.950_47);
    let y = root(0.212_673 * red + 0.715_152 * green + 0.072_175 * blue);
    let z = root((0.019_334 * red + 0.119_192 * green + 0.950_304 * blue) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{self, Jpeg};

    /// Returns a photograph, its decoded JPEG, and a tolerance that the JPEG barely meets.
    fn lossy() -> (Picture, Picture, Tolerance) {
        let photo = Picture::photo(1000, 800, Layout::Rgb);
        let lossy = files::decode(&files::jpeg(&photo, Jpeg::default())).unwrap();
        (photo, lossy, Tolerance::lossy(1.7, 8, 1.8))
    }

    /// Returns the picture with the pixels of one square replaced.
    fn changed(
        picture: &Picture,
        (left, top): (u32, u32),
        side: u32,
        pixel: impl Fn(u32, u32) -> [u8; 3],
    ) -> Picture {
        Picture::new(picture.width, picture.height, picture.layout, |x, y| {
            let is_inside = (left..left + side).contains(&x) && (top..top + side).contains(&y);
            let [red, green, blue] =
                if is_inside { pixel(x, y) } else { picture.at(x, y).try_into().unwrap() };
            [red, green, blue, 255]
        })
    }

    #[test]
    fn a_picture_with_a_broken_tile_fails() {
        let (photo, lossy, tolerance) = lossy();
        compare(&lossy, &photo, tolerance).unwrap();
        let broken = changed(&lossy, (512, 384), 64, |_, _| [128; 3]);
        // The mean alone is within the tolerance.
        assert!(difference(&broken, &photo).mean < 1.7);
        compare(&broken, &photo, tolerance).unwrap_err();
        compare(&photo, &photo, Tolerance::EXACT).unwrap();
        compare(&changed(&photo, (999, 799), 1, |_, _| [0; 3]), &photo, Tolerance::EXACT).unwrap_err();
    }

    #[test]
    fn a_picture_with_a_shifted_block_fails() {
        let (photo, lossy, tolerance) = lossy();
        for (by, side) in [(1, 64), (8, 32)] {
            let shifted = changed(&lossy, (290, 310), side, |x, y| lossy.at(x + by, y).try_into().unwrap());
            assert!(difference(&shifted, &photo).mean < 1.7);
            compare(&shifted, &photo, tolerance).unwrap_err();
        }
    }

    #[test]
    fn colours_of_transparent_pixels_do_not_count_and_opacity_does() {
        let pixel = |pixel| Picture::new(1, 1, Layout::Rgba, |_, _| pixel);
        compare(&pixel([9, 99, 199, 0]), &pixel([0; 4]), Tolerance::EXACT).unwrap();
        compare(&pixel([0, 0, 0, 0]), &pixel([0, 0, 0, 9]), Tolerance::up_to(8)).unwrap_err();
    }

    #[test]
    fn delta_e_matches_published_values() {
        assert!(delta_e([200, 100, 50], [200, 100, 50]) < 1e-9);
        assert!((delta_e([0, 0, 0], [255, 255, 255]) - 100.0).abs() < 0.1);
        // sRGB's red and green are 86.6 apart.
        assert!((delta_e([255, 0, 0], [0, 255, 0]) - 86.6).abs() < 0.2);
    }
}
