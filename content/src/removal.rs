//! Why a content is removed. A takedown stands until the operator lifts it. A content that its uploader has deleted never
//! comes back, and one that was deleted as unused does when a client asks for it.

use serde::{Deserialize, Serialize};

use crate::text::one_line;

/// A kind of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// A removal. It is stored as four lines: kind, action, author, reason. JSON would cost the Worker some kilobytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Removal {
    /// Kind.
    pub kind: RemovalKind,
    /// Reason, as one line. Clients see that of a takedown. Only takedowns always have one.
    pub reason: String,
    /// Id of the operator's action. The log records each action once.
    pub action: String,
    /// Name of the operator who did it, or `uploader`.
    pub by: String,
}

impl RemovalKind {
    const ALL: [Self; 4] = [Self::TakenDown, Self::Lifted, Self::Unused, Self::Deleted];

    /// Returns the name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TakenDown => "taken-down",
            Self::Lifted => "lifted",
            Self::Unused => "unused",
            Self::Deleted => "deleted",
        }
    }

    /// Returns the kind with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Maximum number of characters of a reason. The rest is cut off.
const MAX_REASON: usize = 500;

impl Removal {
    /// Returns a removal whose reason is reduced to one line of visible characters.
    #[must_use]
    pub fn new(kind: RemovalKind, reason: &str, action: String, by: String) -> Self {
        Self { kind, reason: one_line(reason, MAX_REASON).unwrap_or_default(), action, by }
    }
}

impl From<Removal> for String {
    fn from(Removal { kind, reason, action, by }: Removal) -> Self {
        [kind.name(), &action, &by, &reason].join("\n")
    }
}

impl TryFrom<String> for Removal {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut lines = text.splitn(4, '\n');
        let mut line = || lines.next().ok_or("a removal has four lines");
        let kind = RemovalKind::from_name(line()?).ok_or("not the name of a removal")?;
        let (action, by) = (line()?.to_owned(), line()?.to_owned());
        Ok(Self::new(kind, line()?, action, by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_is_read_back_as_it_was_written() {
        for kind in RemovalKind::ALL {
            for reason in ["", "a  reason\nin lines"] {
                let removal = Removal::new(kind, reason, "1".to_owned(), "anna".to_owned());
                assert_eq!(Removal::try_from(String::from(removal.clone())), Ok(removal));
            }
        }
        for text in ["", "taken-down", "taken-down\n1\nanna", "lost\n1\nanna\nwhy"] {
            assert!(Removal::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }
}
