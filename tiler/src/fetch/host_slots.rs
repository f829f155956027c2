//! How many downloads come from one host at once, and how soon one after the other. Many contents of one museum are one
//! server's work; a service that takes all that it can send is a burden, and soon refused.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::error::FetchError;

/// The downloads under way, by host.
pub(super) struct HostSlots {
    limit: usize,
    interval: Duration,
    patience: Duration,
    /// A host is here while a download from it runs or waits, or has to wait.
    hosts: Mutex<HashMap<String, Host>>,
}

struct Host {
    slots: Weak<Semaphore>,
    /// When the next visit may begin.
    next: Instant,
}

/// How long a visit waits for its turn within an attempt. The edge waits for what takes longer, which keeps no tiler busy.
const LONGEST_TURN: Duration = Duration::from_secs(10);
/// The longest time for which a host is left alone because it answered 429. A longer wish counts for the content alone:
/// one address of a host must not keep the others from being read.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);
/// How many hosts may be remembered that nothing is downloaded from.
const MOST_WAITING: usize = 10_000;

impl HostSlots {
    /// So many downloads from a host at once, and so much time from the beginning of one to that of the next; a further one
    /// waits for a slot for so long.
    pub(super) fn new(limit: NonZeroUsize, interval: Duration, patience: Duration) -> Self {
        Self { limit: limit.get(), interval, patience, hosts: Mutex::default() }
    }

    /// Waits until a visit to `host` may begin; the next one may after the usual time or after `least`, whichever is longer.
    /// When it is not soon, there is no turn, and the error says how long it is.
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

    /// Leaves a host alone that has asked for it, for this long.
    pub(super) fn pause(&self, host: &str, pause: Duration) {
        let now = Instant::now();
        self.with(host, now, |host| host.next = host.next.max(now + pause.min(LONGEST_PAUSE)));
    }

    /// Waits until a download from `host` may begin. It counts until the permit is dropped.
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
    async fn a_download_waits_for_others_from_its_host_but_not_for_ever() {
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
    async fn hosts_that_have_to_wait_are_remembered_within_bounds() {
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
    async fn a_host_that_asks_for_it_is_left_alone_for_some_minutes_at_most() {
        let slots = slots(9, 0, Duration::ZERO);
        slots.pause("a.example", Duration::from_secs(u64::from(u32::MAX)));
        let turn = slots.turn("a.example", Duration::ZERO).await;
        assert!(matches!(turn, Err(FetchError::HostPaused(wait)) if wait <= LONGEST_PAUSE), "{turn:?}");
        assert!(slots.turn("b.example", Duration::ZERO).await.is_ok());
    }
}
