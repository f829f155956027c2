//! Whether the network is idle: no request of the page has been pending for a while. The term and the method are those
//! of Puppeteer's and Playwright's `networkidle`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The pending requests of a page.
#[derive(Debug)]
pub(super) struct NetworkActivity {
    /// When each pending request was sent, by its id.
    pending: HashMap<String, Instant>,
    /// When a request was last pending.
    last_active: Instant,
}

/// The number of requests tracked. A page with more pending requests is not idle anyway.
const MAX_REQUESTS: usize = 10_000;

impl NetworkActivity {
    pub(super) fn new(now: Instant) -> Self {
        Self { pending: HashMap::new(), last_active: now }
    }

    /// A request of a `ResourceType` of the Network domain was sent. Connections that stay open are not waited for.
    pub(super) fn sent(&mut self, request: &str, resource_type: &str, now: Instant) {
        let ignored = matches!(resource_type, "EventSource" | "WebSocket" | "Media" | "Ping" | "Preflight");
        if !ignored && self.pending.len() < MAX_REQUESTS {
            self.pending.insert(request.to_owned(), now);
            self.last_active = now;
        }
    }

    /// A request has finished or failed.
    pub(super) fn ended(&mut self, request: &str, now: Instant) {
        if self.pending.remove(request).is_some() {
            self.last_active = now;
        }
    }

    /// Whether no request has been pending for `quiet`. Requests that are older than `timeout` do not count.
    pub(super) fn is_idle(&mut self, quiet: Duration, timeout: Duration, now: Instant) -> bool {
        self.pending.retain(|_, sent| now.saturating_duration_since(*sent) < timeout);
        if !self.pending.is_empty() {
            self.last_active = now;
        }
        now.saturating_duration_since(self.last_active) >= quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_millis(500);
    const TIMEOUT: Duration = Duration::from_secs(8);

    #[test]
    fn a_pending_request_keeps_the_network_busy_until_it_times_out() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut network = NetworkActivity::new(start);
        assert!(!network.is_idle(QUIET, TIMEOUT, at(499)) && network.is_idle(QUIET, TIMEOUT, at(500)));
        for request in ["a", "b"] {
            network.sent(request, "Image", at(500));
        }
        network.ended("a", at(600));
        assert!(!network.is_idle(QUIET, TIMEOUT, at(5000)));
        assert!(!network.is_idle(QUIET, TIMEOUT, at(8400)));
        assert!(!network.is_idle(QUIET, TIMEOUT, at(8600)), "timed out, but a moment ago it was pending");
        assert!(network.is_idle(QUIET, TIMEOUT, at(8900)), "a request that never ends is ignored");
    }

    #[test]
    fn connections_that_stay_open_are_not_waited_for() {
        let start = Instant::now();
        let mut network = NetworkActivity::new(start);
        network.sent("a", "EventSource", start);
        assert!(network.is_idle(QUIET, TIMEOUT, start + QUIET));
    }
}
