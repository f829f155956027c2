//! The name of the format, and its errors.

use crate::error::FormatName;

/// The format's name.
pub const NAME: FormatName = FormatName("OpenEXR");
