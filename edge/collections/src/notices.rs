//! Notices of changes to the address that the owner of a collection has named, by Standard Webhooks: when one is sent,
//! what it says, and what follows from the answer. Nothing is lost with a notice: its receiver reads the journal.

use std::time::Duration;

use edgezoom_content::{CollectionName, SourceUrl, Timestamp};
use serde::{Deserialize, Serialize};

/// Minimum time between two notices.
const PAUSE: Duration = Duration::from_secs(5);
/// Pauses before a failed notice is repeated, as the standard recommends. After the last one there are no more.
const REPEATS: [u64; 9] =
    [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600];

/// The state of the notices to an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notices {
    /// Address that they are sent to, under the sources' policy.
    pub url: SourceUrl,
    /// Number of the last change that the receiver knows.
    pub after: u64,
    /// Number of attempts in a row that failed.
    pub failures: u8,
    /// True if no more are sent: all repeats have failed, or the receiver has said that it is gone.
    pub off: bool,
    /// Number of the last change in the notice under way, so that a repeated one is the same.
    last: u64,
    /// Time before which none is sent.
    at: Timestamp,
}

/// The notice that is due, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Due {
    /// At this time.
    At(Timestamp),
    /// Now.
    Now(Notice),
}

/// A notice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// Address.
    pub url: String,
    /// Id, which a repeated one has too.
    pub id: String,
    pub data: Changes,
    /// State until it is answered.
    pub notices: Notices,
}

/// The changes that a notice is about: those behind `after`, up to `last`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    pub collection: CollectionName,
    pub after: u64,
    pub last: u64,
}

impl Notices {
    /// Returns the state before the first notice to an address, of a collection with this last change.
    pub fn new(url: SourceUrl, last: u64) -> Self {
        Self { url, after: last, failures: 0, off: false, last, at: Timestamp(0) }
    }

    /// Returns what is due for a collection with this last change; `None`: nothing.
    pub fn due(&self, name: &CollectionName, last: u64, now: Timestamp) -> Option<Due> {
        if self.off || last <= self.after {
            return None;
        }
        if now < self.at {
            return Some(Due::At(self.at));
        }
        let last = if self.failures > 0 { self.last } else { last };
        Some(Due::Now(Notice {
            url: self.url.as_str().to_owned(),
            id: format!("{name}.{last}"),
            data: Changes { collection: name.clone(), after: self.after, last },
            notices: Self { last, ..self.clone() },
        }))
    }

    /// Returns the state after an answer with this status; 0 if there was none.
    #[must_use]
    pub fn answered(self, status: u16, now: Timestamp) -> Self {
        match status {
            200..=299 => Self { after: self.last, failures: 0, at: now + PAUSE, ..self },
            410 => Self { off: true, ..self },
            _ => match REPEATS.get(usize::from(self.failures)) {
                Some(pause) => {
                    let at = now + Duration::from_secs(*pause);
                    Self { failures: self.failures + 1, at, ..self }
                }
                None => Self { off: true, ..self },
            },
        }
    }
}
