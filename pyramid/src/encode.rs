//! Encodes tiles, row by row: JPEG as libjpeg-turbo would, which is also what libvips writes at the same quality, or PNG.

use std::cell::RefCell;
use std::io::{self, Write};
use std::ops::Range;
use std::rc::Rc;

use edgezoom_content::TileFormat;
use mozjpeg::ColorSpace;

use crate::compressor::{Compressor, Input};
use crate::planar::Band;
use edgezoom_codecs::Layout;
use edgezoom_codecs::ycbcr420::Pair;

/// From this quality on chroma keeps its full resolution, as in libvips.
const FULL_CHROMA_FROM: u8 = 90;
/// How much of a PNG goes into one IDAT chunk. Larger ones cost memory for every open tile.
const IDAT_BYTES: usize = 16 << 10;

/// How tiles are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The format.
    pub format: TileFormat,
    /// The quality of JPEG, 1 to 100.
    pub quality: u8,
    /// The pixels that come in.
    pub layout: Layout,
}

/// An encoder of tiles, one after the other.
pub(super) enum TileEncoder {
    Jpeg(Compressor),
    Planes(Compressor, Band),
    Png(Layout, Option<Box<png::StreamWriter<'static, Shared>>>, Shared),
}

/// What a PNG is written to: its writer does not give it back.
#[derive(Clone, Default)]
pub(super) struct Shared(Rc<RefCell<Vec<u8>>>);

impl Encoding {
    /// Whether JPEG of a quality has chroma of half the resolution.
    #[must_use]
    pub fn halves_chroma(quality: u8) -> bool {
        quality < FULL_CHROMA_FROM
    }
}

impl TileEncoder {
    pub fn new(encoding: Encoding) -> Self {
        let compressor =
            |input| Compressor::new(input, encoding.quality, Encoding::halves_chroma(encoding.quality));
        match (encoding.format, encoding.layout) {
            (TileFormat::Jpg, Layout::Grey) => {
                Self::Jpeg(compressor(Input::Pixels(ColorSpace::JCS_GRAYSCALE)))
            }
            (TileFormat::Jpg, Layout::Rgb) => Self::Jpeg(compressor(Input::Pixels(ColorSpace::JCS_RGB))),
            (TileFormat::Jpg, Layout::Rgba) => {
                Self::Jpeg(compressor(Input::Pixels(ColorSpace::JCS_EXT_RGBA)))
            }
            (TileFormat::Jpg, Layout::YCbCr420) => Self::Planes(compressor(Input::Planes), Band::default()),
            (TileFormat::Png, layout) => Self::Png(layout, None, Shared::default()),
        }
    }

    /// Begins a tile.
    pub fn begin(&mut self, width: u32, height: u32) -> io::Result<()> {
        match self {
            Self::Jpeg(compressor) => compressor.begin(width, height),
            Self::Planes(compressor, band) => {
                compressor.begin(width, height);
                band.begin(width);
            }
            Self::Png(layout, writer, shared) => {
                shared.0.borrow_mut().clear();
                *writer = Some(start_png(*layout, width, height, shared).map_err(io::Error::other)?);
            }
        }
        Ok(())
    }

    /// Takes the tile's part of the next row.
    pub fn row(&mut self, pixels: &[u8]) -> io::Result<()> {
        match self {
            Self::Jpeg(compressor) => compressor.row(pixels),
            Self::Png(_, Some(writer), _) => writer.write_all(pixels)?,
            Self::Planes(..) | Self::Png(_, None, _) => {
                return Err(io::Error::other("rows of pixels for a tile that takes none"));
            }
        }
        Ok(())
    }

    /// Takes the next row of a tile that comes in planes: of a pair the upper or the lower, and of it these columns.
    pub fn planar_row(&mut self, pair: &Pair<'_>, is_lower: bool, columns: &Range<u32>) {
        if let Self::Planes(compressor, band) = self {
            band.row(pair, is_lower, columns, compressor);
        }
    }

    /// Gives the finished tile to `take`. All its rows must have come.
    pub fn finish(&mut self, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::Jpeg(compressor) => take(compressor.finish()),
            Self::Planes(compressor, band) => {
                band.finish(compressor);
                take(compressor.finish())
            }
            Self::Png(_, writer, shared) => {
                if let Some(writer) = writer.take() {
                    writer.finish().map_err(io::Error::other)?;
                }
                take(&shared.0.borrow())
            }
        }
    }
}

fn start_png(
    layout: Layout,
    width: u32,
    height: u32,
    shared: &Shared,
) -> Result<Box<png::StreamWriter<'static, Shared>>, png::EncodingError> {
    let mut encoder = png::Encoder::new(shared.clone(), width, height);
    encoder.set_color(match layout {
        Layout::Grey => png::ColorType::Grayscale,
        Layout::Rgb | Layout::YCbCr420 => png::ColorType::Rgb,
        Layout::Rgba => png::ColorType::Rgba,
    });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    // Trying every filter on every row takes a third more time and saves nothing: measured on a photograph, 0.4 %.
    encoder.set_filter(png::Filter::Paeth);
    Ok(Box::new(encoder.write_header()?.into_stream_writer_with_size(IDAT_BYTES)?))
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
