//! A collection: a named set of pictures of one owner. Its contents have ids of their own, so that its words never reach
//! the content of a stranger who asks for the same URL.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Alternative, Credits, Finished, Title};

/// The name of a collection: 3 to 40 characters of `a-z`, `0-9` and `-`. The first and the last one are no `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CollectionName(String);

/// A text is not the name of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a collection has 3 to 40 characters of a-z, 0-9 and -, and begins and ends with a letter or digit"
)]
pub struct CollectionNameError;

/// The state of an entry of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryState {
    /// Its turn has not come.
    Waiting,
    /// A tiler converts it, or will soon.
    Converting,
    /// It can be viewed.
    Ready,
    /// Its conversion has failed.
    Failed,
    /// The owner has removed it.
    Removed,
    /// The operator has taken its content down.
    TakenDown,
}

/// The collection of a content, with what its owner says about the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The collection.
    pub collection: CollectionName,
    /// Title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// Alternative text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<Alternative>,
    /// Credits, without the alternative text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<Credits>,
}

impl CollectionName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl EntryState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Converting, Self::Ready, Self::Failed, Self::Removed, Self::TakenDown];

    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Converting => "converting",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::Removed => "removed",
            Self::TakenDown => "taken-down",
        }
    }
}

impl Membership {
    /// Puts the owner's title and credits before those that the source states.
    pub(crate) fn describe(&self, finished: &mut Finished) {
        if self.title.is_some() {
            finished.title.clone_from(&self.title);
        }
        if let Some(own) = self.credits.clone() {
            let stated = finished.credits.take().map(|credits| *credits).unwrap_or_default();
            finished.credits = own.or(stated).some().map(Box::new);
        }
    }
}

impl FromStr for CollectionName {
    type Err = CollectionNameError;

    fn from_str(text: &str) -> Result<Self, CollectionNameError> {
        let is_plain = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        let is_enclosed = !text.starts_with('-') && !text.ends_with('-');
        let is_name = (3..=40).contains(&text.len()) && is_plain && is_enclosed;
        is_name.then(|| Self(text.to_owned())).ok_or(CollectionNameError)
    }
}

impl fmt::Display for CollectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for CollectionName {
    type Error = CollectionNameError;

    fn try_from(text: String) -> Result<Self, CollectionNameError> {
        text.parse()
    }
}

impl From<CollectionName> for String {
    fn from(name: CollectionName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_their_names_in_json() {
        for state in EntryState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }

    #[test]
    fn a_name_is_short_and_plain() {
        for name in ["abc", "a-1", "drawings-2026", "0".repeat(40).as_str()] {
            assert_eq!(name.parse::<CollectionName>().map(|name| name.to_string()).as_deref(), Ok(name));
        }
        for name in ["", "ab", "-ab", "ab-", "Abc", "a_c", "a/c", "a.c", "äbc", "0".repeat(41).as_str()] {
            assert_eq!(name.parse::<CollectionName>(), Err(CollectionNameError), "{name}");
            assert!(serde_json::from_value::<CollectionName>(name.into()).is_err(), "{name}");
        }
    }
}
