//! Calls to the edge: claims, reports and the length of the queue. [`protocol`](edgezoom_content::protocol) defines the
//! paths and bodies.

use edgezoom_content::ContentId;
use edgezoom_content::protocol::{
    BACKLOG_PATH, Backlog, Claim, ClaimRequest, Report, TILERS_HEADER, claim_path, report_path,
};
use reqwest::StatusCode;
use url::Url;

use super::api_client::{ApiClient, CallError};
use crate::secret::Secret;

/// Client of the edge.
#[derive(Clone)]
pub(super) struct EdgeClient(ApiClient);

/// Result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportResult {
    /// The edge accepted it and renewed the lease.
    Accepted,
    /// The edge refused it because the attempt was over.
    Refused,
    /// The edge did not respond, after all retries. It may have accepted the report nevertheless.
    Unanswered,
}

impl EdgeClient {
    pub(super) fn new(base: Url, token: Secret) -> reqwest::Result<Self> {
        ApiClient::new(base, token).map(Self)
    }

    /// Claims a content. Returns `None` if it needs no conversion, if another tiler has claimed it, or if only a tiler
    /// without other jobs may claim it.
    pub(super) async fn claim(
        &self,
        id: ContentId,
        request: &ClaimRequest,
    ) -> Result<Option<Claim>, CallError> {
        let response = self.0.post(&claim_path(id), request).await?;
        match response.status() {
            StatusCode::OK => {
                response.json().await.map(Some).map_err(|error| CallError::Malformed(error.to_string()))
            }
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(None),
            _ => Err(CallError::from_response(response).await),
        }
    }

    /// Reports the length of the queue. Returns the number of tilers.
    pub(super) async fn report_backlog(&self, backlog: &Backlog) -> Result<u32, CallError> {
        let response = self.0.post(BACKLOG_PATH, backlog).await?;
        if !response.status().is_success() {
            return Err(CallError::from_response(response).await);
        }
        let tilers =
            response.headers().get(TILERS_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
        tilers.ok_or_else(|| CallError::Malformed(format!("there is no {TILERS_HEADER}")))
    }

    /// Reports on an attempt. Returns [`ReportResult::Accepted`] or [`ReportResult::Refused`].
    pub(super) async fn report(&self, id: ContentId, report: &Report) -> Result<ReportResult, CallError> {
        let response = self.0.post(&report_path(id), report).await?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(ReportResult::Accepted),
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(ReportResult::Refused),
            _ => Err(CallError::from_response(response).await),
        }
    }
}
