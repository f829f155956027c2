//! Holds a source that would arrive too fast to be seen: it passes part by part.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Lets the parts of a held source pass, to all requests alike. Dropping it lets all pass, so that a test that fails
/// holds up no other one.
#[derive(Debug)]
pub struct Gate(Passed);

/// Number of parts that may pass.
pub(crate) type Passed = Arc<watch::Sender<usize>>;

/// Time after which a held source sends a single byte, because a download without data is given up.
const DRIP: Duration = Duration::from_secs(5);

impl Gate {
    pub(crate) fn closed() -> (Self, Passed) {
        let passed = Passed::new(watch::Sender::new(0));
        (Self(Arc::clone(&passed)), passed)
    }

    /// Lets the next part pass.
    pub fn pass(&self) {
        pass(&self.0);
    }

    /// Lets all parts pass.
    pub fn open(&self) {
        self.0.send_replace(usize::MAX);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

pub(crate) fn pass(passed: &Passed) {
    passed.send_modify(|parts| *parts = parts.saturating_add(1));
}

/// Waits until the part with this number may pass. Returns false if a byte is due before that.
pub(crate) async fn may_pass(passed: &Passed, part: usize) -> bool {
    let mut passed = passed.subscribe();
    timeout(DRIP, passed.wait_for(|parts| *parts > part)).await.is_ok()
}
