//! What the rest of the program knows of a format, and what it asks about all of them. The table of formats itself is
//! in [`formats`](crate::formats).
//!
//! The model is libvips' `VipsForeignLoadClass`: a description per format that says what the format is called, what it
//! recognises and how it loads. Code outside a format's own file never matches on a format.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use crate::SourceError;
use crate::formats::{FORMATS, screenshot};
use crate::open::Open;

/// How many bytes of a file are compared with signatures. A PDF may begin up to 1 KiB into the file, and before the
/// root element of an SVG come comments with whole licences and declarations of entities.
const HEAD_BYTES: u64 = 64 << 10;

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
    /// All formats that files on the web have, in the order in which signatures are compared.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        FORMATS.iter().copied().filter(|format| !format.endings.is_empty())
    }

    /// The names of all formats as a list in a sentence: "JPEG, PNG and TGA".
    #[must_use]
    pub fn list() -> String {
        let names: Vec<&str> = Self::all().map(|format| format.name).collect();
        match names.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => names.concat(),
        }
    }

    /// Whether files of a format are named with this ending, without the dot.
    #[must_use]
    pub fn has_ending(ending: &str) -> bool {
        Self::all().any(|format| format.endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
    }

    /// Whether a format has this media type, without parameters.
    #[must_use]
    pub fn has_media_type(media_type: &str) -> bool {
        Self::all()
            .any(|format| format.media_types.iter().any(|known| known.eq_ignore_ascii_case(media_type)))
    }

    /// Finds the format of a file by its first bytes, and leaves the file at its start. Bytes are compared, nothing is
    /// parsed. A stream cannot be rewound: only the picture of a page that is still being captured comes as one, and
    /// its bytes are left to the decoder.
    ///
    /// # Errors
    /// When the file is empty, has no known format or cannot be read.
    pub fn sniff(file: &mut File) -> Result<&'static Self, SourceError> {
        if file.rewind().is_err_and(|error| error.kind() == ErrorKind::NotSeekable) {
            return Ok(&screenshot::FORMAT);
        }
        let mut head = Vec::new();
        file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        if head.is_empty() {
            return Err(SourceError::NoBytes);
        }
        FORMATS.iter().copied().find(|format| (format.signature)(&head)).ok_or(SourceError::Unknown)
    }

    /// The error for a file that is cut off or broken, with what the decoder found.
    pub(crate) fn corrupt(&'static self, reason: impl Display) -> SourceError {
        SourceError::Corrupt { format: self, reason: reason.to_string().trim_end_matches('.').to_owned() }
    }

    /// The error for a variant of the format that is not read.
    pub(crate) fn unsupported(&'static self, reason: impl Display) -> SourceError {
        SourceError::Unsupported { format: self, reason: reason.to_string().trim_end_matches('.').to_owned() }
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_and_endings_belong_to_one_format_each() {
        let mut seen = HashSet::new();
        for format in Format::all() {
            for &key in format.endings.iter().chain([&format.name]) {
                assert!(seen.insert(key), "{key} is in the table twice");
            }
            assert!(format.endings.iter().all(|ending| *ending == ending.to_ascii_lowercase()), "{format}");
            assert!(format.media_types.iter().all(|name| name.contains('/')), "{format}");
        }
    }

    #[test]
    fn formats_are_found_by_ending_and_media_type_in_any_case() {
        assert!(Format::has_ending("JPG") && !Format::has_ending("zip"));
        assert!(Format::has_media_type("Image/PNG") && !Format::has_media_type("text/html"));
    }

    #[test]
    fn no_signature_is_that_of_a_text_or_an_empty_file() {
        for head in [b"".as_slice(), b"\n", b"Dear reader, BM is not a bitmap.\n", &[0; 64]] {
            let found = FORMATS.iter().find(|format| (format.signature)(head));
            assert!(found.is_none(), "{found:?}: {}", head.escape_ascii());
        }
    }
}
