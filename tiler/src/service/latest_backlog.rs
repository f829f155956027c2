//! The length of the queue as the last pull returned it, and what this tiler does at once, for the reports to the edge.

use edgezoom_content::protocol::{Backlog, Capacity};
use tokio::sync::watch;

/// The length of the queue at the last pull.
pub(super) struct LatestBacklog(watch::Sender<Backlog>);

impl LatestBacklog {
    /// No messages yet.
    pub(super) fn new(capacity: Capacity) -> Self {
        Self(watch::Sender::new(Backlog { messages: 0, capacity: Some(capacity) }))
    }

    /// Sets the length.
    pub(super) fn set(&self, messages: u64) {
        self.0.send_modify(|backlog| backlog.messages = messages);
    }

    /// A receiver that notices each new length.
    pub(super) fn subscribe(&self) -> watch::Receiver<Backlog> {
        self.0.subscribe()
    }
}
