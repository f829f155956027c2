//! The errors of TIFF files, and the name that stands in them.

use crate::SourceError;

/// The format's name.
pub const NAME: &str = "TIFF";

/// The error for a file that has fewer bytes than it says.
pub fn too_early() -> SourceError {
    SourceError::corrupt(NAME, "it ends too early")
}

/// The error for a strip or tile that its decoder cannot read.
pub fn undecodable() -> SourceError {
    SourceError::corrupt(NAME, "a strip or tile cannot be decoded")
}
