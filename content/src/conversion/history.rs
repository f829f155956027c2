//! Records of past states: their durations, for metrics, and the names of the last ones, for the operator who asks
//! what happened to a content.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Conversion, State};
use crate::{Attempt, ContentId, FailureCode, Timestamp};

/// Maximum number of states in [`Conversion::history`], which is stored at each report of a tiler.
const MAX_STATES: usize = 20;
/// Time after which a job that no tiler has claimed waits: until then, a stream shows at once when one does.
const FOLLOWED: Duration = Duration::from_secs(10);

/// A state by its name, with the attempt and the failure code that it has. Progress does not change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// `queued`, `claimed`, `waiting`, `ready`, `failed` or `removed`.
    pub name: &'static str,
    /// Attempt under way, or the one that led here.
    pub attempt: Option<Attempt>,
    /// Code of the failure.
    pub code: Option<FailureCode>,
}

/// The times at which a conversion was asked for and entered its present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Times {
    asked: Timestamp,
    since: Timestamp,
}

impl Times {
    /// Returns the times of a conversion that begins.
    pub(super) fn beginning(now: Timestamp) -> Self {
        Self { asked: now, since: now }
    }

    /// Returns the time until which a new job counts as one that starts at once.
    pub(super) fn followed_until(&self) -> Timestamp {
        self.asked + FOLLOWED
    }
}

/// A change of a conversion's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The content.
    pub id: ContentId,
    /// Name of the state before; `none` for a new conversion.
    pub from: &'static str,
    /// The new state.
    pub to: Step,
    /// Seconds in the state before.
    pub seconds: f64,
    /// Seconds since the conversion was created or started over.
    pub since_asked: f64,
}

impl Change {
    /// Returns the change between two states at `now`, if they differ in more than progress.
    #[must_use]
    pub fn between(before: Option<&Conversion>, after: &Conversion, now: Timestamp) -> Option<Self> {
        let to = after.step();
        if before.is_some_and(|before| before.step() == to) {
            return None;
        }
        let seconds = |since: Timestamp| (now - since).as_secs_f64();
        Some(Self {
            id: after.id,
            from: before.map_or("none", |before| before.step().name),
            to,
            seconds: before.map_or(0.0, |before| seconds(before.times.since)),
            since_asked: seconds(after.times.asked),
        })
    }
}

impl Conversion {
    /// Returns the state by its name.
    #[must_use]
    pub fn step(&self) -> Step {
        let (name, attempt, code) = match &self.state {
            State::Queued { .. } => ("queued", None, None),
            State::Claimed { attempt, .. } => ("claimed", Some(*attempt), None),
            State::Waiting { by, .. } => ("waiting", Some(*by), None),
            State::Ready { attempt, .. } => ("ready", Some(*attempt), None),
            State::Failed { by, failure, .. } => ("failed", *by, Some(failure.code)),
            State::Removed { .. } => ("removed", None, None),
        };
        Step { name, attempt, code }
    }

    /// Returns the last states, one per line, the latest last: the time in milliseconds since the Unix epoch, and the
    /// state. `claimed 2` has the attempt's number, `failed source-not-found` the failure's code. A list of objects
    /// instead of a text would cost the Worker some kilobytes.
    #[must_use]
    pub fn history(&self) -> &str {
        &self.history
    }

    /// Notes the present state if it is new. `before` is the state before the event, with its times.
    pub(super) fn note(&mut self, before: Option<(Step, Times)>, now: Timestamp) {
        if before.is_none_or(|(step, _)| step != self.step()) {
            let asked = match before {
                Some((Step { name: "claimed" | "waiting" | "queued", .. }, times)) => times.asked,
                _ => now,
            };
            self.times = Times { asked, since: now };
        }
        let state = self.state.in_words();
        let last = self.history.lines().next_back().and_then(|line| line.split_once(' '));
        if last.is_some_and(|(_, last)| last == state) {
            return;
        }
        if self.history.lines().count() >= MAX_STATES
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
