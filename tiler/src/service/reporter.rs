//! Tells the edge of one attempt, from its claim to its end: where it stands at most once a second, something at least every
//! quarter of the lease, and in the end what became of it. When the edge says that the attempt is over, or has not
//! been reached for so long that it must be, the job learns it here.

use std::time::{Duration, Instant};

use edgezoom_content::protocol::{Claim, Outcome, Report};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::backoff::Backoff;
use super::edge::{Edge, Told};
use super::progress::{Pace, Standing};

/// Tells the edge of one attempt. Dropped: it falls silent, and the lease runs out.
pub(super) struct Reporter {
    line: Line,
    standing: watch::Sender<Standing>,
    over: CancellationToken,
    enough: CancellationToken,
    background: JoinHandle<Instant>,
}

/// What the edge made of the news that the attempt has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// It took it.
    Taken,
    /// The attempt was over already.
    Refused,
    /// It could not be reached, or its answer was lost: it may have taken it.
    Unknown,
}

/// What is needed to report on the attempt.
#[derive(Clone)]
struct Line {
    edge: Edge,
    claim: Claim,
}

const BACKOFF: Backoff = Backoff { first: Duration::from_millis(250), most: Duration::from_secs(5) };

/// The first report may come sooner than a second after the claim: a conversion of a second should show something.
const FIRST: Duration = Duration::from_millis(250);

impl Reporter {
    /// Begins to report on a claim that was asked for at `claimed`.
    pub(super) fn start(edge: Edge, claim: Claim, claimed: Instant) -> Self {
        let line = Line { edge, claim };
        let (standing, news) = watch::channel(Standing::BEGUN);
        let (over, enough) = (CancellationToken::new(), CancellationToken::new());
        let background =
            tokio::spawn(line.clone().keep_reporting(news, claimed, over.clone(), enough.clone()));
        Self { line, standing, over, enough, background }
    }

    /// Takes note of where the attempt stands.
    pub(super) fn note(&self, standing: Standing) {
        self.standing.send_if_modified(|known| {
            let further = known.max(standing);
            std::mem::replace(known, further) != further
        });
    }

    /// Returns when the attempt is over without having ended: it is nobody's or somebody else's now.
    pub(super) async fn over(&self) {
        self.over.cancelled().await;
    }

    /// Tells what became of the attempt, trying until the lease has run out or `patience` is at its end.
    pub(super) async fn conclude(&mut self, outcome: Outcome, patience: Duration) -> Farewell {
        self.enough.cancel();
        let lease_end = match (&mut self.background).await {
            Ok(lease_end) => lease_end,
            Err(_) => Instant::now() + self.line.claim.lease(),
        };
        let until = lease_end.min(Instant::now() + patience);
        match self.line.deliver(outcome, until).await {
            Some(Told::Taken) => Farewell::Taken,
            Some(Told::Refused) => Farewell::Refused,
            None => Farewell::Unknown,
        }
    }
}

impl Line {
    /// Reports until the attempt is over or there was `enough`, and tells when the lease ends.
    async fn keep_reporting(
        self,
        mut news: watch::Receiver<Standing>,
        claimed: Instant,
        over: CancellationToken,
        enough: CancellationToken,
    ) -> Instant {
        let lease = self.claim.lease();
        let pace = Pace::for_lease(lease);
        let mut lease_end = claimed + lease;
        let mut next = Pace { least: FIRST.min(pace.least), ..pace };
        let mut last = claimed;
        loop {
            let something_new = async {
                if news.changed().await.is_err() {
                    std::future::pending::<()>().await; // the job is gone and will say `enough`, or nothing any more
                }
                sleep_until(next.due(last, true).into()).await;
            };
            tokio::select! {
                () = enough.cancelled() => return lease_end,
                () = something_new => {}
                () = sleep_until(next.due(last, false).into()) => {}
            }
            let standing = *news.borrow_and_update();
            let outcome = Outcome::Progress { stage: standing.stage, progress: standing.progress() };
            last = Instant::now();
            next = pace;
            let told = tokio::select! {
                () = enough.cancelled() => return lease_end,
                told = self.deliver(outcome, lease_end) => told,
            };
            if told == Some(Told::Taken) {
                lease_end = last + lease; // it began anew when the edge got the report: not before it was sent
            } else {
                over.cancel();
                return lease_end;
            }
        }
    }

    /// Sends a report, again and again until it is answered or it is too late.
    async fn deliver(&self, outcome: Outcome, until: Instant) -> Option<Told> {
        let Claim { id, attempt, .. } = self.claim;
        let report = Report { attempt, outcome };
        let mut failures = 0;
        loop {
            match timeout_at(until.into(), self.edge.report(id, &report)).await {
                Ok(Ok(told)) => return Some(told),
                Ok(Err(error)) => {
                    failures += 1;
                    warn!(%id, %attempt, %error, "a report was not taken");
                    let pause = BACKOFF.after(failures, fastrand::f64());
                    let again = Instant::now() + pause.max(error.retry_after().unwrap_or_default());
                    if again >= until {
                        return None;
                    }
                    sleep_until(again.into()).await;
                }
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.enough.cancel();
    }
}
