//! From a file to a row reader: finds the format, loads the fonts or the library that its decoder needs, and opens the
//! picture, upright and in sRGB.

use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::Path;

use crate::described::Described;
use crate::format::{Decoded, Input, Open, Opener, READ_BYTES, System};
use crate::formats;
use crate::tolerant::{Strict, Tolerant};
use crate::upright;
use crate::{
    Bounds, DecodeOptions, Format, LateMetadata, RowReader, SourceError, SourceFile, TemporaryFile, Thumbnail,
};

/// A file's format, with the fonts or the library that its decoder needs. A process in a sandbox cannot open such
/// files, so they are loaded before.
pub struct Prepared {
    format: &'static Format,
    opener: Opener,
    temporary: Option<TemporaryFile>,
}

/// Finds the format of a file by its first bytes, and loads the fonts or the library that its decoder needs. `pdfium`
/// is the path of the library for PDF.
///
/// # Errors
/// The file has no known format or cannot be read.
pub fn prepare(file: &mut (impl Read + Seek), pdfium: Option<&Path>) -> Result<Prepared, SourceError> {
    Ok(Prepared::of(Format::sniff(file)?, &System { fonts: true, pdfium }))
}

/// Opens the picture in a file, upright, without the library for PDF and with the built-in font alone.
///
/// # Errors
/// The file has no known format, is broken, or exceeds the bounds.
pub fn open(file: impl Into<SourceFile>, bounds: Bounds) -> Result<Box<dyn RowReader>, SourceError> {
    open_with(file, bounds, &DecodeOptions::default())
}

/// Opens the picture in a file as [`open`] does, with options.
///
/// # Errors
/// The file has no known format, is broken, or exceeds the bounds.
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
    /// Returns the opener of files of a format that are not recognised by their bytes.
    pub(crate) fn by(format: &'static Format, opener: Opener) -> Self {
        Self { format, opener, temporary: None }
    }

    fn of(format: &'static Format, system: &System<'_>) -> Self {
        let opener: Opener = match format.open {
            Open::Directly(open) => Box::new(open),
            #[cfg(feature = "rare")]
            Open::Crate(header) => {
                Box::new(move |input: Input<'_>| formats::other::open(format, header, input))
            }
            Open::Prepared(prepare) => prepare(system),
        };
        Self::by(format, opener)
    }

    /// Sets a file to use in place of memory for pictures that need much.
    #[must_use]
    pub fn with_temporary_file(self, file: TemporaryFile) -> Self {
        Self { temporary: Some(file), ..self }
    }

    /// Returns a small picture of the whole, if there is one that is known sooner than the picture's rows.
    #[must_use]
    pub fn thumbnail(&self, file: impl Into<SourceFile>, bounds: Bounds) -> Option<Thumbnail> {
        let mut file: SourceFile = file.into();
        file.rewind().ok()?;
        formats::thumbnail(self.format, file, bounds)
    }

    /// Opens the picture in the file, upright unless the options allow otherwise. A file may be opened several times,
    /// but with a temporary file only one at a time.
    ///
    /// # Errors
    /// The file is broken or exceeds the bounds.
    pub fn open(
        &self,
        file: impl Into<SourceFile>,
        bounds: Bounds,
        options: &DecodeOptions,
    ) -> Result<Box<dyn RowReader>, SourceError> {
        let mut file: SourceFile = file.into();
        match file.rewind() {
            // The capture of a web page comes through a pipe, and only once.
            Err(error) if error.kind() == ErrorKind::NotSeekable => {}
            result => result?,
        }
        let same = file.clone();
        let file = BufReader::with_capacity(READ_BYTES, file);
        let input = Input { file, bounds, options, temporary: self.temporary.clone() };
        let opened = (self.opener)(input);
        // A file that the caller cut off is not broken.
        let opened = if same.is_cancelled() { Err(SourceError::Cancelled) } else { opened };
        let Decoded { reader, orientation, profile, scale, text, vectors, metadata } = opened?;
        let is_drawing = !self.format.may_be_partial();
        let read = move || if is_drawing { metadata } else { formats::metadata::read(&same) };
        let metadata = LateMetadata::new(read);
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
        let upright = upright::make_upright(orientation, reader, bounds, options.as_stored)?;
        Ok(Box::new(Described { source: upright, scale, text, vectors, metadata }))
    }
}
