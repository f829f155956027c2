//! What clients should know about a content that is ready all the same: that its source is damaged, and part of it missing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::title::one_line;

/// A sentence for people as one short line, without characters that are invisible or change the direction of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Warning(String);

impl Warning {
    /// How many characters a warning may have. The rest is cut off.
    pub const MAX_LENGTH: usize = 300;

    /// The warning with this text; `None` when it has no visible characters.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        one_line(text, Self::MAX_LENGTH).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
