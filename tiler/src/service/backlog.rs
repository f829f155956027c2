//! Reports the length of the queue to the edge, which creates no contents while it is over its limit. Each pull returns
//! that length. While all slots are taken nothing is pulled: then the last length is reported again, because the edge
//! takes the queue for empty when no tiler reports.

use std::time::Duration;

use tracing::warn;

use super::context::ServiceContext;

/// The shortest time between two reports. The edge uses a report for two minutes.
const INTERVAL: Duration = Duration::from_secs(10);

/// Reports until the service shuts down.
pub(super) async fn keep_reporting(context: &ServiceContext) {
    let mut latest = context.backlog.subscribe();
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
