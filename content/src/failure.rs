//! Why a conversion failed: a code for programs, from a closed list, and a sentence for people.
//!
//! To add a code, begin here. The compiler asks for its place in [`FailureCode::ALL`], its name and whether it is a
//! limit; `edge/src/tests/failure_codes.rs` asks for its words in the viewer and its entry in the OpenAPI document. The
//! edge is deployed before the tilers that send the code (docs/operations/guide.md).

use serde::{Deserialize, Serialize};

use crate::titles::one_line;

/// Why a conversion failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Kind of failure, for programs.
    pub code: FailureCode,
    /// Sentence for people. It names no internal address, path or host.
    pub message: String,
}

/// The kinds of failure. The list is closed and part of the API.
///
/// An unknown name, from a tiler of a newer version, is read as [`FailureCode::Internal`]; the message still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum FailureCode {
    /// The source's host responds that the URL does not exist (404, 410).
    SourceNotFound,
    /// The host does not resolve, refuses or breaks off the connection, or responds with a server error (5xx).
    SourceUnreachable,
    /// The source needs a login (401, 403), or the address policy refuses it.
    SourceForbidden,
    /// The source's publisher excludes this service by robots.txt.
    SourceExcluded,
    /// The source has more bytes than the limit.
    SourceTooLarge,
    /// The source is not a picture, document or page that can be rendered.
    UnsupportedFormat,
    /// The file is empty, or its format is known but it is truncated or broken.
    CorruptSource,
    /// The picture exceeds the limit of pixels or of a side.
    TooManyPixels,
    /// Rendering takes more processor time than a source of its size may take.
    TooComplex,
    /// Downloading or rendering took longer than the limit.
    TimedOut,
    /// No element of the web page matches a selector in the request's options, or the selector is not one.
    NoSuchElement,
    /// A fault of the service. It stays the last variant: the length of [`FailureCode::ALL`] follows from it.
    Internal,
}

impl Failure {
    /// Returns a failure with a sentence for people.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Returns the sentence as one line without characters that are invisible or change the direction of the text
    /// around them: it may quote the source.
    #[must_use]
    pub fn line(&self) -> String {
        one_line(&self.message, 300).unwrap_or_default()
    }
}

impl FailureCode {
    /// All codes, in the order of the documentation.
    pub const ALL: [Self; Self::Internal as usize + 1] = [
        Self::SourceNotFound,
        Self::SourceUnreachable,
        Self::SourceForbidden,
        Self::SourceExcluded,
        Self::SourceTooLarge,
        Self::UnsupportedFormat,
        Self::CorruptSource,
        Self::TooManyPixels,
        Self::TooComplex,
        Self::TimedOut,
        Self::NoSuchElement,
        Self::Internal,
    ];

    /// Returns the name in JSON and XML.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SourceNotFound => "source-not-found",
            Self::SourceUnreachable => "source-unreachable",
            Self::SourceForbidden => "source-forbidden",
            Self::SourceExcluded => "source-excluded",
            Self::SourceTooLarge => "source-too-large",
            Self::UnsupportedFormat => "unsupported-format",
            Self::CorruptSource => "corrupt-source",
            Self::TooManyPixels => "too-many-pixels",
            Self::TooComplex => "too-complex",
            Self::TimedOut => "timed-out",
            Self::NoSuchElement => "no-such-element",
            Self::Internal => "internal",
        }
    }

    /// Returns true if the source exceeds a limit of the service. Any other cause may be removed soon, by the source's
    /// owner or by the service's operator.
    #[must_use]
    pub fn is_over_a_limit(self) -> bool {
        match self {
            Self::SourceTooLarge | Self::TooManyPixels | Self::TooComplex => true,
            Self::SourceNotFound
            | Self::SourceUnreachable
            | Self::SourceForbidden
            | Self::SourceExcluded
            | Self::UnsupportedFormat
            | Self::CorruptSource
            | Self::TimedOut
            | Self::NoSuchElement
            | Self::Internal => false,
        }
    }
}

impl From<String> for FailureCode {
    fn from(name: String) -> Self {
        Self::ALL.into_iter().find(|code| code.name() == name).unwrap_or(Self::Internal)
    }
}

impl From<FailureCode> for &'static str {
    fn from(code: FailureCode) -> Self {
        code.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_by_its_name() {
        for (place, code) in FailureCode::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, place, "{code:?} is not in the order of the variants");
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(json, format!("\"{}\"", code.name()));
            assert_eq!(serde_json::from_str::<FailureCode>(&json).unwrap(), code);
        }
    }

    #[test]
    fn a_code_of_a_newer_version_is_internal_and_keeps_its_message() {
        let failure: Failure =
            serde_json::from_str(r#"{"code":"of-a-newer-tiler","message":"It moved."}"#).unwrap();
        assert_eq!(failure, Failure::new(FailureCode::Internal, "It moved."));
        assert_eq!(Failure::new(FailureCode::Internal, "A\n\u{202e} \0b").line(), "A b");
    }
}
