//! Why a content is removed. A takedown stands until the operator lifts it; a content that was deleted because it is not
//! used comes back when a client asks for it.

use serde::{Deserialize, Serialize};

use crate::title::one_line;

/// What has removed a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalKind {
    /// The operator has taken it down: it is not converted again before that is lifted.
    TakenDown,
    /// The operator has lifted a takedown.
    Lifted,
    /// It was not used, or the operator has deleted what is old.
    Unused,
}

/// A removal. It is kept as lines: the kind, the action, who, and why. As JSON, it would cost the Worker some kilobytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

impl RemovalKind {
    /// The name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TakenDown => "taken-down",
            Self::Lifted => "lifted",
            Self::Unused => "unused",
        }
    }

    /// The kind with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::TakenDown, Self::Lifted, Self::Unused].into_iter().find(|kind| kind.name() == name)
    }
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
    fn a_removal_reads_back_as_it_was_kept() {
        for kind in [RemovalKind::TakenDown, RemovalKind::Lifted, RemovalKind::Unused] {
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
