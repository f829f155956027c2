//! Enlarged parts of the original and of each encoder's picture side by side, to look at.

use std::path::Path;

use anyhow::Result;
use image::imageops::{FilterType, crop_imm, replace, resize};
use image::{Rgb, RgbImage};

/// Side of a part in pixels.
const SIDE: u32 = 128;
/// Enlargement.
const TIMES: u32 = 4;

/// Writes the part where the first encoder's picture differs most from the original, and the part in the middle.
pub fn write(path: &Path, original: &RgbImage, shown: &[RgbImage]) -> Result<()> {
    let (across, down) = (original.width() / SIDE, original.height() / SIDE);
    let places = (0..down).flat_map(|row| (0..across).map(move |column| (column * SIDE, row * SIDE)));
    let worst =
        places.max_by_key(|&place| shown.first().map_or(0, |shown| difference(original, shown, place)));
    let middle = (original.width() / 2, original.height() / 2);
    let pictures: Vec<&RgbImage> = [original].into_iter().chain(shown).collect();
    let step = SIDE * TIMES + 8;
    let mut sheet = RgbImage::from_pixel(step * pictures.len() as u32, 2 * step, Rgb([255, 0, 255]));
    for (row, (left, top)) in (0..).zip([worst.unwrap_or_default(), middle]) {
        for (column, picture) in (0..).zip(&pictures) {
            let part = crop_imm(*picture, left, top, SIDE, SIDE).to_image();
            let part = resize(&part, part.width() * TIMES, part.height() * TIMES, FilterType::Nearest);
            replace(&mut sheet, &part, i64::from(column * step), i64::from(row * step));
        }
    }
    Ok(sheet.save(path)?)
}

/// Returns the sum of squared differences in a part.
fn difference(one: &RgbImage, other: &RgbImage, (left, top): (u32, u32)) -> u64 {
    let part = |picture| crop_imm(picture, left, top, SIDE, SIDE).to_image();
    let (one, other) = (part(one), part(other));
    one.as_raw().iter().zip(other.as_raw()).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum()
}
