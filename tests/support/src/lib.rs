//! Shared test support: synthetic pictures, encoders for every format, a straightforward reference pyramid, and readers
//! for the tiler's output.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "test helpers are named for what they do, and a test that cannot prepare its files should panic"
)]

pub mod documents;
pub mod files;
pub mod fixture;
pub mod large;
pub mod likeness;
pub mod pdf;
pub mod pyramid;
pub mod reference;

use std::time::Duration;

use edgezoom_codecs::{Layout, RowReader, SourceError};
use edgezoom_geometry::Size;

/// Returns the longest time that a test waits for what should happen soon. It is long because a busy machine must not
/// fail a test, and only a failure takes it. `EDGEZOOM_PATIENCE` sets it, in seconds.
pub fn patience() -> Duration {
    let set = std::env::var("EDGEZOOM_PATIENCE").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(set.unwrap_or(120))
}

/// A picture in memory. Pictures are equal if their pixels have the same colours and opacity, in any layout.
#[derive(Clone, Debug)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub layout: Layout,
    pub pixels: Vec<u8>,
}

impl PartialEq for Picture {
    fn eq(&self, other: &Self) -> bool {
        self.size() == other.size()
            && if self.layout == other.layout {
                self.pixels == other.pixels
            } else {
                (0..self.height).all(|y| (0..self.width).all(|x| self.colour(x, y) == other.colour(x, y)))
            }
    }
}

impl Eq for Picture {}

impl Picture {
    pub fn new(width: u32, height: u32, layout: Layout, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Self {
        // Nested loops instead of iterators: most test builds are unoptimised, and pictures have megapixels.
        let mut pixels = Vec::with_capacity(width as usize * height as usize * layout.channels());
        for y in 0..height {
            for x in 0..width {
                pixels.extend_from_slice(&pixel(x, y)[..layout.channels()]);
            }
        }
        Self { width, height, layout, pixels }
    }

    /// Returns an RGB picture from RGB or RGBA pixels, dropping the opacity.
    pub fn without_opacity(width: u32, height: u32, channels: usize, pixels: &[u8]) -> Self {
        let mut colours = Vec::with_capacity(width as usize * height as usize * 3);
        pixels.chunks_exact(channels).for_each(|pixel| colours.extend_from_slice(&pixel[..3]));
        Self { width, height, layout: Layout::Rgb, pixels: colours }
    }

    /// Returns a deterministic picture like a photograph: soft shades, some grain, a few hard edges.
    pub fn photo(width: u32, height: u32, layout: Layout) -> Self {
        Self::new(width, height, layout, photo_pixel)
    }

    /// Returns deterministic noise in all channels, including opacity, in which every wrong pixel shows.
    pub fn noise(width: u32, height: u32, layout: Layout) -> Self {
        Self::new(width, height, layout, |x, y| hash(x, y).to_le_bytes())
    }

    pub fn size(&self) -> Size {
        Size { width: self.width, height: self.height }
    }

    pub fn at(&self, x: u32, y: u32) -> &[u8] {
        let channels = self.layout.channels();
        let start = (y as usize * self.width as usize + x as usize) * channels;
        &self.pixels[start..start + channels]
    }

    /// Returns a pixel's red, green, blue and alpha.
    pub fn colour(&self, x: u32, y: u32) -> [u8; 4] {
        match *self.at(x, y) {
            [grey] => [grey, grey, grey, 255],
            [red, green, blue] => [red, green, blue, 255],
            [red, green, blue, alpha] => [red, green, blue, alpha],
            ref other => panic!("a pixel of {} bytes", other.len()),
        }
    }

    pub fn row_bytes(&self) -> usize {
        self.width as usize * self.layout.channels()
    }

    pub fn reader(&self) -> PictureReader<'_> {
        PictureReader { picture: self, read: 0 }
    }

    /// Reads a source to its end.
    pub fn read(strips: &mut dyn RowReader) -> Result<Self, SourceError> {
        let (size, layout) = (strips.size(), strips.layout());
        let row_bytes = size.width as usize * layout.channels();
        let mut pixels = vec![0; row_bytes * size.height as usize];
        // Seven rows at a time: not a multiple of any strip or block height.
        pixels.chunks_mut(7 * row_bytes).try_for_each(|rows| strips.read_rows(rows))?;
        Ok(Self { width: size.width, height: size.height, layout, pixels })
    }

    /// Returns the peak signal-to-noise ratio of another picture compared with this one, in dB.
    pub fn psnr(&self, other: &Self) -> f64 {
        assert_eq!((self.size(), self.layout), (other.size(), other.layout));
        let squares: f64 = self
            .pixels
            .iter()
            .zip(&other.pixels)
            .map(|(&one, &other)| (f64::from(one) - f64::from(other)).powi(2))
            .sum();
        10.0 * (255.0 * 255.0 * self.pixels.len() as f64 / squares.max(1e-9)).log10()
    }
}

fn photo_pixel(x: u32, y: u32) -> [u8; 4] {
    let (fx, fy) = (f64::from(x), f64::from(y));
    let grain = f64::from(hash(x, y) % 9) - 4.0;
    let edge = if (fx - 90.0).hypot(fy - 70.0) < 60.0 || (x / 200 + y / 300) % 5 == 4 { -50.0 } else { 0.0 };
    let light = 130.0 + 50.0 * (fx / 61.0 + fy / 190.0).sin() + 30.0 * (fy / 43.0 - fx / 211.0).cos() + edge;
    let shade = |by: f64| (light + by * (fx / 300.0).sin() + grain).clamp(0.0, 255.0) as u8;
    let alpha = (128.0 + 200.0 * (fx / 50.0).sin() + 100.0 * (fy / 70.0).cos()).clamp(0.0, 255.0) as u8;
    [shade(25.0), shade(-5.0), shade(-30.0), alpha]
}

fn hash(x: u32, y: u32) -> u32 {
    let mixed = (u64::from(x) << 32 | u64::from(y)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

/// Row reader over a picture in memory.
pub struct PictureReader<'a> {
    picture: &'a Picture,
    read: usize,
}

impl RowReader for PictureReader<'_> {
    fn size(&self) -> Size {
        self.picture.size()
    }

    fn layout(&self) -> Layout {
        self.picture.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        assert_eq!(into.len() % self.picture.row_bytes(), 0, "the buffer holds whole rows");
        into.copy_from_slice(&self.picture.pixels[self.read..self.read + into.len()]);
        self.read += into.len();
        Ok(())
    }
}
