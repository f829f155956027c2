//! What the edge has answered lately: that it is there, and how many tilers it counts.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What the edge has answered.
#[derive(Default)]
pub(super) struct Fleet(Mutex<Answer>);

#[derive(Clone, Copy, Default)]
struct Answer {
    tilers: Option<u32>,
    at: Option<Instant>,
}

impl Fleet {
    /// The edge has taken a report, and counts so many tilers. An older edge does not say.
    pub(super) fn answered(&self, tilers: Option<u32>, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Answer { tilers, at: Some(now) };
    }

    /// How many tilers share the queue: at least this one.
    pub(super) fn tilers(&self) -> u32 {
        self.get().tilers.unwrap_or(1).max(1)
    }

    /// When the edge answered last.
    pub(super) fn answered_at(&self) -> Option<Instant> {
        self.get().at
    }

    fn get(&self) -> Answer {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
