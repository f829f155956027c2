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
    /// Number of requests and redirects that the page still gets.
    left: u32,
}

impl NetworkActivity {
    /// Starts now, with the number of requests and redirects that the page gets.
    pub(super) fn new(left: u32, now: FairInstant) -> Self {
        Self { pending: HashMap::new(), last_active: now, left }
    }

    /// Records a request of a `ResourceType` of the Network domain. Connections that stay open do not keep the network
    /// busy. Returns true if it is the last one that the page gets.
    pub(super) fn sent(&mut self, request: &str, resource_type: &str, now: FairInstant) -> bool {
        let is_last = self.left == 1;
        let ignored = matches!(resource_type, "EventSource" | "WebSocket" | "Media" | "Ping" | "Preflight");
        if !ignored && self.left > 0 {
            self.pending.insert(request.to_owned(), now);
            self.last_active = now;
        }
        self.left = self.left.saturating_sub(1);
        is_last
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
        let mut network = NetworkActivity::new(9, start);
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
    fn the_last_request_of_a_budget_is_told_once() {
        let mut network = NetworkActivity::new(3, FairInstant::default());
        let told =
            ["Fetch", "Ping", "Fetch", "Fetch"].map(|kind| network.sent(kind, kind, FairInstant::default()));
        assert_eq!(told, [false, false, true, false]);
    }

    #[test]
    fn connections_that_stay_open_are_ignored() {
        let start = FairInstant::default();
        let mut network = NetworkActivity::new(9, start);
        network.sent("a", "EventSource", start);
        assert!(network.is_idle(QUIET, TIMEOUT, start + QUIET));
    }
}
