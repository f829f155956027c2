//! The length of the queue as the last pull returned it, for the reports to the edge.

use edgezoom_content::protocol::Backlog;
use tokio::sync::watch;

/// The length of the queue at the last pull.
pub(super) struct LatestBacklog(watch::Sender<Backlog>);

impl Default for LatestBacklog {
    fn default() -> Self {
        Self(watch::Sender::new(Backlog { messages: 0 }))
    }
}

impl LatestBacklog {
    /// Sets the length.
    pub(super) fn set(&self, messages: u64) {
        self.0.send_replace(Backlog { messages });
    }

    /// A receiver that notices each new length.
    pub(super) fn subscribe(&self) -> watch::Receiver<Backlog> {
        self.0.subscribe()
    }
}
