//! From a file to a row reader: finds the format, takes hold of what its decoder needs of the system, and opens the
//! picture, upright and in sRGB.

use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::Path;

use crate::format::{Decoded, Input, Open, Opener, READ_BYTES, System};
use crate::formats;
use crate::tolerant::{Strict, Tolerant};
use crate::upright;
use crate::{Bounds, DecodeOptions, Format, RowReader, SourceError, SourceFile, TemporaryFile, Thumbnail};

/// A file's format, with what its decoder needs of the system: fonts, a library. A process in a sandbox cannot
/// open such files any more, so they are loaded before.
pub struct Prepared {
    format: &'static Format,
    opener: Opener,
    temporary: Option<TemporaryFile>,
}

/// Finds the format of a file by its first bytes, and loads what its decoder needs. `pdfium` is where the library for
/// PDF is.
///
/// # Errors
/// When the file has no known format or cannot be read.
pub fn prepare(file: &mut (impl Read + Seek), pdfium: Option<&Path>) -> Result<Prepared, SourceError> {
    Ok(Prepared::of(Format::sniff(file)?, &System { fonts: true, pdfium }))
}

/// Opens the picture in a file, upright, with nothing of the system: no library for PDF, no fonts but the built-in one.
///
/// # Errors
/// When the file has no known format, is broken, or exceeds the bounds.
pub fn open(file: impl Into<SourceFile>, bounds: Bounds) -> Result<Box<dyn RowReader>, SourceError> {
    open_with(file, bounds, &DecodeOptions::default())
}

/// Opens the picture in a file as [`open`] does, with options.
///
/// # Errors
/// When the file has no known format, is broken, or exceeds the bounds.
pub fn open_with(
    file: impl Into<SourceFile>,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Box<dyn RowReader>, SourceError> {
    let mut file = file.into();
    let format = Format::sniff(&mut file)?;
    Prepared::of(format, &System { fonts: false, pdfium: None }).open(file, bounds, options)
}

impl Prepared {
    fn of(format: &'static Format, system: &System<'_>) -> Self {
        let opener = match format.open {
            Open::Directly(open) => Box::new(open),
            Open::Prepared(prepare) => prepare(system),
        };
        Self { format, opener, temporary: None }
    }

    /// Lets pictures of which much has to be kept use a file in place of memory.
    #[must_use]
    pub fn with_temporary_file(self, file: TemporaryFile) -> Self {
        Self { temporary: Some(file), ..self }
    }

    /// A small picture of the whole, if there is one that is known sooner than the picture's rows. The file is to be
    /// opened afterwards: with a temporary file only one after the other.
    #[must_use]
    pub fn thumbnail(&self, file: impl Into<SourceFile>, bounds: Bounds) -> Option<Thumbnail> {
        let mut file: SourceFile = file.into();
        file.rewind().ok()?;
        formats::thumbnail(self.format, file, bounds, self.temporary.as_ref())
    }

    /// Opens the picture in the file, upright unless the options allow otherwise. A file may be opened several times,
    /// with a temporary file only one after the other.
    ///
    /// # Errors
    /// When the file is broken or exceeds the bounds.
    pub fn open(
        &self,
        file: impl Into<SourceFile>,
        bounds: Bounds,
        options: &DecodeOptions,
    ) -> Result<Box<dyn RowReader>, SourceError> {
        let mut file: SourceFile = file.into();
        match file.rewind() {
            // The picture of a page that is still being captured comes through a pipe, and only once.
            Err(error) if error.kind() == ErrorKind::NotSeekable => {}
            result => result?,
        }
        let file = BufReader::with_capacity(READ_BYTES, file);
        let input = Input { file, bounds, options, temporary: self.temporary.clone() };
        let Decoded { reader, orientation, profile } = (self.opener)(input)?;
        let reader: Box<dyn RowReader> = if options.strict {
            Box::new(Strict::new(reader, self.format.name)?)
        } else if self.format.may_be_partial() {
            Box::new(Tolerant::new(reader))
        } else {
            reader
        };
        let reader = match profile {
            Some(profile) => profile.apply(reader),
            None => reader,
        };
        upright::make_upright(orientation, reader, bounds, options.as_stored)
    }
}
