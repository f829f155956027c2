//! The edge, as a tiler sees it: it grants claims and takes reports. The calls are those of
//! [`protocol`](edgezoom_content::protocol).

use edgezoom_content::ContentId;
use edgezoom_content::protocol::{BACKLOG_PATH, Backlog, Claim, Report, claim_path, report_path};
use reqwest::StatusCode;
use url::Url;

use super::call::{CallError, Peer};
use crate::secret::Secret;

/// The edge.
#[derive(Clone)]
pub(super) struct Edge(Peer);

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It is taken, and the lease runs anew.
    Taken,
    /// The attempt is over.
    Refused,
}

impl Edge {
    pub(super) fn new(base: Url, token: Secret) -> reqwest::Result<Self> {
        Peer::new(base, token).map(Self)
    }

    /// Asks for the claim on a content; `None` when there is nothing to do for it.
    pub(super) async fn claim(&self, id: ContentId) -> Result<Option<Claim>, CallError> {
        let answer = self.0.post_nothing(&claim_path(id)).await?;
        match answer.status() {
            StatusCode::OK => {
                let claim: Claim =
                    answer.json().await.map_err(|error| CallError::Garbled(error.to_string()))?;
                Ok(Some(claim))
            }
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(None),
            _ => Err(CallError::from_answer(answer).await),
        }
    }

    /// Tells how much waits in the queue.
    pub(super) async fn tell_backlog(&self, backlog: &Backlog) -> Result<(), CallError> {
        let answer = self.0.post(BACKLOG_PATH, backlog).await?;
        if answer.status().is_success() { Ok(()) } else { Err(CallError::from_answer(answer).await) }
    }

    /// Tells of an attempt.
    pub(super) async fn report(&self, id: ContentId, report: &Report) -> Result<Told, CallError> {
        let answer = self.0.post(&report_path(id), report).await?;
        match answer.status() {
            StatusCode::NO_CONTENT => Ok(Told::Taken),
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(Told::Refused),
            _ => Err(CallError::from_answer(answer).await),
        }
    }
}
