//! The list that registers all formats, and a file or folder for each.
//!
//! There are two tiers. A new format that is read by rows is a file here that exports `FORMAT`, its `mod` line, and its
//! line in the list. A format that a crate decodes as a whole is an entry in `other`. Kinds of files that are
//! recognised only to be refused by name are in `refused`.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use crate::{Bounds, Format, SourceError, SourceFile};
pub use jpeg::thumbnail::Thumbnail;

mod bmp;
mod camera_raw;
mod dicom;
#[cfg(feature = "rare")]
mod exr;
mod fits;
#[cfg(any(feature = "pdf", feature = "svg"))]
pub(crate) mod fonts;
mod gif;
#[cfg(feature = "modern")]
mod heif;
mod ico;
pub(crate) mod ifd;
mod iso_boxes;
pub(crate) mod jpeg;
#[cfg(feature = "modern")]
mod jpeg2000;
#[cfg(feature = "modern")]
mod jxl;
#[cfg(any(feature = "pdf", feature = "svg"))]
#[cfg(any(feature = "pdf", feature = "svg"))]
mod lines;
pub(crate) mod metadata;
#[cfg(test)]
mod mutated;
#[cfg(feature = "rare")]
pub(crate) mod other;
#[cfg(feature = "pdf")]
pub(crate) mod pdf;
mod png;
mod pnm;
mod psd;
pub(crate) mod refused;
pub mod screenshot;
pub(crate) mod section;
#[cfg(feature = "svg")]
mod svg;
#[cfg(feature = "tiff")]
mod tiff;
mod webp;

/// The formats of the first tier, in the order in which their signatures are compared: SVG is found by its root element
/// and PDF anywhere in the first KiB, so they come last. Camera raw files are TIFFs too, and gzipped FITS is gzipped as
/// SVG may be: the narrower signature comes first.
#[rustfmt::skip] // one line a format
static FORMATS: &[&Format] = &[
    &jpeg::FORMAT,
    &png::FORMAT,
    &webp::FORMAT,
    &gif::FORMAT,
    &camera_raw::FORMAT,
    #[cfg(feature = "tiff")] &tiff::FORMAT,
    #[cfg(feature = "modern")] &heif::AVIF,
    #[cfg(feature = "modern")] &heif::HEIC,
    #[cfg(feature = "modern")] &jxl::FORMAT,
    #[cfg(feature = "modern")] &jpeg2000::FORMAT,
    &bmp::FORMAT,
    &psd::FORMAT,
    &fits::FORMAT,
    &dicom::FORMAT,
    &ico::FORMAT,
    #[cfg(feature = "rare")] &exr::FORMAT,
    &pnm::FORMAT,
    &screenshot::FORMAT,
    #[cfg(feature = "svg")] &svg::FORMAT,
    #[cfg(feature = "pdf")] &pdf::FORMAT,
];

/// The formats of the second tier.
#[cfg(feature = "rare")]
static OTHER: &[Format] = other::FORMATS;
#[cfg(not(feature = "rare"))]
static OTHER: &[Format] = &[];

/// Returns all formats, in the order in which signatures are compared.
fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().chain(OTHER)
}

/// Number of bytes of a file that are compared with signatures. A PDF may begin up to 1 KiB into the file, and the root
/// element of an SVG may follow comments with whole licences and declarations of entities.
pub const HEAD_BYTES: u64 = 64 << 10;

/// Number of further bytes that may precede the root element of an SVG.
#[cfg(feature = "svg")]
const PROLOG_BYTES: u64 = 8 << 20;

/// Finds a small picture of the whole, if the format has one that is known sooner than the picture's rows. The file is
/// at its start.
pub(crate) fn thumbnail(format: &Format, file: SourceFile, bounds: Bounds) -> Option<Thumbnail> {
    if *format == jpeg::FORMAT { jpeg::thumbnail::find(file, bounds) } else { None }
}

impl Format {
    /// Returns all formats that files on the web have, in the order in which signatures are compared.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        formats().filter(|format| !format.endings.is_empty())
    }

    /// Returns the names of all formats as a list in a sentence: "JPEG, PNG and TGA".
    #[must_use]
    pub fn list() -> String {
        let names: Vec<&str> = Self::all().map(|format| format.name).collect();
        match names.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => names.concat(),
        }
    }

    /// Returns true if files of some format have this extension, without the dot.
    #[must_use]
    pub fn has_ending(ending: &str) -> bool {
        Self::all().any(|format| format.endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
    }

    /// Returns true if some format has this media type, without parameters.
    #[must_use]
    pub fn has_media_type(media_type: &str) -> bool {
        Self::all()
            .any(|format| format.media_types.iter().any(|known| known.eq_ignore_ascii_case(media_type)))
    }

    /// Finds the format of a file by its first bytes, and leaves the file at its start. Compares bytes, parses nothing.
    /// A stream cannot be rewound: only the capture of a web page comes as one, and its bytes are left to the decoder.
    ///
    /// # Errors
    /// The file is empty, has no known format, is of a kind that is refused by name, or cannot be read.
    pub fn sniff(file: &mut (impl Read + Seek)) -> Result<&'static Self, SourceError> {
        if file.rewind().is_err_and(|error| error.kind() == ErrorKind::NotSeekable) {
            return Ok(&screenshot::FORMAT);
        }
        let mut head = Vec::new();
        file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        #[cfg(feature = "svg")]
        if head.len() as u64 == HEAD_BYTES && Self::of_head(&head).is_none() && svg::may_be_svg(&head) {
            file.by_ref().take(PROLOG_BYTES).read_to_end(&mut head)?;
        }
        file.seek(SeekFrom::Start(0))?;
        if head.is_empty() {
            return Err(SourceError::NoBytes);
        }
        Self::of_head(&head).ok_or_else(|| match refused::find(&head) {
            Some(sentence) => SourceError::Refused(sentence),
            None => SourceError::Unknown { known: Self::list() },
        })
    }

    /// Returns the format of a file that begins with these bytes: its first [`HEAD_BYTES`], or all of it.
    #[must_use]
    pub fn of_head(head: &[u8]) -> Option<&'static Self> {
        formats().find(|format| (format.signature)(head))
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
            let found = formats().find(|format| (format.signature)(head));
            assert!(found.is_none(), "{found:?}: {}", head.escape_ascii());
        }
    }
}
