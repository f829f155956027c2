//! Crops, halves and compares pictures row by row. The tests compare hundreds of megapixels, and pixel by pixel that
//! takes ten times as long.

use image::RgbaImage;

/// Returns the mean squared difference between the RGB values of two pictures, with `other` shifted by some pixels.
#[must_use]
pub fn mean_square(one: &RgbaImage, other: &RgbaImage, (right, down): (i32, i32)) -> f64 {
    let (width, height) = one.dimensions();
    let (columns, rows) = (width - right.unsigned_abs(), height - down.unsigned_abs());
    let start = |by: i32| by.max(0).unsigned_abs();
    let mut sum = 0_u64;
    for row in 0..rows {
        let one = pixels(one, (start(-right), start(-down) + row), columns);
        let other = pixels(other, (start(right), start(down) + row), columns);
        for (one, other) in one.iter().zip(other) {
            let square = |channel: usize| u64::from(one[channel].abs_diff(other[channel])).pow(2);
            sum += square(0) + square(1) + square(2);
        }
    }
    sum as f64 / f64::from(columns * rows * 3).max(1.0)
}

/// Returns a run of `columns` pixels in one row.
fn pixels(picture: &RgbaImage, (x, y): (u32, u32), columns: u32) -> &[[u8; 4]] {
    let (all, _) = picture.as_raw().as_chunks();
    let start = y as usize * picture.width() as usize + x as usize;
    &all[start..start + columns as usize]
}

/// Converts a mean squared difference to a peak signal-to-noise ratio, in dB.
#[must_use]
pub fn decibels(mean_square: f64) -> f64 {
    10.0 * (255.0_f64.powi(2) / mean_square).log10()
}

/// Halves a picture. Each pixel is the mean of the up to four pixels that it covers.
#[must_use]
pub fn halved(picture: &RgbaImage) -> RgbaImage {
    let (width, height) = picture.dimensions();
    let mut half = RgbaImage::new(width.div_ceil(2), height.div_ceil(2));
    for (y, out) in (0..height).step_by(2).zip(half.chunks_exact_mut(width.div_ceil(2) as usize * 4)) {
        let upper = pixels(picture, (0, y), width);
        let lower = if y + 1 < height { pixels(picture, (0, y + 1), width) } else { &[] };
        for (x, mean) in (0..).step_by(2).zip(out.as_chunks_mut::<4>().0) {
            let covered = [upper.get(x), upper.get(x + 1), lower.get(x), lower.get(x + 1)];
            let (mut sum, mut count) = ([0_u32; 4], 0);
            for pixel in covered.into_iter().flatten() {
                count += 1;
                (0..4).for_each(|channel| sum[channel] += u32::from(pixel[channel]));
            }
            *mean = sum.map(|sum| ((sum + count / 2) / count) as u8);
        }
    }
    half
}

/// Crops a picture.
#[must_use]
pub fn cut(picture: &RgbaImage, place: (u32, u32), (width, height): (u32, u32)) -> RgbaImage {
    let mut part = RgbaImage::new(width, height);
    copy(picture, place, &mut part, (0, 0));
    part
}

/// Copies the part of `one` from (`x`, `y`) on to (`left`, `top`) in `other`, clipped to the size of both.
pub fn copy(one: &RgbaImage, (x, y): (u32, u32), other: &mut RgbaImage, (left, top): (u32, u32)) {
    let (width, height) = other.dimensions();
    let columns = (one.width() - x).min(width - left);
    let rows = (one.height() - y).min(height - top);
    let to = other.chunks_exact_mut(4 * width as usize).skip(top as usize);
    for (row, to) in (y..y + rows).zip(to) {
        to[4 * left as usize..][..4 * columns as usize]
            .copy_from_slice(pixels(one, (x, row), columns).as_flattened());
    }
}
