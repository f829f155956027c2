//! The likeness of two pictures as people see it.

use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, anyhow};
use image::RgbImage;
use image::imageops::{FilterType, resize};
use ssimulacra2::{ColorPrimaries, Rgb, TransferCharacteristic, compute_frame_ssimulacra2};

/// Returns the [`score`] of each pair of a reference and what is shown. Uses all cores.
pub fn scores(pairs: &[(&RgbImage, &RgbImage)], scale: f64) -> Result<Vec<f64>> {
    let left = Mutex::new(pairs.iter().enumerate());
    let next = || left.lock().ok().and_then(|mut left| left.next());
    let run = || -> Result<Vec<(usize, f64)>> {
        let mut scores = vec![];
        while let Some((index, (reference, shown))) = next() {
            scores.push((index, score(reference, shown, scale)?));
        }
        Ok(scores)
    };
    let mut scores = vec![0.0; pairs.len()];
    thread::scope(|scope| {
        let threads = thread::available_parallelism()?.get();
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            for (index, score) in thread.join().ok().context("a comparison failed")?? {
                scores[index] = score;
            }
        }
        Ok(scores)
    })
}

/// Returns the SSIMULACRA2 score: 100 is the same picture, 90 looks the same, 70 is good. Both are scaled first.
fn score(reference: &RgbImage, shown: &RgbImage, scale: f64) -> Result<f64> {
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
