//! Reports the length of the queue to the edge, which creates no contents while it is over its limit. The edge responds
//! with the number of tilers. Each pull returns the queue's length. While nothing is pulled, the last length is
//! reported again, because the edge assumes an empty queue if no tiler reports.

use std::time::{Duration, Instant};

use tracing::warn;

use super::context::ServiceContext;

/// Shortest time between two reports.
const INTERVAL: Duration = Duration::from_secs(10);
/// Longest time between two reports, while nothing is pulled. The edge uses a report for two minutes.
const LONGEST_INTERVAL: Duration = Duration::from_secs(40);

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
