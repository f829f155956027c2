//! What the rest of the program asks about all formats: which one a file has, what they are called, how their files are
//! named. The table itself is in [`formats`](crate::formats).

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use crate::formats::{FORMATS, refused, screenshot};
use crate::{Format, SourceError};

/// How many bytes of a file are compared with signatures. A PDF may begin up to 1 KiB into the file, and before the
/// root element of an SVG come comments with whole licences and declarations of entities.
pub const HEAD_BYTES: u64 = 64 << 10;

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
    /// When the file is empty, has no known format, is of a kind that is refused by name, or cannot be read.
    pub fn sniff(file: &mut (impl Read + Seek)) -> Result<&'static Self, SourceError> {
        if file.rewind().is_err_and(|error| error.kind() == ErrorKind::NotSeekable) {
            return Ok(&screenshot::FORMAT);
        }
        let mut head = Vec::new();
        file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        if head.is_empty() {
            return Err(SourceError::NoBytes);
        }
        Self::of_head(&head).ok_or_else(|| match refused::find(&head) {
            Some(sentence) => SourceError::Refused(sentence),
            None => SourceError::Unknown { known: Self::list() },
        })
    }

    /// The format of a file that begins with these bytes: the first [`HEAD_BYTES`] of it, or all.
    #[must_use]
    pub fn of_head(head: &[u8]) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| (format.signature)(head))
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
