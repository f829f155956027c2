//! The name of the format, and its errors.

use crate::SourceError;
use crate::error::FormatName;

/// The format's name.
pub const NAME: FormatName = FormatName("FITS");

/// The error for a file that is cut off.
pub fn too_short() -> SourceError {
    NAME.corrupt("it ends before its last row")
}
