//! Options of a pyramid.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use edgezoom_codecs::{AsPlanes, DecodeOptions, DrawingOptions};
use edgezoom_geometry::{Dzi, Size, TileFormat};

use crate::tile_encoder::halves_chroma;
use crate::{Angle, Depth, RegionShrink, TileLayout};

/// Options of a pyramid. All fields have defaults:
///
/// ```
/// use edgezoom_pyramid::Options;
///
/// let options = Options { tile_size: 254, quality: 75, ..Options::default() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Options {
    /// Width and height of a tile in pixels without overlap, 1 to 4,096. Default 512: it takes a quarter of the files
    /// and requests of 256, and its edges coincide with JPEG blocks.
    pub tile_size: u32,
    /// Pixels that a tile shares with each neighbour, at most the tile size. Default 0, as IIIF requires: viewers that
    /// draw neighbours edge to edge show no seam.
    pub overlap: u32,
    /// Quality of JPEG and WebP, 1 to 100. Default 82.
    pub quality: u8,
    /// Format of the tiles. Default `None`: PNG if any pixel is not opaque or the picture has few colours, else JPEG.
    pub format: Option<TileFormat>,
    /// Layout of the files. Default [`TileLayout::Dz`]. [`Options::of_layout`] has the other defaults of each layout.
    pub layout: TileLayout,
    /// Smallest level. Default [`Depth::OnePixel`].
    pub depth: Depth,
    /// Largest difference of a channel from the background at which a tile counts as blank and is left out. Default
    /// `None`: no tile is left out.
    pub skip_blanks: Option<u16>,
    /// Colour of the background, in red, green and blue: behind transparent pixels in JPEG, and of blank tiles. Default
    /// white.
    pub background: [u8; 3],
    /// Choice of the pixels of smaller levels. Default [`RegionShrink::Mean`]. Pictures whose colours are labels, such as
    /// classes of a map or segments, need another one, and PNG.
    pub region_shrink: RegionShrink,
    /// True to put the picture into the middle of a square of whole tiles at every level, as maps need it. Default false.
    pub centre: bool,
    /// Rotation of the upright picture. Default none.
    pub angle: Angle,
    /// Options for drawing PDF and SVG.
    pub drawing: DrawingOptions,
    /// True to send two previews of 1,200 and 320 pixels to the [output](crate::TileOutput::preview). Default false.
    pub previews: bool,
    /// Shortest interval between coarse pictures of the rows so far, sent to the [output](crate::TileOutput::coarse).
    /// Default `None`: never.
    pub coarse_every: Option<Duration>,
    /// True to refuse a damaged picture; false to save it as far as it can be read. Default false.
    pub strict: bool,
    /// Number of threads that encode and decode. Default: one for each core.
    pub threads: NonZeroUsize,
}

/// An option that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// [`Options::tile_size`] is out of range.
    #[error("the tile size must be 1 to {}", Options::MAX_TILE_SIZE)]
    TileSize,
    /// [`Options::overlap`] is out of range.
    #[error("the overlap must not be more than the tile size")]
    Overlap,
    /// [`Options::overlap`] is set for a layout other than [`TileLayout::Dz`].
    #[error("only tiles of the layout dz can overlap")]
    OverlapOfLayout,
    /// [`Options::centre`] is set for a layout other than [`TileLayout::Google`].
    #[error("only the layout google can be centred")]
    CentreOfLayout,
    /// [`Options::quality`] is out of range.
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
            layout: TileLayout::Dz,
            depth: Depth::OnePixel,
            skip_blanks: None,
            background: [255; 3],
            region_shrink: RegionShrink::Mean,
            centre: false,
            angle: Angle::D0,
            drawing,
            previews: false,
            coarse_every: None,
            strict: false,
            threads,
        }
    }
}

impl Options {
    /// Largest tile size. Viewers load whole tiles; larger ones would defeat their purpose.
    pub const MAX_TILE_SIZE: u32 = 4096;
    /// Longest side of the square of a [centred](Options::centre) picture, in pixels. A picture of ten rows would have a square of
    /// a hundred thousand times its pixels.
    pub const MAX_CENTRED: u32 = 1 << 17;

    /// Returns the default options of a layout. For layouts other than Deep Zoom they are those of libvips: tiles of
    /// 256 pixels, or of 512 for IIIF; levels down to one tile; blank tiles of Google Maps are left out.
    #[must_use]
    pub fn of_layout(layout: TileLayout) -> Self {
        let options = Self { layout, ..Self::default() };
        let (tile_size, skip_blanks) = match layout {
            TileLayout::Dz => return options,
            TileLayout::Zoomify => (256, None),
            TileLayout::Google => (256, Some(5)),
            TileLayout::Iiif | TileLayout::Iiif3 => (512, None),
        };
        Self { tile_size, skip_blanks, depth: Depth::OneTile, ..options }
    }

    /// Checks that all options are in range.
    ///
    /// # Errors
    /// Returns the first option that is not.
    pub fn check(&self) -> Result<(), OptionsError> {
        if !(1..=Self::MAX_TILE_SIZE).contains(&self.tile_size) {
            return Err(OptionsError::TileSize);
        }
        if self.overlap > self.tile_size {
            return Err(OptionsError::Overlap);
        }
        if self.overlap > 0 && self.layout != TileLayout::Dz {
            return Err(OptionsError::OverlapOfLayout);
        }
        if self.centre && self.layout != TileLayout::Google {
            return Err(OptionsError::CentreOfLayout);
        }
        if !(1..=100).contains(&self.quality) {
            return Err(OptionsError::Quality);
        }
        Ok(())
    }

    /// Returns the options for decoding: as stored, because the builder turns the picture. YCbCr 4:2:0 is passed
    /// through if the tiles are JPEG with the same subsampling and nothing else needs pixels, and more chroma is
    /// averaged if no tile begins in the middle of a mean. An SVG keeps its transparent background only if the tiles
    /// must be PNG or WebP.
    #[must_use]
    pub fn decode_options(&self) -> DecodeOptions {
        let keeps_pixels = matches!(self.format, Some(TileFormat::Png | TileFormat::Webp));
        let needs_pixels = self.skip_blanks.is_some()
            || self.layout == TileLayout::Google
            || self.angle != Angle::D0
            || self.region_shrink != RegionShrink::Mean;
        let is_even = self.tile_size.is_multiple_of(2) && self.overlap.is_multiple_of(2);
        let planes = if keeps_pixels || !halves_chroma(self.quality) || needs_pixels {
            AsPlanes::Never
        } else if is_even {
            AsPlanes::Averaged
        } else {
            AsPlanes::Halved
        };
        DecodeOptions {
            drawing: self.drawing,
            transparent: keeps_pixels,
            planes,
            as_stored: true,
            strict: self.strict,
            threads: self.threads,
        }
    }

    /// Returns the description of the pyramid of a picture.
    #[must_use]
    pub fn dzi(&self, size: Size, tile_format: TileFormat) -> Dzi {
        Dzi { size, tile_size: self.tile_size, tile_overlap: self.overlap, tile_format }
    }
}
