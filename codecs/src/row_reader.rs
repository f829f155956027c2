//! The interface between decoders and all that follows them: a picture as rows of pixels.

use edgezoom_content::Size;

use crate::{SourceError, ycbcr420};

/// A picture as rows of pixels, from top to bottom.
pub trait RowReader {
    /// The picture's width and height in pixels.
    fn size(&self) -> Size;
    /// What a pixel is made of.
    fn layout(&self) -> Layout;
    /// Reads the next rows, as many as fill `into`: whole rows, one after the other without gaps. The caller asks for no
    /// more rows than there are left, and in [`Layout::YCbCr420`] for whole bands.
    ///
    /// # Errors
    /// When the file cannot be read or decoded any further. Nothing useful comes after that.
    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError>;
    /// Whether the picture is known to have pixels that are not opaque, so that a search for one can be left out.
    fn needs_opacity(&self) -> bool {
        false
    }
}

/// What a pixel is made of, in bytes of 8-bit sRGB. Opacity is not multiplied into the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Lightness.
    Grey,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, opacity.
    Rgba,
    /// Lightness, and chroma of half its resolution both ways, in [`ycbcr420`](crate::ycbcr420). Only given where it is asked for.
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

    /// The rows that are read at once: of planes whole bands, of which the last one may be longer than the picture.
    #[must_use]
    pub fn rows_read(self, rows: u32) -> u32 {
        match self {
            Self::YCbCr420 => rows.next_multiple_of(ycbcr420::ROWS),
            _ => rows,
        }
    }
}
