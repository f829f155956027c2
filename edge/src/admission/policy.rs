//! When a new content may be created: whether the queue's backlog is past the limit, and who counts as one client. What is
//! known already is never asked for here.

use std::net::IpAddr;
use std::time::Duration;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::Backlog;
use serde::{Deserialize, Serialize};

/// For how long a report is believed. When tilers are silent for longer, nothing is known of the queue: it takes what comes,
/// and loses nothing for days.
const BELIEVED: Duration = Duration::from_secs(120);

/// What a tiler told of the queue, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// How much waits.
    pub backlog: Backlog,
    /// When that was heard.
    pub at: Timestamp,
}

impl Reported {
    /// Whether more waits than may.
    #[must_use]
    pub fn is_past(&self, limit: u64, now: Timestamp) -> bool {
        now - self.at < BELIEVED && self.backlog.messages > limit
    }
}

/// By what a client is counted: an IPv4 address, or the 64 bits of an IPv6 one that name a network, as its owner has all
/// addresses in it. Who comes from the machine itself is the operator, and not counted.
#[must_use]
pub fn client(address: &str) -> Option<String> {
    match address.parse::<IpAddr>().ok()?.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V4(address) => Some(address.to_string()),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Some(format!("{a:x}:{b:x}:{c:x}:{d:x}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_past_the_limit_stops_what_is_new_while_it_is_fresh() {
        let reported = Reported { backlog: Backlog { messages: 11 }, at: Timestamp(1_000_000) };
        assert!(reported.is_past(10, Timestamp(1_000_000)));
        assert!(reported.is_past(10, Timestamp(1_119_999)));
        assert!(!reported.is_past(10, Timestamp(1_120_000)));
        assert!(!reported.is_past(11, Timestamp(1_000_000)));
        assert!(reported.is_past(10, Timestamp(999_000)), "clocks differ");
    }

    #[test]
    fn a_client_is_an_address_or_a_network() {
        for (address, counted) in [
            ("203.0.113.7", Some("203.0.113.7")),
            ("::ffff:203.0.113.7", Some("203.0.113.7")),
            ("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2")),
            ("2001:db8:1:2::1", Some("2001:db8:1:2")),
            ("127.0.0.1", None),
            ("::1", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(client(address).as_deref(), counted, "{address}");
        }
    }
}
