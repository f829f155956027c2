//! The rules of admission: the clients' shares, the reasons for a refusal, and the limit of the queue.

use std::time::Duration;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::Backlog;
use serde::{Deserialize, Serialize};

/// Time for which a tiler's report counts. Without one, the length of the queue is unknown, and only jobs that were
/// admitted and have not ended limit what a client may have waiting.
pub const VALID: Duration = Duration::from_secs(120);

/// The shares of clients in the queue and in the day's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Maximum number of waiting jobs. Beyond it, new contents are refused.
    pub backlog: u64,
    /// Maximum share of the tilers' slots for all clients that have jobs already, together, in percent. Below 100,
    /// another client always finds a free slot if there are two or more.
    pub slots_percent: u64,
    /// Maximum number of tiles for a client per day (UTC).
    pub tiles_a_day: u64,
    /// Maximum number of tiles for all clients together per day (UTC).
    pub all_tiles_a_day: u64,
    /// Maximum number of concurrent jobs with sources on one host.
    pub host_jobs: u64,
}

/// Maximum of [`Shares::backlog`]: the object with the queue may have 128 MB, and a waiting job takes about 700 bytes
/// of them (`edge/benches/backlog.mjs`).
pub const MAX_BACKLOG: u64 = 100_000;

impl Default for Shares {
    fn default() -> Self {
        Self {
            // At a few seconds per conversion, a queue of this length takes hours; clients had better come back later.
            backlog: 10_000,
            slots_percent: 75,
            // 5,000 photographs of 40 megapixels, or ten pictures of 20 gigapixels.
            tiles_a_day: 1_000_000,
            all_tiles_a_day: u64::MAX,
            // All tilers together make a few downloads at once: a job downloads for only part of its time.
            host_jobs: 16,
        }
    }
}

/// Why a new content is refused. Clients see the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdmissionError {
    #[error("The service is down for maintenance and accepts no new contents. Try again later.")]
    Maintenance,
    #[error("This service accepts new contents only with a valid signature.")]
    NotSigned,
    #[error("You have created or deleted too many contents. Try again in a minute.")]
    TooManyNew,
    /// The client has used its share of the queue.
    #[error("You have too many contents waiting. Try again later.")]
    TooManyWaiting,
    #[error("You have reached today's tile limit. Try again tomorrow.")]
    TooManyTiles,
    /// The tiles of all clients, or the time of all containers, are used up.
    #[error("The service has converted as much as it may today. Try again after midnight UTC.")]
    SpentToday,
    /// The queue is too long, or admission cannot be checked.
    #[error("The service is overloaded and accepts no new contents. Try again later.")]
    Overloaded,
}

/// A tiler's report on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacklogReport {
    /// Length of the queue.
    pub backlog: Backlog,
    pub at: Timestamp,
}

impl BacklogReport {
    /// Returns true if the report still counts.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now - self.at < VALID
    }

    /// Returns true if the queue is longer than the limit.
    pub fn exceeds(&self, limit: u64, now: Timestamp) -> bool {
        self.is_valid(now) && self.backlog.messages > limit
    }
}

/// A small number of contents that are admitted in each window while admission cannot be checked, because a rate
/// limiter or the object with the queue does not respond. A fault closes the service to nearly all, but a short one is
/// hardly noticed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowance {
    since: Timestamp,
    used: u32,
}

/// Maximum number per isolate and window.
const MAX_UNCHECKED: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);

impl Allowance {
    /// The unused allowance.
    pub const NEW: Self = Self { since: Timestamp(0), used: 0 };

    /// Takes one; returns false if none is left until the window ends.
    pub fn take(&mut self, now: Timestamp) -> bool {
        if now - self.since >= WINDOW {
            *self = Self { since: now, used: 0 };
        }
        let is_left = self.used < MAX_UNCHECKED;
        self.used += u32::from(is_left);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_content::protocol::{Capacity, TilerId};

    use super::*;

    #[test]
    fn a_long_queue_exceeds_the_limit_while_its_report_counts() {
        let report = BacklogReport {
            backlog: Backlog {
                messages: 11,
                capacity: Capacity { tiler: TilerId(1), slots: 2 },
                leaving: false,
            },
            at: Timestamp(1_000_000),
        };
        assert!(report.exceeds(10, Timestamp(1_000_000)));
        assert!(report.exceeds(10, Timestamp(1_119_999)));
        assert!(!report.exceeds(10, Timestamp(1_120_000)));
        assert!(!report.exceeds(11, Timestamp(1_000_000)));
        assert!(report.exceeds(10, Timestamp(999_000)), "clocks differ");
    }

    #[test]
    fn a_few_are_admitted_in_a_minute() {
        let mut allowance = Allowance::NEW;
        for minute in [1, 2, 7] {
            let now = Timestamp(minute * 60_000);
            let taken =
                (0..1000).filter(|second| allowance.take(now + Duration::from_millis(*second))).count();
            assert_eq!(taken, 10, "minute {minute}");
        }
    }
}
