//! The errors of TIFF files, and the name that stands in them.

use ::tiff::TiffError;

use crate::SourceError;

/// The format's name.
pub const NAME: &str = "TIFF";

/// What went wrong in the `tiff` crate.
pub fn error(error: TiffError) -> SourceError {
    match error {
        TiffError::UnsupportedError(error) => SourceError::unsupported(NAME, error),
        TiffError::LimitsExceeded => {
            SourceError::unsupported(NAME, "its strips, tiles or tables are too large")
        }
        TiffError::IoError(_) => SourceError::corrupt(NAME, "it ends too early"),
        other => SourceError::corrupt(NAME, other),
    }
}
