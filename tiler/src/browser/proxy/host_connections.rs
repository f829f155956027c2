//! How many connections all pages of a tiler have to one host at once. Chromium opens six for a page, and more for
//! WebSockets; several pages of one site are one server's work, as several downloads from it are. What is above that
//! waits.
//!
//! Chromium keeps connections for later, and knows nothing of this bound or of other pages. So that nothing waits for
//! connections that stand still, the one that has done so for longest is closed when its place is needed. Chromium
//! opens another one where it has to (RFC 9112, 9.3.1).

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The connections to each host.
pub(in crate::browser) struct HostConnections {
    limit: usize,
    idle: Duration,
    /// A host is here while there are connections to it, or some wait.
    hosts: Mutex<HashMap<String, Weak<Host>>>,
}

struct Host {
    places: Arc<Semaphore>,
    open: Mutex<Vec<Weak<Activity>>>,
}

/// The place of one connection. It is free again when this is dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    _host: Arc<Host>,
    activity: Arc<Activity>,
}

/// When a connection last transferred something, and whether it has to go.
#[derive(Debug)]
pub(super) struct Activity {
    opened: Instant,
    /// In milliseconds since then.
    last: AtomicU64,
    closed: CancellationToken,
}

/// How often those that wait look for a connection that stands still.
const LOOK: Duration = Duration::from_millis(250);

impl HostConnections {
    /// At most so many to a host; one that has stood still for `idle` makes room.
    pub(in crate::browser) fn new(limit: NonZeroUsize, idle: Duration) -> Self {
        Self { limit: limit.get(), idle, hosts: Mutex::default() }
    }

    /// Waits until there may be another connection to `host`.
    ///
    /// # Errors
    /// None: no semaphore is closed.
    pub(super) async fn acquire(&self, host: &str) -> Result<Place, AcquireError> {
        let host = self.host(host);
        let mut permit = pin!(Arc::clone(&host.places).acquire_owned());
        let permit = loop {
            match tokio::time::timeout(LOOK, &mut permit).await {
                Ok(permit) => break permit?,
                Err(_) => host.close_idle(self.idle),
            }
        };
        let activity = Arc::new(Activity::new());
        let mut open = host.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|activity| activity.strong_count() > 0);
        open.push(Arc::downgrade(&activity));
        drop(open);
        Ok(Place { _permit: permit, _host: host, activity })
    }

    fn host(&self, name: &str) -> Arc<Host> {
        // A dot at the end of a name makes no difference (RFC 1034, 3.1).
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(&name).and_then(Weak::upgrade) {
            return host;
        }
        hosts.retain(|_, host| host.strong_count() > 0);
        let host = Arc::new(Host { places: Arc::new(Semaphore::new(self.limit)), open: Mutex::default() });
        hosts.insert(name, Arc::downgrade(&host));
        host
    }
}

impl Host {
    /// Closes the connection that has stood still for longest, if that is at least `idle`.
    fn close_idle(&self, idle: Duration) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let activities = open.iter().filter_map(Weak::upgrade);
        let longest = activities.filter(|one| !one.closed.is_cancelled()).max_by_key(|one| one.idle());
        if let Some(longest) = longest.filter(|longest| longest.idle() >= idle) {
            longest.closed.cancel();
        }
    }
}

impl Place {
    /// What tells that the connection does something.
    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    /// Cancelled when the connection has to make room for another one.
    pub(super) fn closed(&self) -> CancellationToken {
        self.activity.closed.clone()
    }
}

impl Activity {
    pub(super) fn new() -> Self {
        Self { opened: Instant::now(), last: AtomicU64::new(0), closed: CancellationToken::new() }
    }

    /// The connection transfers something now.
    pub(super) fn note(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    fn idle(&self) -> Duration {
        self.opened.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);

    fn connections(idle: Duration) -> HostConnections {
        HostConnections::new(NonZeroUsize::new(2).unwrap(), idle)
    }

    #[tokio::test]
    async fn a_connection_waits_for_others_to_its_host_alone() {
        let connections = connections(NEVER);
        let first = connections.acquire("a.example").await.unwrap();
        let _second = connections.acquire("A.example.").await.unwrap();
        let _other = connections.acquire("b.example").await.unwrap();
        let third = connections.acquire("a.example");
        let mut third = pin!(third);
        assert!(tokio::time::timeout(LOOK * 2, &mut third).await.is_err());
        assert!(!first.closed().is_cancelled());
        drop(first);
        assert!(third.await.is_ok());
        assert_eq!(connections.hosts.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn the_one_that_stands_still_for_longest_makes_room() {
        let connections = connections(LOOK);
        let still = connections.acquire("a.example").await.unwrap();
        let busy = connections.acquire("a.example").await.unwrap();
        let closed = still.closed();
        let third = async {
            let third = connections.acquire("a.example").await;
            assert!(closed.is_cancelled());
            third
        };
        let make_room = async {
            while !closed.is_cancelled() {
                busy.activity().note();
                tokio::time::sleep(LOOK / 10).await;
            }
            drop(still);
        };
        assert!(tokio::join!(third, make_room).0.is_ok());
        assert!(!busy.closed().is_cancelled());
    }
}
