//! The interface between decoders and their callers: a picture as rows of pixels.

use edgezoom_geometry::Size;

use crate::{Damage, Orientation, SourceError, ycbcr420};

/// A picture as rows of pixels, from top to bottom.
pub trait RowReader {
    /// The picture's width and height in pixels.
    fn size(&self) -> Size;
    /// What a pixel is made of.
    fn layout(&self) -> Layout;
    /// How the rows have to be turned. Upright, unless [`DecodeOptions`](crate::DecodeOptions) allow otherwise. In
    /// [`Layout::YCbCr420`] a side that is counted from its end is even.
    fn orientation(&self) -> Orientation {
        Orientation::UPRIGHT
    }
    /// Reads the next rows, as many as fill `into`: full rows, one after the other without gaps. The caller asks for no
    /// more rows than are left, and in [`Layout::YCbCr420`] for full bands of [`ROWS`](edgezoom_jpeg::ycbcr420::ROWS) rows.
    ///
    /// # Errors
    /// When the file cannot be read or decoded any further. Later calls give no useful pixels. The readers of
    /// [`open`](crate::open()) fail only where nothing of the picture could be decoded; else they give
    /// [`RowReader::damage`].
    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError>;
    /// Whether the picture is known to have pixels that are not opaque, so that the caller need not search for one.
    fn needs_opacity(&self) -> bool {
        false
    }
    /// What is missing of the picture, as far as it has been read, because its file is damaged. In place of what is missing
    /// stand grey or transparent pixels.
    fn damage(&self) -> Option<Damage> {
        None
    }
    /// The rows that are best read at once: when that fails, all of them are lost. The default is one.
    fn rows_at_once(&self) -> u32 {
        1
    }
}

/// What a pixel is made of, in bytes of 8-bit sRGB. Colours are not premultiplied with alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Grey.
    Grey,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, alpha.
    Rgba,
    /// Planes of luma, and of chroma with half its resolution both ways, as [`ycbcr420`](edgezoom_jpeg::ycbcr420) lays them
    /// out. Only given where [`DecodeOptions`](crate::DecodeOptions) allow it.
    YCbCr420,
}

impl Layout {
    /// The samples of a pixel.
    #[must_use]
    pub fn channels(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb | Self::YCbCr420 => 3,
            Self::Rgba => 4,
        }
    }

    /// The bytes of a row of pixels.
    #[must_use]
    pub fn row_bytes(self, width: u32) -> usize {
        match self {
            Self::YCbCr420 => 3 * ycbcr420::stride(width) / 2,
            _ => width as usize * self.channels(),
        }
    }

    /// The rows that are read at once, for a caller that wants so many. Planes are read in bands of 16 rows, of which
    /// the last may extend below the picture.
    #[must_use]
    pub fn rows_read(self, rows: u32) -> u32 {
        match self {
            Self::YCbCr420 => rows.next_multiple_of(ycbcr420::ROWS),
            _ => rows,
        }
    }
}
