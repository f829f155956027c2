//! Sources: pictures of all kinds, as rows of pixels from top to bottom.
//!
//! [`prepare`] looks at a file's first bytes, never at a name or at what somebody said it was, and [`Prepared::open`] gives its
//! picture as [`Strips`]. JPEG, PNG and TIFF are decoded as they are read; WebP, GIF and BMP, interlaced PNG, and pictures that EXIF
//! turns or flips are decoded as a whole, if that fits into the memory that [`Bounds`] allow. Sizes are checked against
//! the bounds from the header, before anything is allocated for them. PDF and SVG have no pixels of their own: they are
//! drawn, a strip at a time, as large as [`DrawingOptions`] say.
//!
//! Nothing here knows of tiles. All of it is meant to run in the renderer process, as the bytes may be hostile.

mod bmp;
mod drawing;
mod error;
mod fonts;
mod format;
mod gif;
mod jpeg;
mod orientation;
pub mod page_strips;
mod pdf;
mod png;
mod samples;
mod svg;
mod tiff;
mod webp;
mod white;
mod whole;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use edgezoom_content::Size;

pub use drawing::DrawingOptions;
pub use error::SourceError;
use fonts::Fonts;
pub use format::Format;
pub use orientation::Orientation;
pub use pdf::locate as locate_pdfium;
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
    /// more rows than there are left.
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
    /// The bytes of a pixel.
    #[must_use]
    pub fn channels(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
            Self::Rgba => 4,
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

/// A file's format, and what that takes of the system: fonts, a library. A process that is locked in cannot get such things
/// any more, so they are got before.
pub struct Prepared {
    format: Format,
    fonts: Option<Fonts>,
    pdfium: Option<pdf::Library>,
}

/// Tells the format of a file by its first bytes, and gets ready what it takes. `pdfium` is where the library for PDF is.
///
/// # Errors
/// When the file is of no known format or cannot be read.
pub fn prepare(file: &mut File, pdfium: Option<&Path>) -> Result<Prepared, SourceError> {
    let format = Format::sniff(file)?;
    Ok(Prepared {
        format,
        fonts: (format == Format::Svg).then(Fonts::of_system),
        pdfium: pdfium.filter(|_| format == Format::Pdf).and_then(pdf::Library::load),
    })
}

/// Opens the picture in a file, upright, with nothing of the system: no library for PDF, no fonts but the program's own.
///
/// # Errors
/// When the file is no picture that can be read, or one that the bounds do not admit.
pub fn open(mut file: File, bounds: Bounds) -> Result<Box<dyn Strips>, SourceError> {
    let format = Format::sniff(&mut file)?;
    Prepared { format, fonts: None, pdfium: None }.open(file, bounds, &DrawingOptions::default())
}

impl Prepared {
    /// Opens the picture in the file, upright.
    ///
    /// # Errors
    /// When the file is no picture that can be read, or one that the bounds do not admit.
    pub fn open(
        self,
        file: File,
        bounds: Bounds,
        drawing: &DrawingOptions,
    ) -> Result<Box<dyn Strips>, SourceError> {
        let buffered = |file| BufReader::with_capacity(READ_BYTES, file);
        let (strips, orientation) = match self.format {
            Format::Jpeg => jpeg::open(buffered(file), bounds)?,
            Format::Png => png::open(buffered(file), bounds)?,
            Format::WebP => webp::open(buffered(file), bounds)?,
            Format::Gif => (gif::open(buffered(file), bounds)?, Orientation::UPRIGHT),
            Format::Bmp => (bmp::open(buffered(file), bounds)?, Orientation::UPRIGHT),
            Format::Tiff => tiff::open(buffered(file), bounds)?,
            Format::Pdf => {
                let library = self.pdfium.ok_or(SourceError::NoPdf)?;
                (pdf::open(file, &library, bounds, drawing)?, Orientation::UPRIGHT)
            }
            Format::Svg => {
                let fonts = self.fonts.unwrap_or_else(Fonts::built_in);
                (svg::open(file, &fonts, bounds, drawing)?, Orientation::UPRIGHT)
            }
            Format::PageStrips => (page_strips::open(buffered(file), bounds)?, Orientation::UPRIGHT),
        };
        orientation.apply(strips, bounds)
    }
}
