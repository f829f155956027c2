//! Generates pictures from a seed, so that each run converts the same ones. For an encoder they resemble photographs:
//! detail at every scale but mostly coarse, less detail in colour, and hard edges.

pub mod compared;
pub mod texture;

use std::io::Cursor;

use anyhow::Result;
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

/// Cell sizes of the noise layers that are added up to a photograph, in pixels.
const SCALES: [u32; 7] = [512, 256, 128, 64, 32, 16, 8];

/// Returns a picture like a photograph.
#[must_use]
pub fn photograph(width: u32, height: u32, seed: u32) -> RgbImage {
    let mut picture = RgbImage::new(width, height);
    let mut light = vec![0.0; width as usize];
    let mut warmth = vec![0.0; width as usize];
    for (y, row) in picture.enumerate_rows_mut() {
        light.fill(128.0);
        warmth.fill(0.0);
        for (layer, scale) in (0..).zip(SCALES) {
            let strength = 90.0 * (scale as f32 / 512.0).sqrt();
            add_noise(&mut light, y, scale, seed.wrapping_add(layer), strength);
            if scale >= 64 {
                add_noise(&mut warmth, y, scale, seed.wrapping_add(100 + layer), strength * 0.5);
            }
        }
        for (x, _, pixel) in row {
            // Hard edges in the left third of the picture, like those of buildings and print.
            let edge = if x < width / 3 && (x / 24 + y / 36) % 5 == 0 { 40.0 } else { 0.0 };
            let (light, warmth) = (light[x as usize] - edge, warmth[x as usize]);
            *pixel = Rgb([light + warmth, light, light - warmth].map(|value| value as u8)); // clamps
        }
    }
    picture
}

/// Returns a picture with soft and hard transparency.
#[must_use]
pub fn cutout(width: u32, height: u32, seed: u32) -> RgbaImage {
    let photograph = photograph(width, height, seed);
    RgbaImage::from_fn(width, height, |x, y| {
        let [red, green, blue] = photograph.get_pixel(x, y).0;
        let alpha = match (x * 4 / width, y * 4 / height) {
            (0, _) => 255,
            (1, 1) => 0,
            _ => ((x + y) % 256) as u8,
        };
        Rgba([red, green, blue, alpha])
    })
}

/// Returns a picture in one colour.
#[must_use]
pub fn plain(width: u32, height: u32, colour: [u8; 3]) -> RgbImage {
    RgbImage::from_pixel(width, height, Rgb(colour))
}

/// Returns a grid of cells in pixels of size `cell`. `colour` returns the colour of a cell by its column and row.
#[must_use]
pub fn cells(width: u32, height: u32, cell: (u32, u32), colour: impl Fn(u32, u32) -> [u8; 3]) -> RgbImage {
    let row = |row| (0..width.div_ceil(cell.0)).map(|column| colour(column, row)).collect();
    filled(width, height, cell, &(0..height.div_ceil(cell.1)).map(row).collect::<Vec<_>>())
}

/// Fills the cells. Not generic, so that it is compiled and optimised in this crate.
fn filled(width: u32, height: u32, (wide, high): (u32, u32), colours: &[Vec<[u8; 3]>]) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| Rgb(colours[(y / high) as usize][(x / wide) as usize]))
}

/// Encodes a JPEG of quality 92.
///
/// # Errors
/// The picture exceeds the maximum size of a JPEG.
pub fn jpeg(picture: &RgbImage) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let (width, height) = picture.dimensions();
    JpegEncoder::new_with_quality(&mut bytes, 92).encode(picture, width, height, ExtendedColorType::Rgb8)?;
    Ok(bytes)
}

/// Encodes a PNG with transparency.
///
/// # Errors
/// The encoder fails.
pub fn png(picture: &RgbaImage) -> Result<Vec<u8>> {
    let mut bytes = Cursor::new(vec![]);
    picture.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

/// Adds one layer of noise to a row: for each pixel, an interpolation of random values at the corners of its cell.
fn add_noise(row: &mut [f32], y: u32, scale: u32, seed: u32, strength: f32) {
    let (top, below) = (y / scale, (y % scale) as f32 / scale as f32);
    let corner = |column, line| (f32::from(hash(column, line, seed)) / 32_768.0 - 1.0) * strength;
    let edge = |column| corner(column, top) * (1.0 - below) + corner(column, top + 1) * below;
    for (column, cell) in (0..).zip(row.chunks_mut(scale as usize)) {
        let (left, right) = (edge(column), edge(column + 1));
        for (x, value) in (0_u16..).zip(cell) {
            let beside = f32::from(x) / scale as f32;
            *value += left * (1.0 - beside) + right * beside;
        }
    }
}

/// Hashes a position to a pseudorandom value, with the finaliser of MurmurHash3.
fn hash(column: u32, line: u32, seed: u32) -> u16 {
    let mut value =
        column.wrapping_mul(0x9e37_79b1) ^ line.wrapping_mul(0x85eb_ca77) ^ seed.wrapping_mul(0xc2b2_ae3d);
    value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    ((value ^ (value >> 16)) >> 16) as u16
}
