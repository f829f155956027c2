//! The last states of a conversion, for the operator who asks what became of a content.

use serde::{Deserialize, Serialize};

use super::{Conversion, State};
use crate::{RemovalKind, Timestamp};

/// A state, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Since when.
    pub at: Timestamp,
    /// The state in words: `claimed 2` is the second attempt's, `failed source-not-found` has the failure's code.
    pub state: String,
}

/// How many states are kept. The object stores them with each report of a tiler.
const MOST: usize = 20;

impl Conversion {
    /// The last states, the latest at the end.
    #[must_use]
    pub fn history(&self) -> &[Moment] {
        &self.history
    }

    /// Adds the present state if it is another one.
    pub(super) fn note(&mut self, now: Timestamp) {
        let state = self.state.in_words();
        if self.history.last().is_some_and(|last| last.state == state) {
            return;
        }
        if self.history.len() >= MOST {
            self.history.remove(0);
        }
        self.history.push(Moment { at: now, state });
    }
}

impl State {
    fn in_words(&self) -> String {
        match self {
            Self::Queued { .. } => "queued".to_owned(),
            Self::Claimed { attempt, .. } => format!("claimed {attempt}"),
            Self::Waiting { by, .. } => format!("waiting {by}"),
            Self::Ready { attempt, .. } => format!("ready {attempt}"),
            Self::Failed { failure, .. } => format!("failed {}", failure.code.name()),
            Self::Removed { removal, .. } => match removal.kind {
                RemovalKind::TakenDown => "taken-down".to_owned(),
                RemovalKind::Lifted => "lifted".to_owned(),
                RemovalKind::Unused => "unused".to_owned(),
            },
        }
    }
}
