//! The failures that a renderer process reports to its parent. They are never tried again: another process would report
//! the same.

use edgezoom_codecs::SourceError;
use edgezoom_content::{Failure, FailureCode};
use edgezoom_pyramid::BuildError;

/// Returns the failure of a build.
#[must_use]
pub(super) fn of_build(error: &BuildError) -> Failure {
    match error {
        BuildError::Source(error) => of_source(error),
        BuildError::Output(_) | BuildError::Thread => {
            Failure::new(FailureCode::Internal, "The tiles could not be produced.")
        }
    }
}

/// Returns the failure of a source that cannot be read.
#[must_use]
pub fn of_source(error: &SourceError) -> Failure {
    let code = match error {
        SourceError::Unknown { .. }
        | SourceError::Refused(_)
        | SourceError::Unsupported { .. }
        | SourceError::NoPdf
        | SourceError::NeedsBrowser(_) => FailureCode::UnsupportedFormat,
        SourceError::Encrypted => FailureCode::SourceForbidden,
        SourceError::NoSuchPage { .. } => FailureCode::SourceNotFound,
        SourceError::NoBytes | SourceError::Corrupt { .. } | SourceError::Empty => FailureCode::CorruptSource,
        SourceError::TooManyPixels { .. }
        | SourceError::TooFewBytes { .. }
        | SourceError::TooLong { .. }
        | SourceError::TooMuchMemory { .. }
        | SourceError::OutOfMemory => FailureCode::TooManyPixels,
        SourceError::TooComplex { .. } => FailureCode::TooComplex,
        SourceError::TooManyBytes { .. } => FailureCode::SourceTooLarge,
        SourceError::NeedsWhole | SourceError::Cancelled | SourceError::Io(_) => FailureCode::Internal,
    };
    Failure::new(code, error.to_string())
}
