//! The description of a format, and the interface between a decoder and [`crate::open()`]. Each format's own file
//! exports one description; code outside that file never matches on a format.
//!
//! The model is libvips' `VipsForeignLoadClass`, which holds a format's name, the test that recognises it and the
//! function that loads it.

use std::fmt::{self, Display};
use std::io::BufReader;
use std::path::Path;

use edgezoom_geometry::{Orientation, Scale, Size};
use edgezoom_text::Text;

use crate::bounds::Bounds;
use crate::colour::icc::Profile;
use crate::error::SourceError;
use crate::metadata::Metadata;
use crate::options::DecodeOptions;
use crate::row_reader::{Layout, RowReader, Rows};
use crate::scratch::TemporaryFile;
use crate::source_file::SourceFile;
use crate::vectors::Vectors;

/// Number of bytes read from a file at once.
pub(crate) const READ_BYTES: usize = 128 << 10;

/// A format that can be read.
pub struct Format {
    /// Its name in messages, in `--help` and in the documentation.
    pub name: &'static str,
    /// Its media types, the registered one first. Empty if it has none, as for formats that only this program writes.
    pub media_types: &'static [&'static str],
    /// Its file extensions, in lower case and without the dot, the most common one first.
    pub endings: &'static [&'static str],
    /// The way its pixels are read.
    pub reading: Reading,
    /// True if the rows are in order in the file, so that reading may begin while the file still arrives. A file whose
    /// rows are in another order, such as a progressive picture, only waits longer.
    pub in_order: bool,
    /// Returns true if a file that begins with these bytes has this format. Compares bytes, parses nothing.
    pub(crate) signature: fn(head: &[u8]) -> bool,
    /// Opens a file.
    pub(crate) open: Open,
}

/// The way a format's pixels are read, which determines the memory that a picture takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The decoder returns rows from top to bottom. Memory depends on the width alone.
    Rows,
    /// Any region can be drawn at any size. Memory is that of one strip.
    Regions,
    /// The decoder returns all pixels at once. The whole picture has to fit into
    /// [`Bounds::memory`](crate::Bounds::memory).
    Buffered,
}

/// The way a format's files are opened.
pub(crate) enum Open {
    /// With nothing but the file.
    Directly(fn(Input<'_>) -> Result<Decoded, SourceError>),
    /// By a crate that decodes the whole picture, which begins with the header.
    #[cfg(feature = "rare")]
    Crate(Header),
    /// With fonts or a library, which are loaded before the process enters its sandbox.
    Prepared(fn(&System<'_>) -> Opener),
}

/// Reads the header of a file that a crate decodes as a whole.
#[cfg(feature = "rare")]
pub(crate) type Header = fn(BufReader<SourceFile>) -> image::ImageResult<Box<dyn image::ImageDecoder>>;

/// Opens files with the fonts or the library that were loaded for them.
pub(crate) type Opener = Box<dyn Fn(Input<'_>) -> Result<Decoded, SourceError> + Send + Sync>;

/// The parts of the system that a decoder may use.
#[cfg_attr(not(any(feature = "pdf", feature = "svg")), allow(dead_code))]
pub(crate) struct System<'a> {
    /// True if the system's fonts are used beside the built-in one.
    pub(crate) fonts: bool,
    /// Path of the library for PDF.
    pub(crate) pdfium: Option<&'a Path>,
}

/// A file to decode.
pub(crate) struct Input<'a> {
    /// The file, at its start.
    pub(crate) file: BufReader<SourceFile>,
    pub(crate) bounds: Bounds,
    pub(crate) options: &'a DecodeOptions,
    /// File to use in place of memory.
    pub(crate) temporary: Option<TemporaryFile>,
}

/// A decoder's picture, and what is still to be done to it.
pub(crate) struct Decoded {
    pub(crate) reader: Box<dyn RowReader>,
    pub(crate) orientation: Orientation,
    pub(crate) profile: Option<Profile>,
    /// Physical size of a pixel.
    pub(crate) scale: Option<Scale>,
    /// Its words.
    pub(crate) text: Option<Text>,
    /// Its pages as vectors.
    pub(crate) vectors: Option<Box<dyn Vectors>>,
    /// Metadata of a drawing. That of pictures is read from their files.
    pub(crate) metadata: Metadata,
}

impl Decoded {
    /// Returns a picture that is upright and in sRGB, as far as its file says.
    pub(crate) fn plain(reader: impl RowReader + 'static) -> Self {
        Self::of(Box::new(reader))
    }

    /// Does the same for a boxed reader.
    pub(crate) fn of(reader: Box<dyn RowReader>) -> Self {
        Self {
            reader,
            orientation: Orientation::UPRIGHT,
            profile: None,
            scale: None,
            text: None,
            vectors: None,
            metadata: Metadata::default(),
        }
    }

    /// Returns a picture that is upright and in sRGB, whose rows `read_row` fills one at a time.
    pub(crate) fn rows(
        size: Size,
        layout: Layout,
        read_row: impl FnMut(&mut [u8]) -> Result<(), SourceError> + 'static,
    ) -> Self {
        Self::plain(Rows { size, layout, read_row })
    }
}

impl Format {
    /// Returns true if a damaged file is shown as far as it goes. A drawing has no part that could be missing, and
    /// where the capture of a web page ends, its own error counts.
    pub(crate) fn may_be_partial(&self) -> bool {
        self.reading != Reading::Regions && !self.endings.is_empty()
    }

    /// Returns the error for a file that is cut off or broken, with the decoder's finding.
    pub(crate) fn corrupt(&self, reason: impl Display) -> SourceError {
        SourceError::corrupt(self.name, reason)
    }

    /// Returns the error for a file that has fewer bytes than its pixels need.
    pub(crate) fn ends_early(&self) -> SourceError {
        self.corrupt("it ends before its last row")
    }

    /// Returns the error for a file that is too short for its header.
    pub(crate) fn ends_in_header(&self) -> SourceError {
        self.corrupt("it ends in its header")
    }

    /// Returns the error for a variant of the format that is not read.
    pub(crate) fn unsupported(&self, reason: impl Display) -> SourceError {
        SourceError::unsupported(self.name, reason)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({})", self.name)
    }
}

impl Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows => "row by row",
            Self::Regions => "strip by strip",
            Self::Buffered => "buffered",
        })
    }
}
