//! The description of a format. Each format's own file exports one; code outside that file never matches on a format.
//!
//! The model is libvips' `VipsForeignLoadClass`, which says what a format is called, what it recognises and how it loads.

use std::fmt::{self, Display};

use crate::decoder::Open;
use crate::error::SourceError;

/// A format that can be read.
pub struct Format {
    /// Its name in messages, in `--help` and in the documentation.
    pub name: &'static str,
    /// Its media types, the registered one first. Empty where it has none, as for formats that only this program
    /// writes.
    pub media_types: &'static [&'static str],
    /// The endings of its file names, in lower case and without the dot, the most common one first.
    pub endings: &'static [&'static str],
    /// How its pixels are read.
    pub reading: Reading,
    /// Whether the rows lie in the file in their order, so that reading may begin while the file still arrives. One that
    /// does not lie so all the same, as a progressive picture, only waits longer.
    pub in_order: bool,
    /// Whether a file that begins with these bytes has this format. Compares bytes, parses nothing.
    pub(crate) signature: fn(head: &[u8]) -> bool,
    /// How a file is opened.
    pub(crate) open: Open,
}

/// How the pixels of a format are read, which decides how much memory a picture takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The decoder gives rows from top to bottom. Memory depends on the width alone.
    Rows,
    /// Any region can be drawn at any size. Memory is that of one strip.
    Regions,
    /// The decoder gives all pixels at once. The whole picture has to fit into
    /// [`Bounds::memory`](crate::Bounds::memory).
    Buffered,
}

impl Format {
    /// Whether a damaged file is shown as far as it goes. A drawing has no part that could be missing, and where the
    /// capture of a web page ends, its own error counts.
    pub(crate) fn may_be_partial(&self) -> bool {
        self.reading != Reading::Regions && !self.endings.is_empty()
    }

    /// The error for a file that is cut off or broken, with what the decoder found.
    pub(crate) fn corrupt(&'static self, reason: impl Display) -> SourceError {
        SourceError::corrupt(self.name, reason)
    }

    /// The error for a variant of the format that is not read.
    pub(crate) fn unsupported(&'static self, reason: impl Display) -> SourceError {
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
