//! The name of the format, and its errors.

use ::png::DecodingError;

use crate::SourceError;
use crate::error::FormatName;

/// The format's name.
pub const NAME: FormatName = FormatName("PNG");

/// The error of the decoder as ours.
pub fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::LimitsExceeded => NAME.unsupported("its rows or its metadata are too long"),
        DecodingError::IoError(_) => NAME.corrupt("it ends before its last row"),
        other => NAME.corrupt(other),
    }
}
