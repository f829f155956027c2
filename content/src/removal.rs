//! Why a content is removed. A takedown stands until the operator lifts it; a content that was deleted because it is not
//! used comes back when a client asks for it.

use serde::{Deserialize, Serialize};

use crate::title::one_line;

/// What has removed a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemovalKind {
    /// The operator has taken it down: it is not converted again before that is lifted.
    TakenDown,
    /// The operator has lifted a takedown.
    Lifted,
    /// It was not used, or the operator has deleted what is old.
    Unused,
}

/// A removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// What has removed the content.
    pub kind: RemovalKind,
    /// Why, as one line. Clients are told the reason of a takedown.
    pub reason: String,
    /// The id of the operator's action, under which the log has it once.
    pub action: String,
    /// Who has done it.
    pub by: String,
}

/// How many characters a reason may have. The rest is cut off.
const LONGEST_REASON: usize = 500;

impl Removal {
    /// A removal whose reason is one line of visible characters.
    #[must_use]
    pub fn new(kind: RemovalKind, reason: &str, action: String, by: String) -> Self {
        Self { kind, reason: one_line(reason, LONGEST_REASON).unwrap_or_default(), action, by }
    }
}
