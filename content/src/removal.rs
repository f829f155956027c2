//! Why a content is removed. A takedown stands until the operator lifts it. A content that its uploader has deleted
//! never comes back, and one that was deleted as unused does when a client asks for it.

use serde::{Deserialize, Deserializer, Serialize};

use crate::titles::one_line;

/// A kind of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemovalKind {
    /// The operator has taken the content down. It is not converted again until that is lifted.
    TakenDown,
    /// The operator has lifted a takedown.
    Lifted,
    /// The content was deleted because it was unused, or by the operator's purge of old ones.
    Unused,
    /// The client that uploaded the file has deleted the content.
    Deleted,
}

/// A removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Kind.
    pub kind: RemovalKind,
    /// Reason, as one line. Clients see that of a takedown. Only takedowns always have one.
    #[serde(deserialize_with = "reason")]
    pub reason: String,
    /// Id of the operator's action. The log records each action once.
    pub action: String,
    /// Name of the operator who did it, or `uploader`.
    pub by: String,
}

impl RemovalKind {
    /// Returns the name in JSON, in the operator's log and in histories.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TakenDown => "taken-down",
            Self::Lifted => "lifted",
            Self::Unused => "unused",
            Self::Deleted => "deleted",
        }
    }
}

/// Maximum number of characters of a reason. The rest is cut off.
const MAX_REASON: usize = 500;

impl Removal {
    /// Returns a removal whose reason is reduced to one line of visible characters.
    #[must_use]
    pub fn new(kind: RemovalKind, reason: &str, action: String, by: String) -> Self {
        Self { kind, reason: reduced(reason), action, by }
    }
}

fn reduced(reason: &str) -> String {
    one_line(reason, MAX_REASON).unwrap_or_default()
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|reason| reduced(&reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_is_read_with_its_reason_as_one_line() {
        for (kind, name) in [
            (RemovalKind::TakenDown, "taken-down"),
            (RemovalKind::Lifted, "lifted"),
            (RemovalKind::Unused, "unused"),
            (RemovalKind::Deleted, "deleted"),
        ] {
            let json =
                format!(r#"{{"kind":"{name}","reason":" a  reason\nin lines","action":"1","by":"anna"}}"#);
            let removal: Removal = serde_json::from_str(&json).unwrap();
            assert_eq!(removal, Removal::new(kind, "a reason in lines", "1".to_owned(), "anna".to_owned()));
            assert_eq!((removal.reason.as_str(), kind.name()), ("a reason in lines", name));
        }
    }
}
