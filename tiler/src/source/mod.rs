//! Sources: pictures of all kinds, as rows of pixels from top to bottom.
//!
//! [`prepare`] looks at a file's first bytes, never at a name or at what somebody said it was, and [`Prepared::open`] gives its
//! picture as [`Strips`]. JPEG, PNG, TIFF, QOI, PNM, TGA, HDR and Farbfeld are decoded as they are read; all others, interlaced PNG,
//! and pictures that EXIF turns or flips are decoded as a whole, if that fits into the memory that [`Bounds`] allow. Sizes
//! are checked against the bounds from the header, before anything is allocated for them. Colour profiles are applied
//! here too: what comes out is sRGB. PDF and SVG have no pixels of their own: they are drawn, a strip at a time, as large
//! as [`DrawingOptions`] say.
//!
//! Nothing here knows of tiles. All of it is meant to run in the renderer process, as the bytes may be hostile.

mod bmp;
mod dds;
mod drawing;
mod error;
mod exr;
mod farbfeld;
mod fonts;
mod format;
mod gif;
mod hdr;
mod heif;
mod ico;
mod inks;
mod jp2;
mod jpeg;
mod jxl;
mod light;
mod orientation;
pub mod page_strips;
mod pdf;
pub mod planes;
mod png;
mod png_colour;
mod png_exif;
mod pnm;
mod profile;
mod qoi;
mod samples;
mod svg;
mod tga;
mod tiff;
mod webp;
mod white;
mod whole;

use std::fs::File;
use std::io::{BufReader, Seek};
use std::num::NonZeroUsize;
use std::path::Path;

use edgezoom_content::Size;

pub use drawing::DrawingOptions;
pub use error::SourceError;
use fonts::Fonts;
pub use format::Format;
pub use orientation::Orientation;
pub use pdf::locate as locate_pdfium;
use profile::Profile;
pub use white::{OnWhite, is_opaque};
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
    /// Whether an opacity channel is known to hide something, so that nobody has to look.
    fn needs_opacity(&self) -> bool {
        false
    }
}

/// A picture as its decoder gives it, and what is still to be done to it.
struct Decoded {
    strips: Box<dyn Strips>,
    orientation: Orientation,
    profile: Option<Profile>,
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
pub fn open(file: File, bounds: Bounds) -> Result<Box<dyn Strips>, SourceError> {
    open_for(file, bounds, Wish::default())
}

/// The same for somebody with wishes.
///
/// # Errors
/// When the file is no picture that can be read, or one that the bounds do not admit.
pub fn open_for(mut file: File, bounds: Bounds, wish: Wish) -> Result<Box<dyn Strips>, SourceError> {
    let format = Format::sniff(&mut file)?;
    let prepared = Prepared { format, fonts: None, pdfium: None };
    prepared.open(file, bounds, &DrawingOptions::default(), wish)
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

impl Prepared {
    /// Opens the picture in the file, upright. A file may be opened several times.
    ///
    /// # Errors
    /// When the file is no picture that can be read, or one that the bounds do not admit.
    pub fn open(
        &self,
        mut file: File,
        bounds: Bounds,
        drawing: &DrawingOptions,
        wish: Wish,
    ) -> Result<Box<dyn Strips>, SourceError> {
        // A captured page comes through a pipe, and only once.
        if self.format != Format::PageStrips {
            file.rewind()?;
        }
        let file = match self.format {
            Format::Pdf => {
                let library = self.pdfium.as_ref().ok_or(SourceError::NoPdf)?;
                return pdf::open(file, library, bounds, drawing);
            }
            Format::Svg => {
                let fonts = self.fonts.clone().unwrap_or_else(Fonts::built_in);
                return svg::open(file, &fonts, bounds, drawing);
            }
            _ => BufReader::with_capacity(READ_BYTES, file),
        };
        let Decoded { strips, orientation, profile } = match self.format {
            Format::Jpeg => jpeg::open_file(file, bounds, wish)?,
            Format::Png => png::open(file, bounds)?,
            Format::WebP => webp::open(file, bounds)?,
            Format::Gif => gif::open(file, bounds)?,
            Format::Bmp => bmp::open(file, bounds)?,
            Format::Tiff => tiff::open(file, bounds, wish)?,
            Format::Avif | Format::Heic => heif::open(file, self.format, bounds)?,
            Format::Jxl => jxl::open(file, bounds)?,
            Format::Jp2 => jp2::open(file, bounds)?,
            Format::Qoi => qoi::open(file, bounds)?,
            Format::Pnm => pnm::open(file, bounds)?,
            Format::Tga => tga::open(file, bounds)?,
            Format::Ico => ico::open(file, bounds)?,
            Format::Dds => dds::open(file, bounds)?,
            Format::Hdr => hdr::open(file, bounds)?,
            Format::Exr => exr::open(file, bounds)?,
            Format::Farbfeld => farbfeld::open(file, bounds)?,
            Format::PageStrips | Format::Pdf | Format::Svg => return page_strips::open(file, bounds),
        };
        let strips = match profile {
            Some(profile) => profile.apply(strips),
            None => strips,
        };
        orientation.apply(strips, bounds)
    }
}

impl Decoded {
    /// A picture that is upright and in sRGB, as far as its file tells.
    fn plain(strips: impl Strips + 'static) -> Self {
        Self { strips: Box::new(strips), orientation: Orientation::UPRIGHT, profile: None }
    }
}
