//! Limits the connections of all pages to one host. Chromium opens six for each page, and more for WebSockets; several
//! pages of one site are the work of one server, as several downloads from it are. Further connections wait.
//!
//! Chromium keeps idle connections for later, and does not know about this limit or other pages. When a connection
//! waits, the one that has been idle for longest is closed. Chromium opens another one where it has to (RFC 9112,
//! 9.3.1).

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The connections of all pages to each host.
pub(in crate::browser) struct HostConnections {
    limit: usize,
    idle: Duration,
    /// Hosts that have connections, or connections waiting.
    hosts: Mutex<HashMap<String, Weak<Host>>>,
}

struct Host {
    permits: Arc<Semaphore>,
    open: Mutex<Vec<Weak<Activity>>>,
}

/// The permit for one connection, returned when dropped.
pub(super) struct HostPermit {
    _permit: OwnedSemaphorePermit,
    _host: Arc<Host>,
    pub activity: Arc<Activity>,
}

/// The activity of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    opened: Instant,
    /// Time of the last transfer, in milliseconds since `opened`.
    last: AtomicU64,
    /// Cancelled when the connection has to close for another one.
    pub closed: CancellationToken,
}

/// Interval at which a waiting connection looks for an idle one to close.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

impl HostConnections {
    /// Allows `limit` connections to each host. A connection that was idle for `idle` may be closed for another one.
    pub(in crate::browser) fn new(limit: NonZeroUsize, idle: Duration) -> Self {
        Self { limit: limit.get(), idle, hosts: Mutex::default() }
    }

    /// Waits until `host` may have another connection.
    ///
    /// # Errors
    /// Never fails: the semaphore is never closed.
    pub(super) async fn acquire(&self, host: &str) -> Result<HostPermit, AcquireError> {
        let host = self.host(host);
        let mut permit = pin!(Arc::clone(&host.permits).acquire_owned());
        let permit = loop {
            match tokio::time::timeout(CHECK_INTERVAL, &mut permit).await {
                Ok(permit) => break permit?,
                Err(_) => host.close_idle(self.idle),
            }
        };
        let activity = Arc::new(Activity::new());
        let mut open = host.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|activity| activity.strong_count() > 0);
        open.push(Arc::downgrade(&activity));
        drop(open);
        Ok(HostPermit { _permit: permit, _host: host, activity })
    }

    fn host(&self, name: &str) -> Arc<Host> {
        // A trailing dot makes no difference (RFC 1034, 3.1).
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(&name).and_then(Weak::upgrade) {
            return host;
        }
        hosts.retain(|_, host| host.strong_count() > 0);
        let host = Arc::new(Host { permits: Arc::new(Semaphore::new(self.limit)), open: Mutex::default() });
        hosts.insert(name, Arc::downgrade(&host));
        host
    }
}

impl Host {
    /// Closes the connection that has been idle for longest, if for at least `idle`.
    fn close_idle(&self, idle: Duration) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let activities = open.iter().filter_map(Weak::upgrade);
        let longest = activities.filter(|one| !one.closed.is_cancelled()).max_by_key(|one| one.idle());
        if let Some(longest) = longest.filter(|longest| longest.idle() >= idle) {
            longest.closed.cancel();
        }
    }
}

impl Activity {
    pub(super) fn new() -> Self {
        Self { opened: Instant::now(), last: AtomicU64::new(0), closed: CancellationToken::new() }
    }

    /// Records a transfer.
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
    async fn a_connection_waits_only_for_others_to_its_host() {
        let connections = connections(NEVER);
        let first = connections.acquire("a.example").await.unwrap();
        let _second = connections.acquire("A.example.").await.unwrap();
        let _other = connections.acquire("b.example").await.unwrap();
        let third = connections.acquire("a.example");
        let mut third = pin!(third);
        assert!(tokio::time::timeout(CHECK_INTERVAL * 2, &mut third).await.is_err());
        assert!(!first.activity.closed.is_cancelled());
        drop(first);
        assert!(third.await.is_ok());
        assert_eq!(connections.hosts.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn the_longest_idle_connection_is_closed_for_another() {
        let connections = connections(CHECK_INTERVAL);
        let still = connections.acquire("a.example").await.unwrap();
        let busy = connections.acquire("a.example").await.unwrap();
        let closed = still.activity.closed.clone();
        let third = async {
            let third = connections.acquire("a.example").await;
            assert!(closed.is_cancelled());
            third
        };
        let close_idle = async {
            while !closed.is_cancelled() {
                busy.activity.note();
                tokio::time::sleep(CHECK_INTERVAL / 10).await;
            }
            drop(still);
        };
        assert!(tokio::join!(third, close_idle).0.is_ok());
        assert!(!busy.activity.closed.is_cancelled());
    }
}
