//! Encodes tiles row by row, as JPEG, PNG or WebP.

use std::io;
use std::ops::Range;

use edgezoom_codecs::{Layout, Orientation};
use edgezoom_geometry::TileFormat;
use edgezoom_jpeg::encoder::{Encoder, Input, Mcus};
use edgezoom_jpeg::quantisation::{Quantisation, SourceSteps};
use edgezoom_jpeg::ycbcr420::Pair;

use crate::png_tile::PngEncoder;
use crate::webp_tile::WebpEncoder;

/// Lowest quality at which chroma keeps its full resolution (4:4:4), as in libvips.
const FULL_CHROMA_FROM: u8 = 90;

/// Encoding of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Format of the tiles.
    pub format: TileFormat,
    /// Quality of JPEG and WebP, 1 to 100.
    pub quality: u8,
    /// Layout of the picture's pixels.
    pub layout: Layout,
    /// Orientation of the stored picture.
    pub orientation: Orientation,
}

/// An encoder that encodes one tile after the other.
pub enum TileEncoder {
    /// Encodes rows of pixels.
    Jpeg(Encoder),
    /// Encodes pairs of rows in YCbCr 4:2:0.
    JpegYCbCr420(Encoder),
    Png(PngEncoder),
    Webp(WebpEncoder),
}

/// Returns true if JPEG of this quality stores chroma at half the resolution (4:2:0).
pub fn halves_chroma(quality: u8) -> bool {
    quality < FULL_CHROMA_FROM
}

impl Encoding {
    /// Returns the quantisation of tiles whose blocks are blocks of a JPEG with these steps.
    pub fn quantisation_for(&self, source: &SourceSteps) -> Quantisation {
        let (halves_chroma, &[luma, chroma]) = (halves_chroma(self.quality), source);
        Quantisation::of_quality(self.quality, halves_chroma)
            .for_source(&[luma, chroma.filter(|_| halves_chroma)])
    }
}

impl TileEncoder {
    pub fn new(encoding: Encoding) -> Self {
        let halves_chroma = halves_chroma(encoding.quality);
        let quantisation = Quantisation::of_quality(encoding.quality, halves_chroma);
        let jpeg = |input| Encoder::new(input, &quantisation, halves_chroma);
        match (encoding.format, encoding.layout) {
            (TileFormat::Jpg, Layout::Grey) => Self::Jpeg(jpeg(Input::Grey)),
            (TileFormat::Jpg, Layout::Rgb) => Self::Jpeg(jpeg(Input::Rgb)),
            (TileFormat::Jpg, Layout::Rgba) => Self::Jpeg(jpeg(Input::Rgba)),
            (TileFormat::Jpg, Layout::YCbCr420) => Self::JpegYCbCr420(jpeg(Input::YCbCr420)),
            (TileFormat::Png, layout) => Self::Png(PngEncoder::new(layout)),
            (TileFormat::Webp, layout) => Self::Webp(WebpEncoder::new(layout, encoding.quality)),
        }
    }

    /// Sets the memory in bytes for all unfinished tiles of this encoder and of those made from it. A tile that finds
    /// none left takes more bytes.
    pub fn with_memory(self, bytes: usize) -> Self {
        match self {
            Self::Jpeg(jpeg) => Self::Jpeg(jpeg.with_token_bytes(bytes)),
            Self::JpegYCbCr420(jpeg) => Self::JpegYCbCr420(jpeg.with_token_bytes(bytes)),
            Self::Png(png) => Self::Png(png.with_stored_bytes(bytes)),
            Self::Webp(webp) => Self::Webp(webp),
        }
    }

    /// Makes another encoder that quantises differently. Both share their memory.
    pub fn with_quantisation(&self, quantisation: &Quantisation) -> Self {
        match self {
            Self::Jpeg(jpeg) => Self::Jpeg(jpeg.with_quantisation(quantisation)),
            Self::JpegYCbCr420(jpeg) => Self::JpegYCbCr420(jpeg.with_quantisation(quantisation)),
            Self::Png(..) | Self::Webp(..) => self.another(),
        }
    }

    /// Makes another encoder of the same kind.
    pub fn another(&self) -> Self {
        match self {
            Self::Jpeg(jpeg) => Self::Jpeg(jpeg.another()),
            Self::JpegYCbCr420(jpeg) => Self::JpegYCbCr420(jpeg.another()),
            Self::Png(png) => Self::Png(png.another()),
            Self::Webp(webp) => Self::Webp(webp.another()),
        }
    }

    /// Makes an encoder that takes rows of pixels in any layout. Rows of YCbCr 4:2:0 must have luma, Cb and Cr for each
    /// pixel.
    pub fn of_pixels(encoding: Encoding) -> Self {
        match encoding {
            Encoding { format: TileFormat::Jpg, layout: Layout::YCbCr420, quality, .. } => {
                let halves_chroma = halves_chroma(quality);
                let quantisation = Quantisation::of_quality(quality, halves_chroma);
                Self::Jpeg(Encoder::new(Input::YCbCr, &quantisation, halves_chroma))
            }
            other => Self::new(other),
        }
    }

    /// Begins a tile.
    pub fn begin(&mut self, width: u32, height: u32) -> io::Result<()> {
        match self {
            Self::Jpeg(jpeg) | Self::JpegYCbCr420(jpeg) => jpeg.begin(width, height),
            Self::Png(png) => png.begin(width, height)?,
            Self::Webp(webp) => webp.begin(width, height),
        }
        Ok(())
    }

    /// Adds the tile's part of the next row of pixels.
    pub fn row(&mut self, pixels: &[u8]) -> io::Result<()> {
        match self {
            Self::Jpeg(jpeg) => jpeg.row(pixels),
            Self::Png(png) => png.row(pixels)?,
            Self::Webp(webp) => webp.row(pixels),
            Self::JpegYCbCr420(..) => {
                return Err(io::Error::other("this encoder expects no row of pixels"));
            }
        }
        Ok(())
    }

    /// Adds the next row of a tile in YCbCr 4:2:0: some columns of the upper or the lower row of a pair.
    pub fn ycbcr420_row(&mut self, pair: &Pair<'_>, is_lower: bool, columns: &Range<u32>) {
        if let Self::JpegYCbCr420(jpeg) = self {
            jpeg.ycbcr420_row(pair, is_lower, columns);
        }
    }

    /// Adds a row of MCUs, from left to right.
    pub fn mcus<'a>(&mut self, mcus: impl Iterator<Item = Mcus<'a>>) {
        if let Self::Jpeg(jpeg) | Self::JpegYCbCr420(jpeg) = self {
            jpeg.mcus(mcus);
        }
    }

    /// Passes the finished tile to `take`. All its rows must have been added.
    pub fn finish(&mut self, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::Jpeg(jpeg) | Self::JpegYCbCr420(jpeg) => take(&jpeg.finish()),
            Self::Png(png) => png.finish(take),
            Self::Webp(webp) => webp.finish(take),
        }
    }
}
