//! The last states of a conversion, for the operator who asks what became of a content.

use super::{Conversion, State};
use crate::Timestamp;

/// How many states are kept. The object stores them with each report of a tiler.
const MOST: usize = 20;

impl Conversion {
    /// The last states, a line each, the latest at the end: since when, in milliseconds since the Unix epoch, and the state in
    /// words. `claimed 2` is the second attempt's, `failed source-not-found` has the failure's code. A text, because a list
    /// of objects would cost the Worker some kilobytes.
    #[must_use]
    pub fn history(&self) -> &str {
        &self.history
    }

    /// Adds the present state if it is another one.
    pub(super) fn note(&mut self, now: Timestamp) {
        let state = self.state.in_words();
        let last = self.history.lines().next_back().and_then(|line| line.split_once(' '));
        if last.is_some_and(|(_, last)| last == state) {
            return;
        }
        if self.history.lines().count() >= MOST
            && let Some((_, rest)) = self.history.split_once('\n')
        {
            self.history = rest.to_owned();
        }
        self.history.push_str(&format!("{} {state}\n", now.0));
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
            Self::Removed { removal, .. } => removal.kind.name().to_owned(),
        }
    }
}
