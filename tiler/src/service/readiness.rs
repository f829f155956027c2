//! Whether a tiler takes jobs: the queue and the edge have taken its tokens and answered lately, and it does not stop. Health is
//! something else: a tiler that finishes its last jobs is healthy, and not ready. Pure: the clock comes in as an argument.

use std::time::{Duration, Instant};

use super::pull_monitor::PullState;

/// Whether a tiler takes jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// The queue or the edge has not answered yet.
    Starting,
    /// It finishes its jobs or hands them back, and ends.
    Stopping,
    QueueOutOfReach,
    EdgeOutOfReach,
}

/// How long the queue or the edge may be silent: two of the longest pauses between pulls, and between reports.
const MOST_SILENCE: Duration = Duration::from_secs(90);

impl Readiness {
    /// `edge` is when the edge answered last.
    pub(super) fn of(is_stopping: bool, queue: PullState, edge: Option<Instant>, now: Instant) -> Self {
        let is_silent = |since| now.saturating_duration_since(since) > MOST_SILENCE;
        match (queue, edge) {
            _ if is_stopping => Self::Stopping,
            (PullState::NeverPulled, _) | (_, None) => Self::Starting,
            (PullState::Pulled(at), _) if is_silent(at) => Self::QueueOutOfReach,
            (_, Some(at)) if is_silent(at) => Self::EdgeOutOfReach,
            (PullState::Pulled(_) | PullState::AtCapacity, Some(_)) => Self::Ready,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Starting => "starting",
            Self::Stopping => "stopping",
            Self::QueueOutOfReach => "the queue is out of reach",
            Self::EdgeOutOfReach => "the edge is out of reach",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_a_tiler_whose_queue_and_edge_answer_and_that_does_not_stop() {
        use Readiness::*;
        let at = Instant::now();
        let now = at + Duration::from_secs(100);
        let lately = now - Duration::from_secs(50);
        for (is_stopping, queue, edge, expected) in [
            (false, PullState::NeverPulled, None, Starting),
            (false, PullState::NeverPulled, Some(lately), Starting),
            (false, PullState::Pulled(lately), None, Starting),
            (false, PullState::Pulled(lately), Some(lately), Ready),
            (false, PullState::AtCapacity, Some(lately), Ready),
            (false, PullState::Pulled(at), Some(lately), QueueOutOfReach),
            (false, PullState::Pulled(lately), Some(at), EdgeOutOfReach),
            (false, PullState::AtCapacity, Some(at), EdgeOutOfReach),
            (true, PullState::Pulled(lately), Some(lately), Stopping),
            (true, PullState::NeverPulled, None, Stopping),
        ] {
            assert_eq!(Readiness::of(is_stopping, queue, edge, now), expected, "{queue:?} {edge:?}");
        }
    }
}
