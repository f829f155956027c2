//! The messages between edge and tiler. The queue carries a [`Job`]. A tiler that pulled one requests a [`Claim`] from
//! the edge, and sends [`Report`]s while it works. Both go to the Worker's `/internal/` paths as JSON, with the tilers'
//! bearer token.
//!
//! | call | response |
//! |---|---|
//! | `POST` [`claim_path`], a [`ClaimRequest`] | 200 with a [`Claim`]; 404: no such conversion; 409: the conversion is claimed, waiting or finished, or only a tiler without other jobs may claim it. After 404 and 409 the tiler drops the job |
//! | `POST` [`report_path`], a [`Report`] | 204: accepted, the lease is renewed; 404, 409: the attempt is over, the tiler stops and deletes what the attempt wrote |
//! | either | 400: malformed; 401: wrong token; 5xx: try again |

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Archive, Attempt, CoarseNumber, ContentId, Dzi, Failure, Previews, Progress, SourceUrl, Stage, Title,
    UploadKey, Warning,
};

/// The message in the queue: this content has to be converted. It may arrive twice, late or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The content to convert.
    pub id: ContentId,
    /// Whether the tiler must have no other job meanwhile: the content lost its leases to tilers that died, and may have
    /// been an innocent neighbour of the one that killed them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// The tiler whose renderer something outside killed in the last attempt. It should leave the job to another one, if
    /// there is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoid: Option<TilerId>,
}

/// A tiler: a number that it chooses at random when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TilerId(pub u32);

/// A tiler's request for a [`Claim`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRequest {
    /// The tiler.
    pub tiler: Option<TilerId>,
    /// Whether it has no other job, and takes none until this one has ended.
    pub alone: bool,
}

impl ClaimRequest {
    /// What an empty body stands for: an older tiler, which does not know that a job may have to be alone. It gets any
    /// claim, as no other tiler may be there.
    pub const OF_OLDER_TILER: Self = Self { tiler: None, alone: true };
}

/// The right to convert a content, until the lease ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The content.
    pub id: ContentId,
    /// Its source.
    pub url: SourceUrl,
    /// Where the file lies in the store that a client has sent, if that is the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<UploadKey>,
    /// The attempt, which is the prefix of the keys to write. Objects of earlier attempts are to be deleted.
    pub attempt: Attempt,
    /// The duration of the lease in milliseconds, from the claim and from each accepted report.
    pub lease_ms: u64,
}

/// A tiler's report on the attempt that it claimed. Any report renews the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The attempt.
    pub attempt: Attempt,
    /// Its progress or its result.
    pub outcome: Outcome,
}

/// The progress or the result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The attempt goes on.
    Progress {
        /// The stage of the conversion.
        stage: Stage,
        /// The progress of the whole conversion.
        progress: Progress,
        /// The latest [coarse picture](Attempt::coarse_key) that is in the store.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coarse: Option<CoarseNumber>,
    },
    /// The pyramid is in the store, complete.
    Finished {
        /// The description of the picture.
        dzi: Dzi,
        /// The title of a web page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
        /// What is missing of a source that is damaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<Warning>,
        /// Where the archive has its index, if the pyramid is stored as one object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        archive: Option<Archive>,
        /// Where the small pictures are. An older tiler made none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previews: Option<Previews>,
    },
    /// The conversion failed. The tiler has deleted the objects of the attempt.
    GaveUp {
        /// Why.
        failure: Failure,
        /// Whether another attempt may succeed.
        #[serde(default)]
        retry: Retry,
    },
    /// The tiler shuts down, and the job is queued again. Does not count as a failed attempt.
    HandedBack,
}

/// Whether an attempt that failed is followed by another one without a request, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// No: the next attempt would fail in the same way, or cost as much in vain.
    #[default]
    Never,
    /// After a while, because the reason may have passed.
    Later {
        /// In how many seconds the source's server permits the next request, if it said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_seconds: Option<u32>,
    },
    /// At once, and by another tiler if there is one: something outside killed the process that read the source.
    Elsewhere,
}

/// The length of the queue, as a tiler sees it when it pulls. Past its limit the edge refuses new contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// How many messages the queue has, including those that tilers have pulled.
    pub messages: u64,
    /// How much the tiler does at once. Older ones do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

/// How much a tiler does at once. The edge sends the queue no more than all tilers can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// The tiler.
    pub tiler: TilerId,
    /// Its conversions at once.
    pub slots: u32,
}

impl Backlog {
    /// So many messages, from a tiler that does not say what it does at once.
    #[must_use]
    pub fn of(messages: u64) -> Self {
        Self { messages, capacity: None }
    }
}

/// The path to `POST` the [`Backlog`] to, about every ten seconds: a report is valid for two minutes.
pub const BACKLOG_PATH: &str = "/internal/backlog";

/// The header of the response to a [`Backlog`] with the number of tilers that have reported lately. They share the provider's
/// limit of calls to the queue.
pub const TILERS_HEADER: &str = "Edgezoom-Tilers";

/// The path to `POST` to for the claim on a content.
#[must_use]
pub fn claim_path(id: ContentId) -> String {
    format!("/internal/content/{id}/claim")
}

/// The path to `POST` reports on a content to.
#[must_use]
pub fn report_path(id: ContentId) -> String {
    format!("/internal/content/{id}/report")
}

impl Claim {
    /// The duration of the lease.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }
}
