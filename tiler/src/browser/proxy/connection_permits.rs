//! What a connection to a server keeps as long as it is open: its share of what its page may have, and its place at its host.

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::host_connections::Place;

/// The permits of one connection. Dropped, they are free again.
pub(super) struct ConnectionPermits {
    /// One of the connections of its page.
    pub _page: OwnedSemaphorePermit,
    /// One of the connections to its host.
    pub host: Place,
}

impl ConnectionPermits {
    /// Cancelled when the connection has to be closed, because another one to its host waits.
    pub(super) fn closed(&self) -> CancellationToken {
        self.host.closed()
    }
}
