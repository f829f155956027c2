//! Tells the edge how much waits in the queue, as the queue says at each pull, so that the edge takes nothing new when that is
//! too much. While all places are taken nothing is pulled: what was known then is told on, or the edge would take a service at
//! its limit for one that is idle.

use std::time::Duration;

use edgezoom_content::protocol::Backlog;
use tokio::sync::watch;
use tracing::warn;

use super::Workshop;

/// How often it is told at most. The edge believes it for two minutes.
const EVERY: Duration = Duration::from_secs(10);

/// What the queue said last.
pub(super) struct Latest(watch::Sender<Backlog>);

impl Default for Latest {
    fn default() -> Self {
        Self(watch::Sender::new(Backlog { messages: 0 }))
    }
}

impl Latest {
    /// Takes note of what the queue says.
    pub(super) fn note(&self, messages: u64) {
        self.0.send_replace(Backlog { messages });
    }
}

/// Tells the edge, until the service shuts down.
pub(super) async fn keep_telling(workshop: &Workshop) {
    let mut latest = workshop.backlog.0.subscribe();
    loop {
        let full = workshop.running() == workshop.capacity;
        tokio::select! {
            () = workshop.shutdown.cancelled() => return,
            _ = latest.changed() => {}
            () = tokio::time::sleep(EVERY), if full => {}
        }
        let backlog = *latest.borrow_and_update();
        if let Err(error) = workshop.edge.tell_backlog(&backlog).await {
            warn!(%error, "the edge cannot be told how much waits");
        }
        tokio::select! {
            () = workshop.shutdown.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}
