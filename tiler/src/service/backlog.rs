//! Reports the length of the queue to the edge, which creates no contents while it is over its limit. The edge responds
//! with the number of tilers. Each pull returns the queue's length. While nothing is pulled, the last length is
//! reported again, because the edge assumes an empty queue if no tiler reports. A tiler that takes no more jobs says so,
//! and the edge stops counting it.

use std::time::{Duration, Instant};

use tracing::warn;

use super::context::ServiceContext;

/// Shortest time between two reports.
const INTERVAL: Duration = Duration::from_secs(10);
/// Longest time between two reports, while nothing is pulled. The edge uses a report for two minutes.
const LONGEST_INTERVAL: Duration = Duration::from_secs(40);

/// Time for the last report.
const GOODBYE: Duration = Duration::from_secs(2);

/// Reports until the future is dropped.
pub(super) async fn keep_reporting(context: &ServiceContext) {
    let mut latest = context.backlog.subscribe();
    let mut reports = 0;
    loop {
        let all_slots_taken = context.running() == context.capacity();
        let longest = if all_slots_taken { INTERVAL } else { LONGEST_INTERVAL };
        tokio::select! {
            changed = latest.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(longest), if reports > 0 => {}
        }
        let leaving = latest.borrow_and_update().leaving;
        report(context).await;
        reports += 1;
        tokio::select! {
            () = context.stopping.cancelled(), if !leaving => {}
            () = tokio::time::sleep(pause_after(reports)) => {}
        }
    }
}

/// Tells the edge that the service has ended.
pub(super) async fn say_goodbye(context: &ServiceContext) {
    context.backlog.leave();
    let _ = tokio::time::timeout(GOODBYE, report(context)).await; // otherwise the edge counts it for two minutes
}

async fn report(context: &ServiceContext) {
    let backlog = *context.backlog.subscribe().borrow();
    match context.edge.report_backlog(&backlog).await {
        Ok(tilers) => context.fleet.answered(tilers, Instant::now()),
        Err(error) => warn!(%error, "cannot report the queue's length to the edge"),
    }
}

/// Returns the pause after a number of reports. The first ones follow quickly, because tilers that start together learn
/// their number from the responses.
pub(super) fn pause_after(reports: u32) -> Duration {
    Duration::from_secs(1 << reports.saturating_sub(1).min(4)).min(INTERVAL)
}
