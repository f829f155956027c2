//! What is measured of a conversion: how it came from one state into the next, and how long it was in the one before.

use serde::{Deserialize, Serialize};

use super::{Conversion, State};
use crate::{Attempt, ContentId, FailureCode, Timestamp};

/// A state by its name, with the attempt and the failure that it has. Progress changes none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// `queued`, `claimed`, `waiting`, `ready`, `failed` or `removed`.
    pub name: &'static str,
    /// The attempt that has led here, or is under way.
    pub attempt: Option<Attempt>,
    /// Why it failed.
    pub code: Option<FailureCode>,
}

/// When a conversion was asked for, and came into its present state. One that an older version stored knows neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Times {
    asked: Timestamp,
    since: Timestamp,
}

/// A conversion came into another state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The content.
    pub id: ContentId,
    /// The state before: its name, or `none` for a conversion that is new.
    pub from: &'static str,
    /// The state now.
    pub to: Step,
    /// How many seconds it was in the state before.
    pub seconds: f64,
    /// How many seconds ago it was asked for: created, or started over.
    pub since_asked: f64,
}

impl Times {
    /// The times of a conversion that comes from one state to another at `now`.
    pub(super) fn after(known: Option<(Step, Option<Self>)>, now: Timestamp) -> Self {
        let asked = match known {
            Some((Step { name: "claimed" | "waiting" | "queued", .. }, Some(times))) => times.asked,
            _ => now,
        };
        Self { asked, since: now }
    }
}

impl Conversion {
    /// The state by its name.
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
}

impl Change {
    /// The change between two states at `now`, if they differ in more than their progress.
    #[must_use]
    pub fn between(before: Option<&Conversion>, after: &Conversion, now: Timestamp) -> Option<Self> {
        let to = after.step();
        if before.is_some_and(|before| before.step() == to) {
            return None;
        }
        let seconds = |since: Option<Timestamp>| since.map_or(0.0, |since| (now - since).as_secs_f64());
        Some(Self {
            id: after.id,
            from: before.map_or("none", |before| before.step().name),
            to,
            seconds: seconds(before.and_then(|before| before.times).map(|times| times.since)),
            since_asked: seconds(after.times.map(|times| times.asked)),
        })
    }
}
