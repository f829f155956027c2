//! A job that has not ended, as it is kept and stored.

use edgezoom_content::Timestamp;
use edgezoom_content::protocol::Job;
use serde::{Deserialize, Serialize};

/// A job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub job: Job,
    /// The client that it counts for.
    pub party: String,
    /// The host of its source.
    pub host: String,
    /// What has a smaller number came earlier.
    pub order: u64,
    /// When it was sent to the queue; `None` while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}
