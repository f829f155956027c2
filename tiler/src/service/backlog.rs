//! Reports the length of the queue to the edge, which creates no contents while it is over its limit. The edge responds with
//! the number of tilers. Each pull returns the queue's length. While nothing is pulled, the last length is reported again,
//! because the edge assumes an empty queue if no tiler reports.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use edgezoom_content::protocol::{Backlog, Capacity, TilerId};
use tokio::sync::watch;
use tracing::warn;

use super::context::ServiceContext;

/// Shortest time between two reports.
const INTERVAL: Duration = Duration::from_secs(10);
/// Longest time between two reports, while nothing is pulled. The edge uses a report for two minutes.
const LONGEST_INTERVAL: Duration = Duration::from_secs(40);

/// The length of the queue at the last pull, and the capacity of this tiler.
pub(super) struct LatestBacklog(watch::Sender<Backlog>);

impl LatestBacklog {
    pub(super) fn new(tiler: TilerId, jobs: NonZeroUsize) -> Self {
        let capacity = Capacity { tiler, slots: jobs.get().try_into().unwrap_or(u32::MAX) };
        Self(watch::Sender::new(Backlog { messages: 0, capacity: Some(capacity) }))
    }

    /// Sets the length of the queue.
    pub(super) fn set(&self, messages: u64) {
        self.0.send_modify(|backlog| backlog.messages = messages);
    }

    /// Returns a receiver that is notified of each new length.
    pub(super) fn subscribe(&self) -> watch::Receiver<Backlog> {
        self.0.subscribe()
    }
}

/// The edge's last response to a report.
#[derive(Default)]
pub(super) struct Fleet(Mutex<Answer>);

#[derive(Clone, Copy, Default)]
struct Answer {
    tilers: Option<u32>,
    at: Option<Instant>,
}

impl Fleet {
    /// Records a response. An older edge does not include the number of tilers.
    pub(super) fn answered(&self, tilers: Option<u32>, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Answer { tilers, at: Some(now) };
    }

    /// Returns the number of tilers that share the queue; at least 1.
    pub(super) fn tilers(&self) -> u32 {
        self.get().tilers.unwrap_or(1).max(1)
    }

    /// Returns the time of the last response.
    pub(super) fn answered_at(&self) -> Option<Instant> {
        self.get().at
    }

    fn get(&self) -> Answer {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports until the service stops.
pub(super) async fn keep_reporting(context: &ServiceContext) {
    let mut latest = context.backlog.subscribe();
    let mut reports = 0;
    loop {
        let all_slots_taken = context.running() == context.capacity();
        let longest = if all_slots_taken { INTERVAL } else { LONGEST_INTERVAL };
        tokio::select! {
            () = context.stopping.cancelled() => return,
            changed = latest.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(longest), if reports > 0 => {}
        }
        let backlog = *latest.borrow_and_update();
        match context.edge.report_backlog(&backlog).await {
            Ok(tilers) => context.fleet.answered(tilers, Instant::now()),
            Err(error) => warn!(%error, "cannot report the queue's length to the edge"),
        }
        reports += 1;
        tokio::select! {
            () = context.stopping.cancelled() => return,
            () = tokio::time::sleep(pause_after(reports)) => {}
        }
    }
}

/// Returns the pause after a number of reports. The first ones follow quickly, because tilers that start together learn
/// their number from the responses.
pub(super) fn pause_after(reports: u32) -> Duration {
    Duration::from_secs(1 << reports.saturating_sub(1).min(4)).min(INTERVAL)
}
