//! Sources: pictures of all kinds, as rows of pixels from top to bottom.
//!
//! [`open`] looks at a file's first bytes, never at a name or at what somebody said it was, and gives its picture as
//! [`Strips`]. JPEG, PNG and TIFF are decoded as they are read; WebP, GIF and BMP, interlaced PNG, and pictures that EXIF
//! turns or flips are decoded as a whole, if that fits into the memory that [`Bounds`] allow. Sizes are checked against
//! the bounds from the header, before anything is allocated for them.
//!
//! Nothing here knows of tiles. All of it is meant to run in the renderer process, as the bytes may be hostile.

mod bmp;
mod error;
mod format;
mod gif;
mod jpeg;
mod orientation;
pub mod planes;
mod png;
mod samples;
mod tiff;
mod webp;
mod white;
mod whole;

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::num::NonZeroUsize;

use edgezoom_content::Size;

pub use error::SourceError;
pub use format::Format;
pub use orientation::Orientation;
pub use white::OnWhite;
use whole::Whole;

/// How much of a file is read at once.
const READ_BYTES: usize = 128 << 10;

/// A picture as rows of pixels, from top to bottom.
pub trait Strips {
    /// The picture's width and height in pixels.
    fn size(&self) -> Size;
    /// What a pixel is made of.
    fn layout(&self) -> Layout;
    /// Reads the next rows, as many as fill `into`: whole rows, one after the other without gaps. The caller asks for no
    /// more rows than there are left, and in planes for whole bands.
    ///
    /// # Errors
    /// When the file cannot be read or decoded any further. Nothing useful comes after that.
    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError>;
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
    /// Lightness, and chroma of half its resolution both ways, in [`planes`]. Only given where it is asked for.
    YCbCr420,
}

/// What a picture may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The pixels it may have.
    pub pixels: u64,
    /// The pixels a side may have.
    pub side: u32,
    /// The memory that may be used to hold a picture as a whole, in bytes.
    pub memory: u64,
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
            Self::YCbCr420 => 3 * planes::stride(width) / 2,
            _ => width as usize * self.channels(),
        }
    }

    /// The rows that are read at once: of planes whole bands, of which the last one may be longer than the picture.
    #[must_use]
    pub fn rows_read(self, rows: u32) -> u32 {
        match self {
            Self::YCbCr420 => rows.next_multiple_of(planes::ROWS),
            _ => rows,
        }
    }
}

impl Bounds {
    /// The size, if a picture may be as large.
    fn admit(&self, width: u32, height: u32) -> Result<Size, SourceError> {
        let size = Size { width, height };
        if width == 0 || height == 0 {
            return Err(SourceError::Empty);
        }
        if size.pixels() > self.pixels {
            return Err(SourceError::TooManyPixels { size, pixels: self.pixels });
        }
        if width.max(height) > self.side {
            return Err(SourceError::TooLong { size, side: self.side });
        }
        Ok(size)
    }

    /// Whether so many bytes may be used for what `reason` says.
    fn admit_memory(&self, bytes: u64, reason: &'static str) -> Result<(), SourceError> {
        if bytes > self.memory {
            return Err(SourceError::TooMuchMemory { reason, bytes, memory: self.memory });
        }
        Ok(())
    }
}

/// Opens the picture in a file, upright.
///
/// # Errors
/// When the file is no picture that can be read, or one that the bounds do not admit.
pub fn open(file: File, bounds: Bounds) -> Result<Box<dyn Strips>, SourceError> {
    open_for(file, bounds, Wish::default())
}

/// What whoever reads a source could do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Whether a JPEG may be given as its planes, [`Layout::YCbCr420`].
    pub may_be_planes: bool,
    /// The threads that may decode.
    pub threads: NonZeroUsize,
}

impl Default for Wish {
    fn default() -> Self {
        Self { may_be_planes: false, threads: NonZeroUsize::MIN }
    }
}

/// The same with more wishes.
///
/// # Errors
/// When the file is no picture that can be read, or one that the bounds do not admit.
pub fn open_for(mut file: File, bounds: Bounds, wish: Wish) -> Result<Box<dyn Strips>, SourceError> {
    file.seek(SeekFrom::Start(0))?;
    let format = Format::sniff(&mut file)?;
    let file = BufReader::with_capacity(READ_BYTES, file);
    let (strips, orientation) = match format {
        Format::Jpeg => jpeg::open(file, bounds, wish)?,
        Format::Png => png::open(file, bounds)?,
        Format::WebP => webp::open(file, bounds)?,
        Format::Gif => (gif::open(file, bounds)?, Orientation::UPRIGHT),
        Format::Bmp => (bmp::open(file, bounds)?, Orientation::UPRIGHT),
        Format::Tiff => tiff::open(file, bounds, wish)?,
    };
    orientation.apply(strips, bounds)
}
