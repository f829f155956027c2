//! How a pyramid is made.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use edgezoom_codecs::{DecodeOptions, DrawingOptions};
use edgezoom_geometry::{Dzi, Size, TileFormat};

use crate::tile_encoder::halves_chroma;

/// How a pyramid is made. All fields have defaults:
///
/// ```
/// use edgezoom_pyramid::Options;
///
/// let options = Options { tile_size: 254, quality: 75, ..Options::default() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Options {
    /// A tile's width and height in pixels without overlap, 1 to 4,096. Default 512, which takes a quarter of the
    /// files and requests of 256, and whose edges are edges of JPEG's blocks.
    pub tile_size: u32,
    /// The pixels that a tile carries of each neighbour, at most its own size. Default 0, as IIIF asks for: a
    /// viewer that draws neighbours edge to edge shows no seam.
    pub overlap: u32,
    /// The quality of JPEG, 1 to 100. Default 82.
    pub quality: u8,
    /// The format of the tiles. Default `None`: PNG if a pixel of the picture is not opaque, else JPEG.
    pub format: Option<TileFormat>,
    /// How PDF and SVG, which have no pixels of their own, become pictures.
    pub drawing: DrawingOptions,
    /// Whether the [output](crate::TileOutput::preview) also gets two small pictures of the whole, of 1,200 and 320
    /// pixels. Default: no.
    pub previews: bool,
    /// How often the [output](crate::TileOutput::coarse) gets a picture of what is there so far, small. Default: never.
    pub coarse_every: Option<Duration>,
    /// Whether a damaged picture is refused, rather than shown as far as it goes. Default: no.
    pub strict: bool,
    /// The threads that encode and decode. Default: as many as the machine runs at once.
    pub threads: NonZeroUsize,
}

/// An option that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Of [`Options::tile_size`].
    #[error("the tile size must be 1 to {}", Options::MAX_TILE_SIZE)]
    TileSize,
    /// Of [`Options::overlap`].
    #[error("the overlap must not be more than the tile size")]
    Overlap,
    /// Of [`Options::quality`].
    #[error("the quality must be 1 to 100")]
    Quality,
}

impl Default for Options {
    fn default() -> Self {
        let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let drawing = DrawingOptions::default();
        Self {
            tile_size: 512,
            overlap: 0,
            quality: 82,
            format: None,
            drawing,
            previews: false,
            coarse_every: None,
            strict: false,
            threads,
        }
    }
}

impl Options {
    /// The largest tile size. Viewers load a tile as a whole; a larger one would defeat the purpose of tiles.
    pub const MAX_TILE_SIZE: u32 = 4096;

    /// Checks that all options are in range.
    ///
    /// # Errors
    /// With the first option that is not.
    pub fn check(&self) -> Result<(), OptionsError> {
        if !(1..=Self::MAX_TILE_SIZE).contains(&self.tile_size) {
            return Err(OptionsError::TileSize);
        }
        if self.overlap > self.tile_size {
            return Err(OptionsError::Overlap);
        }
        if !(1..=100).contains(&self.quality) {
            return Err(OptionsError::Quality);
        }
        Ok(())
    }

    /// How the picture is to be decoded: as it is stored, because the builder turns it. A picture that is stored as
    /// YCbCr 4:2:0 may come as such if its tiles are JPEG of that kind too, and an SVG keeps its transparent background
    /// only for tiles that are PNG in any case.
    #[must_use]
    pub fn decode_options(&self) -> DecodeOptions {
        let is_png = self.format == Some(TileFormat::Png);
        DecodeOptions {
            drawing: self.drawing,
            transparent: is_png,
            ycbcr420: !is_png && halves_chroma(self.quality),
            as_stored: true,
            strict: self.strict,
            threads: self.threads,
        }
    }

    /// The pyramid of a picture of this size with tiles of this format.
    #[must_use]
    pub fn dzi(&self, size: Size, tile_format: TileFormat) -> Dzi {
        Dzi { size, tile_size: self.tile_size, tile_overlap: self.overlap, tile_format }
    }
}
