//! The likeness of two pictures as people see it.

use anyhow::{Result, anyhow};
use image::RgbImage;
use image::imageops::{FilterType, resize};
use ssimulacra2::{ColorPrimaries, Rgb, TransferCharacteristic, compute_frame_ssimulacra2};

/// Returns the SSIMULACRA2 score: 100 is the same picture, 90 looks the same, 70 is good. Both are scaled first.
pub fn score(reference: &RgbImage, shown: &RgbImage, scale: f64) -> Result<f64> {
    let prepared = |picture: &RgbImage| {
        if scale == 1.0 {
            return frame(picture);
        }
        let scaled = |side: u32| (f64::from(side) * scale).round() as u32;
        frame(&resize(picture, scaled(picture.width()), scaled(picture.height()), FilterType::Triangle))
    };
    compute_frame_ssimulacra2(prepared(reference)?, prepared(shown)?).map_err(|error| anyhow!("{error}"))
}

fn frame(picture: &RgbImage) -> Result<Rgb> {
    let pixels = picture.pixels().map(|pixel| pixel.0.map(|value| f32::from(value) / 255.0)).collect();
    let (width, height) = picture.dimensions();
    Rgb::new(pixels, width as usize, height as usize, TransferCharacteristic::SRGB, ColorPrimaries::BT709)
        .map_err(|error| anyhow!("{error:?}"))
}
