//! The errors of sources that cannot be read.

use std::fmt::Display;
use std::io;

use edgezoom_geometry::{DrawingFeatures, Size};

use crate::metadata::Metadata;

/// The reason why a source cannot be read. The messages are for people and name no file, URL or library.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file is empty.
    #[error("The file is empty.")]
    NoBytes,
    /// The first bytes match no known format.
    #[error("The source has an unknown format. Supported formats: {known}.")]
    Unknown {
        /// The names of the known formats, as a list in a sentence.
        known: String,
    },
    /// The first bytes are those of a kind of file that is refused by name.
    #[error("{0}")]
    Refused(
        /// Sentences that name the kind of file and the alternative.
        &'static str,
    ),
    /// The format is known, but not this variant of it.
    #[error("This kind of {format} cannot be read: {reason}.")]
    Unsupported {
        /// The format's name.
        format: &'static str,
        /// The feature that is not read.
        reason: String,
    },
    /// The file is cut off or broken.
    #[error("The {format} is cut off or broken: {reason}.")]
    Corrupt {
        /// The format's name.
        format: &'static str,
        /// The decoder's finding.
        reason: String,
    },
    /// The library for PDF is not installed.
    #[error("PDF cannot be read: its library, PDFium, is missing.")]
    NoPdf,
    /// The document has a password.
    #[error("The PDF is encrypted: it needs a password.")]
    Encrypted,
    /// The page that the URL chooses is not in the document.
    #[error("The document has no page {page}: its last one is {last}.")]
    NoSuchPage {
        /// Number of the chosen page.
        page: u32,
        /// Number of the last page.
        last: u32,
    },
    /// The drawing uses features that only browsers know.
    #[error("The SVG needs a browser: {}.", .0.features)]
    NeedsBrowser(BrowserDrawing),
    /// A side is zero.
    #[error("The picture has no pixels.")]
    Empty,
    /// The picture has more pixels than the bounds allow.
    #[error("The picture has {}×{} pixels, more than the {pixels} allowed.", size.width, size.height)]
    TooManyPixels {
        /// The picture's size.
        size: Size,
        /// Maximum number of pixels allowed.
        pixels: u64,
    },
    /// The picture has more pixels than a file of its length may have.
    #[error(
        "The picture has {}×{} pixels, more than the {pixels} allowed for a file of its length.",
        size.width,
        size.height
    )]
    TooFewBytes {
        /// The picture's size.
        size: Size,
        /// Maximum number of pixels allowed.
        pixels: u64,
    },
    /// Decoding or drawing takes more work than allowed.
    #[error("The {format} is too complex: {reason}.")]
    TooComplex {
        /// The format's name.
        format: &'static str,
        /// The limit that it exceeds.
        reason: String,
    },
    /// A side is longer than the bounds allow.
    #[error("The picture has {}×{} pixels, more than the {side} allowed per side.", size.width, size.height)]
    TooLong {
        /// The picture's size.
        size: Size,
        /// Longest side allowed, in pixels.
        side: u32,
    },
    /// The picture has to be buffered, which takes more memory than the bounds allow.
    #[error(
        "The picture is too large: {reason} takes {} MiB of memory, and {} MiB are allowed.",
        bytes >> 20,
        memory >> 20
    )]
    TooMuchMemory {
        /// The use of the memory.
        reason: &'static str,
        /// Number of bytes needed.
        bytes: u64,
        /// Maximum number of bytes allowed.
        memory: u64,
    },
    /// A decoder ran out of memory.
    #[error("The picture takes more memory than is allowed for rendering.")]
    OutOfMemory,
    /// The unpacked file has more bytes than the bounds allow for a buffered format.
    #[error("The {format} is too large: it has more than {} MiB when unpacked.", bytes >> 20)]
    TooManyBytes {
        /// The format's name.
        format: &'static str,
        /// Maximum number of bytes allowed.
        bytes: u64,
    },
    /// The end of the file contradicts what was read while it arrived. The file has to be read again from the start.
    #[error("The source has to be read again, as a whole.")]
    NeedsWhole,
    /// The caller has [ended](crate::Cancel) the work.
    #[error("The work was cancelled.")]
    Cancelled,
    /// The file cannot be read.
    #[error("The source could not be read.")]
    Io(#[source] io::Error),
}

/// A drawing that a browser is to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BrowserDrawing {
    /// Its size in CSS pixels, rounded up.
    pub size: Size,
    /// The features that resvg does not know.
    pub features: DrawingFeatures,
    /// Its title and credits.
    pub metadata: Box<Metadata>,
}

impl From<io::Error> for SourceError {
    /// A thread without memory for its stack is not started. pthread_create(3) says `EAGAIN`, which a regular file
    /// never does.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => Self::OutOfMemory,
            _ => Self::Io(error),
        }
    }
}

impl SourceError {
    /// Returns the error for a file that is cut off or broken, with the decoder's finding.
    pub(crate) fn corrupt(format: &'static str, reason: impl Display) -> Self {
        Self::Corrupt { format, reason: clause(reason) }
    }

    /// Returns the error for a file that takes too much work, with the limit.
    #[cfg_attr(not(feature = "svg"), allow(dead_code))]
    pub(crate) fn too_complex(format: &'static str, reason: impl Display) -> Self {
        Self::TooComplex { format, reason: reason.to_string() }
    }

    /// Returns the error for a variant of a format that is not read.
    pub(crate) fn unsupported(format: &'static str, reason: impl Display) -> Self {
        Self::Unsupported { format, reason: clause(reason) }
    }
}

/// Maximum number of characters of a reason.
const REASON_CHARS: usize = 160;

/// Returns a reason as part of a sentence. Drops a library's full stop, because the message adds one. A long reason
/// quotes the file: its beginning is enough. A reason that only programmers understand is left out.
fn clause(reason: impl Display) -> String {
    let reason = reason.to_string();
    let reason = reason.trim_end_matches('.');
    if has_debug_text(reason) {
        return "its structure is invalid".to_owned();
    }
    match reason.char_indices().nth(REASON_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// Returns true if a text has values in the form of Rust's `Debug`, as `Some(3)` or `Point { x: 3 }`.
fn has_debug_text(text: &str) -> bool {
    let is_variant = |before: &str| {
        let name = before.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
        name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
    };
    let mut opened = text.match_indices('(').map(|(at, _)| &text[..at]);
    text.contains("{ ")
        || text.split_whitespace().skip(1).any(|word| word == "None")
        || opened.any(is_variant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_have_a_stack_is_out_of_memory() {
        let error = std::thread::Builder::new().stack_size(1 << 47).spawn(|| ()).unwrap_err();
        assert!(matches!(SourceError::from(error), SourceError::OutOfMemory));
    }

    #[test]
    fn a_reason_in_rusts_form_is_left_out() {
        for debug in [
            format!("Invalid HybridUintConfig: 1 2 {:?}", Some(3)),
            format!("Invalid HybridUintConfig: 1 2 {:?}", None::<u8>),
            format!("a wrong size: {:?}", Size { width: 1, height: 2 }),
            format!("it says {:?}", Err::<(), _>("no")),
        ] {
            let said = SourceError::corrupt("JPEG XL", debug).to_string();
            assert_eq!(said, "The JPEG XL is cut off or broken: its structure is invalid.");
        }
        for plain in
            ["it ends early", "its size (3 by 4) is wrong", "None of its rows is there", "the IDAT(s) differ"]
        {
            assert_eq!(clause(plain), plain);
        }
    }

    #[test]
    fn a_reason_that_quotes_much_of_a_file_is_truncated() {
        let said = SourceError::unsupported("HDR", format_args!("its pixels are {:?}", "é\u{3}".repeat(900)));
        let message = said.to_string();
        assert!(message.chars().count() < 200 && message.ends_with("…."), "{message}");
        assert_eq!(clause("it ends early."), "it ends early");
    }
}
