//! The rules of admission: why a new content is refused, when the queue's backlog is past the limit, and what counts as
//! one client.

use std::net::IpAddr;
use std::time::Duration;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::Backlog;
use serde::{Deserialize, Serialize};

/// How long a report counts. When no tiler has reported for longer, the length of the queue is unknown, and new
/// contents are admitted: the queue keeps its messages for days.
const VALID: Duration = Duration::from_secs(120);

/// Why a new content is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionError {
    /// The operator admits no new contents for now.
    Maintenance,
    /// The client created too many contents within a minute.
    TooManyNew,
    /// The queue's backlog is past its limit.
    Overloaded,
}

impl AdmissionError {
    const ALL: [Self; 3] = [Self::Maintenance, Self::TooManyNew, Self::Overloaded];

    /// The name in the Durable Object's reply.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Maintenance => "maintenance",
            Self::TooManyNew => "too-many-new",
            Self::Overloaded => "overloaded",
        }
    }

    /// The error with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.name() == name)
    }
}

/// A tiler's report on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacklogReport {
    /// The length of the backlog.
    pub backlog: Backlog,
    /// When the report came.
    pub at: Timestamp,
}

impl BacklogReport {
    /// Whether the backlog is longer than the limit.
    #[must_use]
    pub fn exceeds(&self, limit: u64, now: Timestamp) -> bool {
        now - self.at < VALID && self.backlog.messages > limit
    }
}

/// The key by which a client is counted: an IPv4 address, or the first 64 bits of an IPv6 address, as one customer has
/// all addresses of such a network. `None` for a client on the same machine, which is the operator and is not counted.
#[must_use]
pub fn client_key(address: &str) -> Option<String> {
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
    fn a_backlog_exceeds_the_limit_while_its_report_is_fresh() {
        let report = BacklogReport { backlog: Backlog { messages: 11 }, at: Timestamp(1_000_000) };
        assert!(report.exceeds(10, Timestamp(1_000_000)));
        assert!(report.exceeds(10, Timestamp(1_119_999)));
        assert!(!report.exceeds(10, Timestamp(1_120_000)));
        assert!(!report.exceeds(11, Timestamp(1_000_000)));
        assert!(report.exceeds(10, Timestamp(999_000)), "clocks differ");
    }

    #[test]
    fn a_client_is_an_address_or_a_network() {
        for (address, key) in [
            ("203.0.113.7", Some("203.0.113.7")),
            ("::ffff:203.0.113.7", Some("203.0.113.7")),
            ("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2")),
            ("2001:db8:1:2::1", Some("2001:db8:1:2")),
            ("127.0.0.1", None),
            ("::1", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(client_key(address).as_deref(), key, "{address}");
        }
    }
}
