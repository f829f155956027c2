//! Why a conversion failed, in a closed list of codes for programs and a sentence for people.

use std::time::Duration;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// The source's host answers that there is nothing at the URL (404, 410).
    SourceNotFound,
    /// The host does not resolve, refuses the connection, breaks it off, or answers with an error of its own (5xx).
    SourceUnreachable,
    /// The source needs a login or a password (401, 403), or its address may not be connected to.
    SourceForbidden,
    /// The source has more bytes than the limit.
    SourceTooLarge,
    /// The source is no picture, document or page that can be rendered.
    UnsupportedFormat,
    /// The source is of a known format but cannot be decoded: truncated or broken.
    CorruptSource,
    /// The picture is larger than the limits, in pixels or by a side.
    TooManyPixels,
    /// Downloading or rendering took longer than the limit.
    TimedOut,
    /// The fault is ours.
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
    pub const ALL: [Self; 9] = [
        Self::SourceNotFound,
        Self::SourceUnreachable,
        Self::SourceForbidden,
        Self::SourceTooLarge,
        Self::UnsupportedFormat,
        Self::CorruptSource,
        Self::TooManyPixels,
        Self::TimedOut,
        Self::Internal,
    ];

    /// How long the failure is answered before an ask starts a new conversion: an hour when it may pass by itself, a day
    /// when the source would have to change.
    #[must_use]
    pub fn retry_after(self) -> Duration {
        match self {
            Self::SourceUnreachable | Self::TimedOut | Self::Internal => Duration::from_secs(60 * 60),
            Self::SourceNotFound
            | Self::SourceForbidden
            | Self::SourceTooLarge
            | Self::UnsupportedFormat
            | Self::CorruptSource
            | Self::TooManyPixels => Duration::from_secs(24 * 60 * 60),
        }
    }
}
