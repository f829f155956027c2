//! Reports one attempt to the edge: progress at most once a second, something at least every quarter of the lease, and
//! the result. Each accepted report renews the lease. The reporter also notices that the attempt is over: the edge
//! refuses a report, or does not respond for a whole lease.

use std::time::{Duration, Instant};

use edgezoom_content::CoarseNumber;
use edgezoom_content::protocol::{AttemptProgress, Claim, Outcome, Report};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, warn};

use super::edge_client::{EdgeClient, ReportResult};
use crate::http_client::Backoff;

/// Reports one attempt. Dropping it stops the reports, and the lease expires.
pub(super) struct Reporter {
    sender: ReportSender,
    progress: watch::Sender<AttemptProgress>,
    superseded: CancellationToken,
    stop: CancellationToken,
    /// Reports progress; ends with the end of the lease.
    background: JoinHandle<Instant>,
}

/// Sends reports on a claim's attempt.
#[derive(Clone)]
struct ReportSender {
    edge: EdgeClient,
    claim: Claim,
}

const BACKOFF: Backoff = Backoff { first: Duration::from_millis(250), max: Duration::from_secs(5) };

/// Earliest first report: sooner than the others, so that a conversion of a second shows some progress.
const FIRST_REPORT: Duration = Duration::from_millis(250);

/// Times between two reports.
#[derive(Clone, Copy, Debug)]
struct ReportInterval {
    /// Shortest time, while there is progress.
    min: Duration,
    /// Longest time without progress, which renews the lease.
    max: Duration,
}

impl ReportInterval {
    /// At most one report a second, and one every quarter of the lease, so that the lease survives three lost ones.
    fn for_lease(lease: Duration) -> Self {
        let max = lease / 4;
        Self { min: Duration::from_secs(1).min(max), max }
    }

    /// Returns the time of the next report after the one at `last`.
    fn due(&self, last: Instant, has_progress: bool) -> Instant {
        last + if has_progress { self.min } else { self.max }
    }
}

impl Reporter {
    /// Starts to report on a claim that was requested at `claimed`.
    pub(super) fn start(edge: EdgeClient, claim: Claim, claimed: Instant) -> Self {
        let sender = ReportSender { edge, claim };
        let (progress, changes) = watch::channel(AttemptProgress::CLAIMED);
        let (superseded, stop) = (CancellationToken::new(), CancellationToken::new());
        let reporting = sender.clone().keep_reporting(changes, claimed, superseded.clone(), stop.clone());
        let background = tokio::spawn(reporting.in_current_span());
        Self { sender, progress, superseded, stop, background }
    }

    /// Sets the progress for the next report.
    pub(super) fn note(&self, progress: AttemptProgress) {
        note(&self.progress, progress);
    }

    /// Returns the progress of the job, from 0 to 1.
    pub(super) fn done(&self) -> f64 {
        self.progress.borrow().progress.fraction()
    }

    /// Returns a function that includes a coarse picture in the next report.
    pub(super) fn coarse_notes(&self) -> impl Fn(CoarseNumber) + Send + 'static {
        let sender = self.progress.clone();
        move |number| note(&sender, AttemptProgress { coarse: Some(number), ..AttemptProgress::CLAIMED })
    }

    /// Waits until the attempt is over without its result having been reported.
    pub(super) async fn superseded(&self) {
        self.superseded.cancelled().await;
    }

    /// Reports the result of the attempt. Tries again until the lease expires or `patience` is over.
    pub(super) async fn conclude(&mut self, outcome: Outcome, patience: Duration) -> ReportResult {
        self.stop.cancel();
        let lease_end = match (&mut self.background).await {
            Ok(lease_end) => lease_end,
            Err(_) => Instant::now() + self.sender.claim.lease(),
        };
        let until = lease_end.min(Instant::now() + patience);
        self.sender.send(outcome, until).await
    }
}

fn note(sender: &watch::Sender<AttemptProgress>, progress: AttemptProgress) {
    sender.send_if_modified(|latest| {
        let further = latest.max(progress);
        std::mem::replace(latest, further) != further
    });
}

impl ReportSender {
    /// Reports progress until the attempt is over or `stop` is cancelled. Returns the end of the lease.
    async fn keep_reporting(
        self,
        mut changes: watch::Receiver<AttemptProgress>,
        claimed: Instant,
        superseded: CancellationToken,
        stop: CancellationToken,
    ) -> Instant {
        let lease = self.claim.lease();
        let usual = ReportInterval::for_lease(lease);
        let mut lease_end = claimed + lease;
        let mut interval = ReportInterval { min: FIRST_REPORT.min(usual.min), ..usual };
        let mut last = claimed;
        loop {
            let has_progress = async {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await; // the job has ended and cancels `stop`
                }
                sleep_until(interval.due(last, true).into()).await;
            };
            tokio::select! {
                () = stop.cancelled() => return lease_end,
                () = has_progress => {}
                () = sleep_until(interval.due(last, false).into()) => {}
            }
            let outcome = Outcome::Progress(*changes.borrow_and_update());
            last = Instant::now();
            interval = usual;
            let result = tokio::select! {
                () = stop.cancelled() => return lease_end,
                result = self.send(outcome, lease_end) => result,
            };
            if result == ReportResult::Accepted {
                lease_end = last + lease; // the edge renewed it after the report was sent
            } else {
                superseded.cancel();
                return lease_end;
            }
        }
    }

    /// Sends a report. Tries again until the edge responds or the time is `until`.
    async fn send(&self, outcome: Outcome, until: Instant) -> ReportResult {
        let Claim { id, attempt, .. } = self.claim;
        let report = Report { attempt, outcome };
        let mut failures = 0;
        loop {
            match timeout_at(until.into(), self.edge.report(id, &report)).await {
                Ok(Ok(result)) => return result,
                Ok(Err(error)) => {
                    failures += 1;
                    warn!(%error, "cannot send a report to the edge");
                    let pause = BACKOFF.after(failures, fastrand::f64());
                    let again = Instant::now() + pause.max(error.retry_after().unwrap_or_default());
                    if again >= until {
                        return ReportResult::Unanswered;
                    }
                    sleep_until(again.into()).await;
                }
                Err(_) => return ReportResult::Unanswered,
            }
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_survives_three_lost_reports() {
        let now = Instant::now();
        let interval = ReportInterval::for_lease(Duration::from_secs(60));
        assert_eq!(interval.due(now, true), now + Duration::from_secs(1));
        assert_eq!(interval.due(now, false), now + Duration::from_secs(15));
        let short = ReportInterval::for_lease(Duration::from_secs(2));
        assert_eq!(short.due(now, true), now + Duration::from_millis(500));
    }
}
