//! Why a conversion failed: a code for programs, from a closed list, and a sentence for people.
//!
//! This file is where a code is added. The compiler asks for its place in [`FailureCode::ALL`], its name and whether it is a limit;
//! `edge/tests/failure_codes.rs` asks for its words in the viewer and its entry in the description of the interface.
//! The edge is deployed before the tilers that send the code (docs/operations/guide.md).

use serde::{Deserialize, Serialize};

/// Why a conversion failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure, for programs.
    pub code: FailureCode,
    /// A sentence for people. It names no internal address, path or host.
    pub message: String,
}

/// The kinds of failure. The list is part of the interface and closed.
///
/// A name that this version does not have is read as [`FailureCode::Internal`]: a tiler of a newer version sent it, and
/// its message is still right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum FailureCode {
    /// The source's host responds that the URL does not exist (404, 410).
    SourceNotFound,
    /// The host does not resolve, refuses the connection, breaks it off, or responds with an error of its own (5xx).
    SourceUnreachable,
    /// The source needs a login or a password (401, 403), or its address may not be connected to.
    SourceForbidden,
    /// The source's publisher excludes this service: by robots.txt, or by a reservation that the operator honours.
    SourceExcluded,
    /// The source has more bytes than the limit.
    SourceTooLarge,
    /// The source is not a picture, document or page that can be rendered.
    UnsupportedFormat,
    /// The source is of a known format but cannot be decoded: truncated or broken.
    CorruptSource,
    /// The picture is larger than the limits, in pixels or by a side.
    TooManyPixels,
    /// Rendering takes more computing than the limits allow for a source of its size.
    TooComplex,
    /// Downloading or rendering took longer than the limit.
    TimedOut,
    /// A fault of the service. Stays the last one: the length of [`FailureCode::ALL`] is counted by it.
    Internal,
}

impl Failure {
    /// A failure with a sentence for people.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl FailureCode {
    /// All codes, in the order in which they are documented.
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
        Self::Internal,
    ];

    /// The name in JSON and XML.
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
            Self::Internal => "internal",
        }
    }

    /// Whether the source exceeds a limit of the service. Any other failure is one that the source's owner, or the
    /// service, may have mended soon.
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
    fn each_code_is_read_by_its_name() {
        for (place, code) in FailureCode::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, place, "{code:?} is listed once, in the order of the variants");
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
    }
}
