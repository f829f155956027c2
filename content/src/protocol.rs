//! The messages between edge and tiler. The queue carries a [`Job`]. A tiler that pulled one asks the edge for a
//! [`Claim`] and sends [`Report`]s while it works. Both go to the Worker's `/internal/` paths as JSON, with the tilers'
//! bearer token.
//!
//! | call | response |
//! |---|---|
//! | `POST` [`claim_path`], a [`ClaimRequest`] | 200 with a [`Claim`]; 404: no such conversion; 409: it is claimed, waiting or finished, or only a tiler without other jobs may claim it. After 404 and 409 the tiler drops the job |
//! | `POST` [`report_path`], a [`Report`] | 204: accepted, and the lease is renewed; 404, 409: the attempt is over, so the tiler stops and deletes what the attempt wrote |
//! | either | 400: malformed; 401: wrong token; 5xx: try again |

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Attempt, CoarseNumber, ContentId, Failure, Finished, Progress, SourceUrl, Stage, UploadKey};

/// A message in the queue: this content has to be converted. It may arrive twice, late or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Content to convert.
    pub id: ContentId,
    /// True if the tiler must have no other job meanwhile: this content lost its leases to tilers that died, and either
    /// killed them or was a neighbour of the content that did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Tiler whose renderer was killed from outside in the last attempt. It should leave the job to another tiler if
    /// there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoid: Option<TilerId>,
}

/// The identifier of a tiler: a random number that it chooses when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TilerId(pub u32);

/// A tiler's request for a [`Claim`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRequest {
    /// The tiler.
    pub tiler: TilerId,
    /// True if the tiler has no other job and takes none until this one has ended.
    pub alone: bool,
}

/// The right to convert a content until the lease ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The content.
    pub id: ContentId,
    /// Its source.
    pub url: SourceUrl,
    /// Key of the file in the store if the source is an uploaded file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<UploadKey>,
    /// Attempt, which is part of the keys to write. The tiler deletes the objects of earlier attempts.
    pub attempt: Attempt,
    /// Duration of the lease in milliseconds, from the claim and from each accepted report.
    pub lease_ms: u64,
}

impl Claim {
    /// Returns the duration of the lease.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }
}

/// A tiler's report on the attempt that it claimed. Every report renews the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The attempt.
    pub attempt: Attempt,
    /// Its progress or result.
    pub outcome: Outcome,
}

/// The progress or the result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The attempt goes on.
    Progress(AttemptProgress),
    /// The complete pyramid is in the store.
    Finished {
        /// Result of the attempt. Flattened as in [`Status::Ready`](crate::Status): the Worker has one deserializer for
        /// it.
        #[serde(flatten)]
        finished: Finished,
    },
    /// The conversion failed. The tiler has deleted the objects of the attempt.
    GaveUp {
        /// Reason.
        failure: Failure,
        /// Says if and when to try again.
        #[serde(default)]
        retry: Retry,
    },
    /// The tiler shuts down, and the job is queued again. This does not count as a failed attempt.
    HandedBack,
}

/// The progress of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptProgress {
    /// Stage of the conversion.
    pub stage: Stage,
    /// Progress of the whole conversion.
    pub progress: Progress,
    /// Latest [coarse picture](Attempt::coarse_key) in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coarse: Option<CoarseNumber>,
    /// Number of tiles that count in the day's budgets, as soon as the picture's size is known: those of the pyramid, or
    /// more if they are larger than [`TILE_BYTES`](crate::TILE_BYTES).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<u64>,
}

impl AttemptProgress {
    /// The progress of an attempt that was just claimed.
    pub const CLAIMED: Self = Self::of(Stage::Downloading, Progress::NONE);

    /// Returns the progress in a stage.
    #[must_use]
    pub const fn of(stage: Stage, progress: Progress) -> Self {
        Self { stage, progress, coarse: None, tiles: None }
    }

    /// Returns the larger value of each member.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            stage: self.stage.max(other.stage),
            progress: self.progress.max(other.progress),
            coarse: self.coarse.max(other.coarse),
            tiles: self.tiles.max(other.tiles),
        }
    }
}

/// Says if and when another attempt follows a failed one without a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// No: the next attempt would fail in the same way, or cost as much.
    #[default]
    Never,
    /// After a pause, because the reason may pass.
    Later {
        /// Seconds until the source's server permits the next request, if it said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_seconds: Option<u32>,
    },
    /// At once, by another tiler if there is one: the process that read the source was killed from outside.
    Elsewhere,
}

/// Names and bounds, in seconds, of the buckets in which the Worker counts durations for `tiler edge-metrics`.
pub const DURATION_BOUNDS: [(&str, f64); 7] = [
    ("0.25", 0.25),
    ("1", 1.0),
    ("2.5", 2.5),
    ("10", 10.0),
    ("60", 60.0),
    ("600", 600.0),
    ("+Inf", f64::INFINITY),
];

/// The length of the queue, as a tiler sees it when it pulls. Beyond a limit, the edge refuses new contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// Number of messages in the queue, including those that tilers have pulled.
    pub messages: u64,
    /// Capacity of the tiler.
    pub capacity: Capacity,
    /// True if the tiler takes no more jobs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
}

/// The capacity of a tiler. The edge sends the queue no more jobs than all tilers can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// The tiler.
    pub tiler: TilerId,
    /// Maximum number of concurrent conversions.
    pub slots: u32,
}

/// Path to `POST` the [`Backlog`] to, about every ten seconds. A report is valid for two minutes.
pub const BACKLOG_PATH: &str = "/internal/backlog";

/// Header of a [`Backlog`] from a container of the operator's: its number and that of its start, such as `0/17`. The
/// Worker itself adds it.
pub const CONTAINER_HEADER: &str = "Edgezoom-Container";

/// Header of the response to a [`Backlog`]: the number of tilers that have reported recently. They share the provider's
/// limit on calls to the queue.
pub const TILERS_HEADER: &str = "Edgezoom-Tilers";

/// Returns the path to `POST` the [`ClaimRequest`] for a content to.
#[must_use]
pub fn claim_path(id: ContentId) -> String {
    format!("/internal/content/{id}/claim")
}

/// Returns the path to `POST` the [`Report`]s on a content to.
#[must_use]
pub fn report_path(id: ContentId) -> String {
    format!("/internal/content/{id}/report")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_paths_of_their_content() {
        let id = "6qy4OXfXSid".parse().unwrap();
        assert_eq!(claim_path(id), "/internal/content/6qy4OXfXSid/claim");
        assert_eq!(report_path(id), "/internal/content/6qy4OXfXSid/report");
    }

    #[test]
    fn a_lease_is_sent_in_milliseconds() {
        let claim = r#"{"id": "6qy4OXfXSid", "url": "http://example.com/", "attempt": 1, "leaseMs": 60000}"#;
        assert_eq!(serde_json::from_str::<Claim>(claim).unwrap().lease(), Duration::from_secs(60));
    }
}
