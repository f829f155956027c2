//! What a decoder gets and what it gives: the interface between the formats and what opens them.

use std::io::BufReader;
use std::path::Path;

use crate::SourceFile;
use crate::bounds::Bounds;
use crate::colour::icc::Profile;
use crate::error::SourceError;
use crate::options::DecodeOptions;
use crate::orientation::Orientation;
use crate::row_reader::RowReader;
use crate::scratch::TemporaryFile;

/// How many bytes of a file are read at once.
pub(crate) const READ_BYTES: usize = 128 << 10;

/// What a decoder opens.
pub(crate) struct Input<'a> {
    /// The file, at its start.
    pub(crate) file: BufReader<SourceFile>,
    pub(crate) bounds: Bounds,
    pub(crate) options: &'a DecodeOptions,
    /// What may be used in place of memory.
    pub(crate) temporary: Option<TemporaryFile>,
}

/// A picture as its decoder gives it, and what is still to be done to it.
pub(crate) struct Decoded {
    pub(crate) reader: Box<dyn RowReader>,
    pub(crate) orientation: Orientation,
    pub(crate) profile: Option<Profile>,
}

/// How a format's files are opened.
pub(crate) enum Open {
    /// With nothing but the file.
    Directly(fn(Input<'_>) -> Result<Decoded, SourceError>),
    /// With fonts or a library, which are loaded before the process enters its sandbox.
    Prepared(fn(&System<'_>) -> Opener),
}

/// Opens files with what was loaded for them.
pub(crate) type Opener = Box<dyn Fn(Input<'_>) -> Result<Decoded, SourceError> + Send + Sync>;

/// What a decoder may take of the system.
#[cfg_attr(not(any(feature = "pdf", feature = "svg")), allow(dead_code))]
pub(crate) struct System<'a> {
    /// Whether the system's fonts are used beside the built-in one.
    pub(crate) fonts: bool,
    /// Where the library for PDF is.
    pub(crate) pdfium: Option<&'a Path>,
}

impl Decoded {
    /// A picture that is upright and in sRGB, as far as its file says.
    pub(crate) fn plain(reader: impl RowReader + 'static) -> Self {
        Self { reader: Box::new(reader), orientation: Orientation::UPRIGHT, profile: None }
    }
}
