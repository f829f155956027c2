//! Limits the downloads from one host, at once and in sequence. The sources of one museum often come from one server; a
//! service that takes all that it can send is a burden, and is soon blocked.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::error::FetchError;

/// Running downloads, by host.
pub(super) struct HostSlots {
    limit: usize,
    interval: Duration,
    patience: Duration,
    /// Hosts from which a download is running or waiting, or has to wait.
    hosts: Mutex<HashMap<String, Host>>,
}

struct Host {
    slots: Weak<Semaphore>,
    /// Time at which the next visit may begin.
    next: Instant,
}

/// Longest wait for a turn within an attempt. The edge schedules longer waits, which then keep no tiler busy.
const LONGEST_TURN: Duration = Duration::from_secs(10);
/// Longest pause of a whole host that responds with 429. A longer `Retry-After` delays only the content concerned: one
/// URL of a host must not block the others.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);
/// Maximum number of hosts that are remembered although nothing is downloaded from them.
const MOST_WAITING: usize = 10_000;

impl HostSlots {
    /// Permits `limit` downloads from a host at once, `interval` from the start of one visit to the next, and a wait of
    /// at most `patience` for a slot.
    pub(super) fn new(limit: NonZeroUsize, interval: Duration, patience: Duration) -> Self {
        Self { limit: limit.get(), interval, patience, hosts: Mutex::default() }
    }

    /// Waits until a visit to `host` may begin. The next visit has to wait for the usual interval or for `least`,
    /// whichever is longer. If the wait is too long, fails at once with the remaining time.
    pub(super) async fn turn(&self, host: &str, least: Duration) -> Result<(), FetchError> {
        let now = Instant::now();
        let start = self.with(host, now, |host| {
            let start = host.next.max(now);
            if start - now <= LONGEST_TURN {
                host.next = start + self.interval.max(least);
            }
            start
        });
        if start - now > LONGEST_TURN {
            return Err(FetchError::HostPaused(start - now));
        }
        sleep_until(start).await;
        Ok(())
    }

    /// Lets no visit to `host` begin for `pause`.
    pub(super) fn pause(&self, host: &str, pause: Duration) {
        let now = Instant::now();
        self.with(host, now, |host| host.next = host.next.max(now + pause.min(LONGEST_PAUSE)));
    }

    /// Waits for one of the slots of `host`. The download occupies it until the permit is dropped.
    pub(super) async fn acquire(&self, host: &str) -> Result<OwnedSemaphorePermit, FetchError> {
        let slots = self.with(host, Instant::now(), |host| {
            host.slots.upgrade().unwrap_or_else(|| {
                let slots = Arc::new(Semaphore::new(self.limit));
                host.slots = Arc::downgrade(&slots);
                slots
            })
        });
        match timeout(self.patience, slots.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(FetchError::HostBusy),
        }
    }

    fn with<T>(&self, name: &str, now: Instant, change: impl FnOnce(&mut Host) -> T) -> T {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get_mut(name) {
            return change(host);
        }
        hosts.retain(|_, host| host.slots.strong_count() > 0 || host.next > now);
        let mut host = Host { slots: Weak::new(), next: now };
        let result = change(&mut host);
        if hosts.len() < MOST_WAITING || host.slots.strong_count() > 0 {
            hosts.insert(name.to_owned(), host);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(limit: usize, interval: u64, patience: Duration) -> HostSlots {
        HostSlots::new(NonZeroUsize::new(limit).unwrap(), Duration::from_millis(interval), patience)
    }

    #[tokio::test]
    async fn a_download_waits_for_others_from_its_host_but_not_forever() {
        let slots = slots(2, 0, Duration::from_millis(100));
        let first = slots.acquire("a.example").await.unwrap();
        let _second = slots.acquire("a.example").await.unwrap();
        let _other = slots.acquire("b.example").await.unwrap();
        assert!(matches!(slots.acquire("a.example").await, Err(FetchError::HostBusy)));
        let slots = HostSlots { patience: Duration::from_secs(60), ..slots };
        let (third, ()) = tokio::join!(slots.acquire("a.example"), async { drop(first) });
        assert!(third.is_ok());
    }

    #[tokio::test]
    async fn hosts_without_downloads_are_forgotten() {
        let slots = slots(1, 0, Duration::ZERO);
        for number in 0..1000 {
            let _permit = slots.acquire(&format!("{number}.example")).await.unwrap();
            assert!(slots.hosts.lock().unwrap().len() <= 2);
        }
    }

    #[tokio::test]
    async fn a_bounded_number_of_paused_hosts_is_remembered() {
        let slots = slots(1, 0, Duration::ZERO);
        for number in 0..MOST_WAITING + 10 {
            slots.pause(&number.to_string(), Duration::from_secs(60));
        }
        assert_eq!(slots.hosts.lock().unwrap().len(), MOST_WAITING);
        assert!(slots.acquire("a.example").await.is_ok());
    }

    #[tokio::test]
    async fn visits_to_a_host_keep_their_distance() {
        let slots = slots(9, 40, Duration::ZERO);
        let begun = Instant::now();
        for _ in 0..3 {
            slots.turn("a.example", Duration::ZERO).await.unwrap();
        }
        assert!(begun.elapsed() >= Duration::from_millis(80), "{:?}", begun.elapsed());
        slots.turn("b.example", Duration::ZERO).await.unwrap();
        slots.turn("b.example", Duration::from_secs(60)).await.unwrap();
        let next = slots.turn("b.example", Duration::ZERO).await;
        let Err(FetchError::HostPaused(wait)) = next else { panic!("{next:?}") };
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(60), "{wait:?}");
    }

    #[tokio::test]
    async fn a_host_is_paused_for_a_few_minutes_at_most() {
        let slots = slots(9, 0, Duration::ZERO);
        slots.pause("a.example", Duration::from_secs(u64::from(u32::MAX)));
        let turn = slots.turn("a.example", Duration::ZERO).await;
        assert!(matches!(turn, Err(FetchError::HostPaused(wait)) if wait <= LONGEST_PAUSE), "{turn:?}");
        assert!(slots.turn("b.example", Duration::ZERO).await.is_ok());
    }
}
