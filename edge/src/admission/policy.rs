//! The rules of admission: why a new content is refused, and when the queue's backlog is past the limit.

use std::time::Duration;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::Backlog;
use serde::{Deserialize, Serialize};

/// How long a report counts. When no tiler has reported for longer, the length of the queue is unknown: what a client may
/// have waiting is limited all the same, by what was admitted and has not ended.
pub const VALID: Duration = Duration::from_secs(120);

/// How the queue and the day's tiles are shared out among clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// How many jobs may wait in all before new contents are refused.
    pub backlog: u64,
    /// How much of the tilers' slots one client may have, in percent. Below 100, another client always finds a free one
    /// where there are two or more.
    pub slots_percent: u64,
    /// How many tiles may be made for a client in a day (UTC).
    pub tiles_a_day: u64,
    /// How many jobs may be under way at once whose sources are on one host.
    pub host_jobs: u64,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            // At some seconds a conversion, a queue of this length takes hours; a client does better to come back later.
            backlog: 10_000,
            slots_percent: 75,
            // 5,000 photographs of 40 megapixels, or ten pictures of 20 gigapixels.
            tiles_a_day: 1_000_000,
            // A few downloads at once from the tilers together. A job downloads for a part of its time only.
            host_jobs: 16,
        }
    }
}

/// Why a new content is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionError {
    /// The operator admits no new contents for now.
    Maintenance,
    /// New contents are for clients that sign their requests.
    NotSigned,
    /// The client created too many contents within a minute.
    TooManyNew,
    /// The client has its share of the backlog waiting.
    TooManyWaiting,
    /// The client's tiles of the day are used up.
    TooManyTiles,
    /// The queue's backlog is past its limit, or admission cannot be checked.
    Overloaded,
}

impl AdmissionError {
    const ALL: [Self; 6] = [
        Self::Maintenance,
        Self::NotSigned,
        Self::TooManyNew,
        Self::TooManyWaiting,
        Self::TooManyTiles,
        Self::Overloaded,
    ];

    /// The name in the Durable Object's reply.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Maintenance => "maintenance",
            Self::NotSigned => "not-signed",
            Self::TooManyNew => "too-many-new",
            Self::TooManyWaiting => "too-many-waiting",
            Self::TooManyTiles => "too-many-tiles",
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
    /// Whether the report still counts.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now - self.at < VALID
    }

    /// Whether the backlog is longer than the limit.
    #[must_use]
    pub fn exceeds(&self, limit: u64, now: Timestamp) -> bool {
        self.is_valid(now) && self.backlog.messages > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_exceeds_the_limit_while_its_report_is_fresh() {
        let report = BacklogReport { backlog: Backlog::of(11), at: Timestamp(1_000_000) };
        assert!(report.exceeds(10, Timestamp(1_000_000)));
        assert!(report.exceeds(10, Timestamp(1_119_999)));
        assert!(!report.exceeds(10, Timestamp(1_120_000)));
        assert!(!report.exceeds(11, Timestamp(1_000_000)));
        assert!(report.exceeds(10, Timestamp(999_000)), "clocks differ");
    }

    #[test]
    fn each_error_is_read_by_its_name() {
        for error in AdmissionError::ALL {
            assert_eq!(AdmissionError::from_name(error.name()), Some(error));
        }
    }
}
