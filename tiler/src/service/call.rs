//! A `POST` of JSON with a bearer token: what the calls to the edge and to the queue have in common.

use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use url::Url;

use crate::http_client;
use crate::secret::Secret;

/// Somebody to call.
#[derive(Clone)]
pub(super) struct Peer {
    client: Client,
    base: Url,
    token: Secret,
}

/// A call that may go better later. The messages are for the log.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer came, or it broke off.
    #[error("no answer: {}", causes(.0))]
    Unanswered(#[source] reqwest::Error),
    /// The answer says that it did not work.
    #[error("answered {status}{}{message}", if .message.is_empty() { "" } else { ": " })]
    Answered {
        /// Its status.
        status: StatusCode,
        /// What it says of the reason.
        message: String,
        /// How long it asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// The answer is not what was agreed on.
    #[error("answered something else than was agreed on: {0}")]
    Garbled(String),
}

/// Calls are small and their answers too.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const CALL_TIME: Duration = Duration::from_secs(10);

/// The characters of an answer that are worth a place in the log.
const MESSAGE_LENGTH: usize = 200;

impl Peer {
    pub(super) fn new(base: Url, token: Secret) -> reqwest::Result<Self> {
        let client = http_client::builder().connect_timeout(CONNECT_TIME).timeout(CALL_TIME).build()?;
        Ok(Self { client, base, token })
    }

    /// Calls with something to say, and gives the answer whatever its status.
    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Response, CallError> {
        self.to(path).json(body).send().await.map_err(CallError::Unanswered)
    }

    /// Calls with an empty body.
    pub(super) async fn post_nothing(&self, path: &str) -> Result<Response, CallError> {
        self.to(path).send().await.map_err(CallError::Unanswered)
    }

    fn to(&self, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        self.client.post(url).bearer_auth(self.token.reveal())
    }
}

impl CallError {
    /// The error that an answer stands for.
    pub(super) async fn from_answer(answer: Response) -> Self {
        let status = answer.status();
        let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let text = answer.text().await.unwrap_or_default();
        Self::Answered { status, message: excerpt(text.trim()), retry_after }
    }

    /// How long the other side asks to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answered { retry_after, .. } => *retry_after,
            Self::Unanswered(_) | Self::Garbled(_) => None,
        }
    }
}

/// The beginning of a text that somebody else wrote.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(MESSAGE_LENGTH).collect()
}

fn causes(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| (*cause).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
