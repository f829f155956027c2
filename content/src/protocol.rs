//! What edge and tiler say to each other. The queue carries a [`Job`]; a tiler that pulled one asks the edge for a
//! [`Claim`], and with it in hand sends [`Report`]s. Both go to the Worker's `/internal/` paths as JSON, with the tilers'
//! bearer token.
//!
//! | call | answers |
//! |---|---|
//! | `POST` [`claim_path`], empty body | 200 with a [`Claim`]; 404: no such conversion; 409: nothing to do (claimed or finished). After 404 and 409 the job is done with |
//! | `POST` [`report_path`], a [`Report`] | 204: taken, the lease runs anew; 404, 409: the attempt is over, stop and delete what it wrote |
//! | either | 400: not understood; 401: wrong token; 5xx: try again |

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Attempt, ContentId, Dzi, Failure, Progress, SourceUrl, Stage, Title};

/// The message in the queue: somebody should convert this content. It may arrive twice, late or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The content to convert.
    pub id: ContentId,
}

/// The right to convert a content, until the lease ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The content.
    pub id: ContentId,
    /// Its source.
    pub url: SourceUrl,
    /// The attempt, under whose prefix to write. Whatever lies under a lower one is to be deleted.
    pub attempt: Attempt,
    /// How long the lease runs from the claim and from each report that is taken, in milliseconds.
    pub lease_ms: u64,
}

/// What a tiler tells of the attempt it claimed. Any report renews the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The attempt it is about.
    pub attempt: Attempt,
    /// What there is to tell.
    pub outcome: Outcome,
}

/// What became, so far, of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is under way.
    Progress {
        /// What is being done.
        stage: Stage,
        /// How far the whole has come.
        progress: Progress,
    },
    /// The pyramid is complete and its descriptor in place.
    Finished {
        /// What was rendered.
        dzi: Dzi,
        /// What the source calls itself, if it is a web page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
    },
    /// It cannot be done. Nothing of the attempt is left in the store.
    GaveUp {
        /// Why.
        failure: Failure,
    },
    /// The tiler shuts down: another one should do it. Does not count as a failed attempt.
    HandedBack,
}

/// How much waits in the queue, as a tiler sees it when it pulls. The edge starts nothing new past its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// How many messages the queue has, those included that tilers are at work on.
    pub messages: u64,
}

/// The path to `POST` the [`Backlog`] to, every ten seconds or so: it is believed for two minutes.
pub const BACKLOG_PATH: &str = "/internal/backlog";

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
    /// How long the lease runs.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }
}
