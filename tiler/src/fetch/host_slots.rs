//! How many downloads come from one host at once. Many contents of one museum are one server's work; a service that takes
//! all that it can send is a burden, and soon refused.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::error::FetchError;

/// The downloads under way, by host.
pub(super) struct HostSlots {
    limit: usize,
    patience: Duration,
    /// A host is here while a download from it runs or waits.
    hosts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl HostSlots {
    /// So many downloads from a host at once; a further one waits for them for so long.
    pub(super) fn new(limit: NonZeroUsize, patience: Duration) -> Self {
        Self { limit: limit.get(), patience, hosts: Mutex::default() }
    }

    /// Waits until a download from `host` may begin. It counts until the permit is dropped.
    pub(super) async fn acquire(&self, host: &str) -> Result<OwnedSemaphorePermit, FetchError> {
        match timeout(self.patience, self.of(host).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(FetchError::HostBusy),
        }
    }

    fn of(&self, host: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slots) = hosts.get(host).and_then(Weak::upgrade) {
            return slots;
        }
        hosts.retain(|_, slots| slots.strong_count() > 0);
        let slots = Arc::new(Semaphore::new(self.limit));
        hosts.insert(host.to_owned(), Arc::downgrade(&slots));
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_download_waits_for_others_from_its_host_but_not_for_ever() {
        let slots = HostSlots::new(NonZeroUsize::new(2).unwrap(), Duration::from_millis(100));
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
        let slots = HostSlots::new(NonZeroUsize::MIN, Duration::ZERO);
        for number in 0..1000 {
            let _permit = slots.acquire(&format!("{number}.example")).await.unwrap();
            assert!(slots.hosts.lock().unwrap().len() <= 2);
        }
    }
}
