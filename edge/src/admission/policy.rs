//! The rules of admission: the clients' shares, the reasons for a refusal, and the limit of the queue.

use std::time::Duration;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::Backlog;
use serde::{Deserialize, Serialize};

use super::client::Client;
use crate::config::Config;

/// Time for which a tiler's report counts. Without one, the length of the queue is unknown, and only jobs that were
/// admitted and have not ended limit what a client may have waiting.
pub const VALID: Duration = Duration::from_secs(120);

/// Why a new content is refused. Clients see the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdmissionError {
    #[error("The service is down for maintenance and accepts no new contents. Try again later.")]
    Maintenance,
    /// The service is closed, or the source has sealed headers.
    #[error("A new content needs a valid signature here, and sealed headers anywhere.")]
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

impl AdmissionError {
    /// Returns the time after which to try again, if that can help.
    pub fn retry_after(self) -> Option<Duration> {
        let seconds = match self {
            Self::Overloaded | Self::TooManyNew | Self::TooManyWaiting => 60,
            Self::Maintenance => 300,
            Self::TooManyTiles | Self::SpentToday => 3600, // the day ends at midnight UTC
            Self::NotSigned => return None,
        };
        Some(Duration::from_secs(seconds))
    }
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

/// Admits a client if the service is open to its kind.
pub fn admit_kind(client: Option<&Client>, config: &Config) -> Result<(), AdmissionError> {
    if config.maintenance {
        return Err(AdmissionError::Maintenance);
    }
    if config.signing.is_some() && !client.is_some_and(Client::is_trusted) {
        return Err(AdmissionError::NotSigned);
    }
    Ok(())
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

    #[test]
    fn a_closed_service_is_open_to_signed_requests_and_none_is_during_maintenance() {
        let config = |variables: &[(&str, &str)]| {
            let value = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            Config::read(value).unwrap()
        };
        let keys = ("SIGNING_KEYS", "shop:0123456789abcdef");
        let (open, closed) = (config(&[]), config(&[keys]));
        let resting = config(&[("MAINTENANCE", "on"), keys]);
        let (shop, other) = (Client::signed("shop"), Client::of_key("203.0.113.7"));
        for (client, by_closed) in [
            (Some(&shop), Ok(())),
            (Some(&other), Err(AdmissionError::NotSigned)),
            (None, Err(AdmissionError::NotSigned)),
        ] {
            assert_eq!(admit_kind(client, &open), Ok(()));
            assert_eq!(admit_kind(client, &closed), by_closed);
            assert_eq!(admit_kind(client, &resting), Err(AdmissionError::Maintenance));
        }
    }
}
