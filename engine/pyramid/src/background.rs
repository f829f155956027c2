//! The background of tiles: tiles at the edge are padded with it if the layout is Google's, and tiles that show nothing
//! else can be left out. Neither happens by default, and rows go to the encoders untouched.

use std::io;

use edgezoom_codecs::Layout;

use crate::tile_encoder::TileEncoder;
use crate::{Options, TileLayout};

/// Treatment of the background in one picture.
#[derive(Clone, Copy, Debug)]
pub struct Background {
    /// Its colour in the picture's layout.
    pixel: [u8; 4],
    channels: usize,
    /// Largest difference of a channel at which a tile counts as blank and is left out.
    skips_within: Option<u16>,
    pads: bool,
}

impl Background {
    /// Returns the treatment that the options ask for.
    pub fn new(options: &Options, layout: Layout) -> Self {
        let [red, green, blue] = options.background;
        let luminance = (299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue) + 500) / 1000;
        let pixel = match layout {
            Layout::Grey => [luminance as u8; 4],
            _ => [red, green, blue, 255],
        };
        let pads = options.layout == TileLayout::Google;
        Self { pixel, channels: layout.channels(), skips_within: options.skip_blanks, pads }
    }

    /// Leaves tiles as they are.
    pub const NONE: Self = Self { pixel: [255; 4], channels: 3, skips_within: None, pads: false };

    /// Returns its colour as a pixel.
    pub fn pixel(&self) -> &[u8] {
        &self.pixel[..self.channels]
    }

    /// Returns true if rows must pass through [`Self::row`].
    pub fn is_used(&self) -> bool {
        self.pads || self.skips_within.is_some()
    }

    /// Returns true if a tile that shows only background is left out.
    pub fn skips(&self) -> bool {
        self.skips_within.is_some()
    }

    /// Begins a tile of this size, or of the full size `tile` if tiles are padded.
    pub fn begin(&self, encoder: &mut TileEncoder, size: [u32; 2], tile: u32) -> io::Result<()> {
        let [width, height] = if self.pads { [tile; 2] } else { size };
        encoder.begin(width, height)
    }

    /// Adds a row of a tile. Returns true if it shows only background.
    pub fn row(&self, encoder: &mut TileEncoder, pixels: &[u8], tile: u32) -> io::Result<bool> {
        let length = tile as usize * self.channels;
        if self.pads && pixels.len() < length {
            let mut padded = Vec::with_capacity(length);
            padded.extend_from_slice(pixels);
            self.fill(&mut padded, length);
            encoder.row(&padded)?;
        } else {
            encoder.row(pixels)?;
        }
        Ok(self.skips_within.is_some_and(|within| {
            let is_near =
                |(sample, background): (&u8, &u8)| u16::from(sample.abs_diff(*background)) <= within;
            pixels.chunks_exact(self.channels).all(|pixel| pixel.iter().zip(&self.pixel).all(is_near))
        }))
    }

    /// Adds the missing rows of a tile that has this height.
    pub fn end(&self, encoder: &mut TileEncoder, height: u32, tile: u32) -> io::Result<()> {
        if self.pads && height < tile {
            let mut row = Vec::new();
            self.fill(&mut row, tile as usize * self.channels);
            (height..tile).try_for_each(|_| encoder.row(&row))?;
        }
        Ok(())
    }

    fn fill(&self, row: &mut Vec<u8>, length: usize) {
        let missing = length.saturating_sub(row.len());
        row.extend(self.pixel().iter().cycle().take(missing));
    }
}
