//! From a file to a row reader: finds the format, gets ready what it takes, and opens the picture, upright and in sRGB.

use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;

use crate::colour::icc::Profile;
use crate::vector::fonts::Fonts;
use crate::vector::{pdf, svg};
use crate::{Bounds, DecodeOptions, Format, Orientation, RowReader, SourceError, formats};

/// How much of a file is read at once.
pub(crate) const READ_BYTES: usize = 128 << 10;

/// A picture as its decoder gives it, and what is still to be done to it.
pub(crate) struct Decoded {
    pub(crate) strips: Box<dyn RowReader>,
    pub(crate) orientation: Orientation,
    pub(crate) profile: Option<Profile>,
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
pub fn open(file: File, bounds: Bounds) -> Result<Box<dyn RowReader>, SourceError> {
    open_with(file, bounds, &DecodeOptions::default())
}

/// Opens the picture in a file as [`open`] does, with options.
///
/// # Errors
/// When the file is no picture that can be read, or one that the bounds do not admit.
pub fn open_with(
    mut file: File,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Box<dyn RowReader>, SourceError> {
    let format = Format::sniff(&mut file)?;
    let prepared = Prepared { format, fonts: None, pdfium: None };
    prepared.open(file, bounds, options)
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
        options: &DecodeOptions,
    ) -> Result<Box<dyn RowReader>, SourceError> {
        // A captured page comes through a pipe, and only once.
        if self.format != Format::Screenshot {
            file.rewind()?;
        }
        let file = match self.format {
            Format::Pdf => {
                let library = self.pdfium.as_ref().ok_or(SourceError::NoPdf)?;
                return pdf::open(file, library, bounds, &options.drawing);
            }
            Format::Svg => {
                let fonts = self.fonts.clone().unwrap_or_else(Fonts::built_in);
                return svg::open(file, &fonts, bounds, options);
            }
            _ => BufReader::with_capacity(READ_BYTES, file),
        };
        let Decoded { strips, orientation, profile } = match self.format {
            Format::Jpeg => formats::jpeg::open_file(file, bounds, *options)?,
            Format::Png => formats::png::open(file, bounds)?,
            Format::WebP => formats::webp::open(file, bounds)?,
            Format::Gif => formats::gif::open(file, bounds)?,
            Format::Bmp => formats::bmp::open(file, bounds)?,
            Format::Tiff => formats::tiff::open(file, bounds, *options)?,
            Format::Avif | Format::Heic => formats::heif::open(file, self.format, bounds)?,
            Format::Jxl => formats::jxl::open(file, bounds)?,
            Format::Jp2 => formats::jp2::open(file, bounds)?,
            Format::Qoi => formats::qoi::open(file, bounds)?,
            Format::Pnm => formats::pnm::open(file, bounds)?,
            Format::Tga => formats::tga::open(file, bounds)?,
            Format::Ico => formats::ico::open(file, bounds)?,
            Format::Dds => formats::dds::open(file, bounds)?,
            Format::Hdr => formats::hdr::open(file, bounds)?,
            Format::Exr => formats::exr::open(file, bounds)?,
            Format::Farbfeld => formats::farbfeld::open(file, bounds)?,
            Format::Screenshot | Format::Pdf | Format::Svg => return formats::screenshot::open(file, bounds),
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
    pub(crate) fn plain(strips: impl RowReader + 'static) -> Self {
        Self { strips: Box::new(strips), orientation: Orientation::UPRIGHT, profile: None }
    }
}
