//! The name of the format, and its errors.

use hayro_jpeg2000::{DecodeError, DecodeSettings, FormatError};

use crate::SourceError;
use crate::error::FormatName;

/// The format's name.
pub const NAME: FormatName = FormatName("JPEG 2000");

/// How codestreams are decoded.
pub fn settings() -> DecodeSettings {
    DecodeSettings { strict: false, ..DecodeSettings::default() }
}

/// The error of the decoder as ours.
pub fn error(error: DecodeError) -> SourceError {
    match error {
        DecodeError::Format(FormatError::Unsupported) => {
            NAME.unsupported("it uses a part of the standard that is not read")
        }
        other => NAME.corrupt(other),
    }
}
