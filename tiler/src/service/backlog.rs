//! Reports the length of the queue to the edge, which creates no contents while it is over its limit. Each pull returns
//! that length. While all slots are taken nothing is pulled: then the last length is reported again, because the edge
//! takes the queue for empty when no tiler reports.

use std::time::Duration;

use edgezoom_content::protocol::Backlog;
use tokio::sync::watch;
use tracing::warn;

use super::ServiceContext;

/// The shortest time between two reports. The edge uses a report for two minutes.
const INTERVAL: Duration = Duration::from_secs(10);

/// The length of the queue at the last pull.
pub(super) struct LatestBacklog(watch::Sender<Backlog>);

impl Default for LatestBacklog {
    fn default() -> Self {
        Self(watch::Sender::new(Backlog { messages: 0 }))
    }
}

impl LatestBacklog {
    /// Sets the length.
    pub(super) fn set(&self, messages: u64) {
        self.0.send_replace(Backlog { messages });
    }
}

/// Reports until the service shuts down.
pub(super) async fn keep_reporting(context: &ServiceContext) {
    let mut latest = context.backlog.0.subscribe();
    loop {
        let all_slots_taken = context.running() == context.capacity;
        tokio::select! {
            () = context.shutdown.cancelled() => return,
            _ = latest.changed() => {}
            () = tokio::time::sleep(INTERVAL), if all_slots_taken => {}
        }
        let backlog = *latest.borrow_and_update();
        if let Err(error) = context.edge.report_backlog(&backlog).await {
            warn!(%error, "the length of the queue cannot be reported to the edge");
        }
        tokio::select! {
            () = context.shutdown.cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}
