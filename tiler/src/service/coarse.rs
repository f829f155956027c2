//! Stores coarse pictures during a job, for clients to show until the pyramid is ready, and deletes them shortly
//! before. Each is an object of its own, because objects never change.
//!
//! Requests cost money, and most conversions end before anyone would see a coarse picture. So the first one is stored
//! after three seconds, and the others are spread over the remaining time ([`Schedule`]).

use std::time::{Duration, Instant};

use bytes::Bytes;
use edgezoom_content::CoarseNumber;
use edgezoom_content::protocol::Claim;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, warn};

use crate::s3::S3Store;

/// Earliest time of the first one after the claim.
const FIRST: Duration = Duration::from_secs(3);
/// Shortest time between two of them.
const INTERVAL: Duration = Duration::from_secs(2);

/// The coarse pictures of a job. Dropping it deletes them.
pub(super) struct CoarseUpload {
    offers: watch::Sender<Option<Offer>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// A coarse picture that may be stored.
#[derive(Clone)]
struct Offer {
    jpeg: Bytes,
    /// Progress of the job, from 0 to 1.
    done: f64,
}

/// Decides which coarse pictures are stored.
struct Schedule {
    /// Number of the next one; `None` after the last.
    next: Option<CoarseNumber>,
    not_before: Instant,
    /// Progress of the job before which the next one is not stored.
    from: f64,
}

/// The background task that stores the coarse pictures.
struct Storing {
    store: S3Store,
    claim: Claim,
    offers: watch::Receiver<Option<Offer>>,
    schedule: Schedule,
}

impl CoarseUpload {
    /// Starts the background task for a claim that was requested at `claimed`. Calls `on_stored` for each stored
    /// picture.
    pub(super) fn start(
        store: S3Store,
        claim: Claim,
        claimed: Instant,
        on_stored: impl Fn(CoarseNumber) + Send + 'static,
    ) -> Self {
        let (sender, offers) = watch::channel(None);
        let stop = CancellationToken::new();
        let storing = Storing { store, claim, offers, schedule: Schedule::new(claimed) };
        let task = tokio::spawn(storing.run(stop.clone(), on_stored).in_current_span());
        Self { offers: sender, stop, task }
    }

    /// Offers a newer picture, made at progress `done`.
    pub(super) fn offer(&self, jpeg: Bytes, done: f64) {
        self.offers.send_replace(Some(Offer { jpeg, done }));
    }

    /// Starts to delete the pictures.
    pub(super) fn end(&self) {
        self.stop.cancel();
    }

    /// Waits until the pictures are deleted, at most for `patience`.
    pub(super) async fn ended(&mut self, patience: Duration) {
        self.end();
        if timeout(patience, &mut self.task).await.is_err() {
            warn!("coarse pictures remain in the store: deleting them took too long");
        }
    }
}

impl Drop for CoarseUpload {
    fn drop(&mut self) {
        self.end();
    }
}

impl Storing {
    async fn run(mut self, stop: CancellationToken, on_stored: impl Fn(CoarseNumber)) {
        let Claim { id, attempt, .. } = self.claim;
        let mut is_any = false;
        loop {
            let (number, Offer { jpeg, done }) = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                next = self.next() => next,
            };
            is_any = true;
            // Never cancelled, because the store might carry it out after the pictures were deleted.
            match self.store.put_coarse(id, attempt, number, jpeg).await {
                Ok(()) => on_stored(number),
                Err(error) => warn!(%error, "cannot store a coarse picture"),
            }
            self.schedule.tried(Instant::now(), done);
        }
        if is_any && let Err(error) = self.store.delete_coarse(id, attempt).await {
            warn!(%error, "coarse pictures remain in the store");
        }
    }

    /// Waits for the next picture to store.
    async fn next(&mut self) -> (CoarseNumber, Offer) {
        loop {
            let changed = self.offers.changed().await;
            let Some(number) = self.schedule.next.filter(|_| changed.is_ok()) else {
                return std::future::pending().await;
            };
            sleep_until(self.schedule.not_before.into()).await;
            let latest = self.offers.borrow_and_update().clone();
            if let Some(offer) = latest.filter(|offer| offer.done >= self.schedule.from) {
                return (number, offer);
            }
        }
    }
}

impl Schedule {
    fn new(claimed: Instant) -> Self {
        Self { next: Some(CoarseNumber::FIRST), not_before: claimed + FIRST, from: 0.0 }
    }

    /// Records a request, which costs money whether it succeeded or not.
    fn tried(&mut self, now: Instant, done: f64) {
        self.next = self.next.and_then(CoarseNumber::next);
        self.not_before = now + INTERVAL;
        let left = CoarseNumber::all().filter(|number| self.next.is_some_and(|next| *number >= next)).count();
        self.from = done + (1.0 - done) / (left as f64 + 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the seconds at which a job of `seconds` that offers a picture each second stores one.
    fn stored(seconds: u32) -> Vec<u32> {
        let claimed = Instant::now();
        let mut schedule = Schedule::new(claimed);
        let at = |second: u32| claimed + Duration::from_secs(second.into());
        let offers = (1..seconds).filter(|&second| {
            let done = f64::from(second) / f64::from(seconds);
            let is_due =
                schedule.next.is_some() && at(second) >= schedule.not_before && done >= schedule.from;
            if is_due {
                schedule.tried(at(second), done);
            }
            is_due
        });
        offers.collect()
    }

    #[test]
    fn a_short_job_stores_none_and_a_long_one_spreads_five() {
        assert_eq!(stored(3), Vec::<u32>::new());
        assert_eq!(stored(4), [3]);
        assert_eq!(stored(10), [3, 5, 7, 9]);
        assert_eq!(stored(60), [3, 15, 27, 38, 49]);
        assert_eq!(stored(3600).len(), 5);
    }
}
