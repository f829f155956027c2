//! What the pull loop last met, for `/health`.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The state of the pull loop.
#[derive(Default)]
pub(super) struct PullMonitor(Mutex<PullState>);

/// The state of the pull loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum PullState {
    /// The queue has not answered yet.
    #[default]
    NeverPulled,
    /// The queue answered last at this time.
    Pulled(Instant),
    /// All slots are taken: nothing is pulled until a job ends.
    AtCapacity,
}

impl PullMonitor {
    /// The queue has answered.
    pub(super) fn pulled(&self) {
        self.set(PullState::Pulled(Instant::now()));
    }

    /// All slots are taken.
    pub(super) fn at_capacity(&self) {
        self.set(PullState::AtCapacity);
    }

    fn set(&self, state: PullState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// The state now.
    pub(super) fn get(&self) -> PullState {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
