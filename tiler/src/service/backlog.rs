//! Reports the length of the queue to the edge, which creates no contents while it is over its limit, and answers how many
//! tilers there are. Each pull returns that length. While nothing is pulled the last length is reported again, because the
//! edge takes the queue for empty when no tiler reports.

use std::time::{Duration, Instant};

use tracing::warn;

use super::context::ServiceContext;

/// The shortest time between two reports.
const INTERVAL: Duration = Duration::from_secs(10);
/// The longest time, when nothing is pulled. The edge uses a report for two minutes.
const LONGEST_INTERVAL: Duration = Duration::from_secs(40);

/// Reports until the service stops.
pub(super) async fn keep_reporting(context: &ServiceContext) {
    let mut latest = context.backlog.subscribe();
    let mut reports = 0;
    loop {
        let all_slots_taken = context.running() == context.capacity;
        let longest = if all_slots_taken { INTERVAL } else { LONGEST_INTERVAL };
        tokio::select! {
            () = context.stopping.cancelled() => return,
            changed = latest.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(longest), if reports > 0 => {}
        }
        let backlog = *latest.borrow_and_update();
        match context.edge.report_backlog(&backlog).await {
            Ok(tilers) => context.fleet.answered(tilers, Instant::now()),
            Err(error) => warn!(%error, "the length of the queue cannot be reported to the edge"),
        }
        reports += 1;
        tokio::select! {
            () = context.stopping.cancelled() => return,
            () = tokio::time::sleep(pause_after(reports)) => {}
        }
    }
}

/// The pause after so many reports: the first ones come soon after each other, because tilers that begin together learn by
/// them how many they are.
pub(super) fn pause_after(reports: u32) -> Duration {
    Duration::from_secs(1 << reports.saturating_sub(1).min(4)).min(INTERVAL)
}
