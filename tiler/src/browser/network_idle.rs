//! Detects when the network is idle: when no request of the page has been pending for a while. The term and the method
//! are those of Puppeteer's and Playwright's `networkidle`.

use std::collections::HashMap;
use std::time::Duration;

use super::fair_clock::FairInstant;

/// The pending requests of a page.
#[derive(Debug)]
pub(super) struct NetworkActivity {
    /// Time at which each pending request was sent, by request id.
    pending: HashMap<String, FairInstant>,
    /// Time at which a request was last pending.
    last_active: FairInstant,
}

/// Maximum number of requests tracked. A page with more pending requests is not idle anyway.
const MAX_REQUESTS: usize = 10_000;

impl NetworkActivity {
    pub(super) fn new(now: FairInstant) -> Self {
        Self { pending: HashMap::new(), last_active: now }
    }

    /// Records a request of a `ResourceType` of the Network domain. Ignores connections that stay open.
    pub(super) fn sent(&mut self, request: &str, resource_type: &str, now: FairInstant) {
        let ignored = matches!(resource_type, "EventSource" | "WebSocket" | "Media" | "Ping" | "Preflight");
        if !ignored && self.pending.len() < MAX_REQUESTS {
            self.pending.insert(request.to_owned(), now);
            self.last_active = now;
        }
    }

    /// Records that a request has finished or failed.
    pub(super) fn ended(&mut self, request: &str, now: FairInstant) {
        if self.pending.remove(request).is_some() {
            self.last_active = now;
        }
    }

    /// Returns true if a request is pending. Requests older than `timeout` are ignored.
    pub(super) fn is_pending(&mut self, timeout: Duration, now: FairInstant) -> bool {
        self.pending.retain(|_, sent| now.since(*sent) < timeout);
        if !self.pending.is_empty() {
            self.last_active = now;
        }
        !self.pending.is_empty()
    }

    /// Returns true if no request has been pending for `quiet`. Requests older than `timeout` are ignored.
    pub(super) fn is_idle(&mut self, quiet: Duration, timeout: Duration, now: FairInstant) -> bool {
        !self.is_pending(timeout, now) && now.since(self.last_active) >= quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_millis(500);
    const TIMEOUT: Duration = Duration::from_secs(8);

    #[test]
    fn a_pending_request_keeps_the_network_busy_until_it_times_out() {
        let start = FairInstant::default();
        let at = |ms| start + Duration::from_millis(ms);
        let mut network = NetworkActivity::new(start);
        assert!(!network.is_idle(QUIET, TIMEOUT, at(499)) && network.is_idle(QUIET, TIMEOUT, at(500)));
        for request in ["a", "b"] {
            network.sent(request, "Image", at(500));
        }
        network.ended("a", at(600));
        assert!(!network.is_idle(QUIET, TIMEOUT, at(5000)));
        assert!(!network.is_idle(QUIET, TIMEOUT, at(8400)));
        assert!(!network.is_idle(QUIET, TIMEOUT, at(8600)), "it was pending until a moment ago");
        assert!(network.is_idle(QUIET, TIMEOUT, at(8900)), "a request that never ends is ignored");
    }

    #[test]
    fn connections_that_stay_open_are_ignored() {
        let start = FairInstant::default();
        let mut network = NetworkActivity::new(start);
        network.sent("a", "EventSource", start);
        assert!(network.is_idle(QUIET, TIMEOUT, start + QUIET));
    }
}
