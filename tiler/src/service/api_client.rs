//! `POST` of JSON with a bearer token: what the calls to the edge and to the queue have in common.

use std::time::{Duration, SystemTime};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use url::Url;

use crate::http_client;
use crate::secret::Secret;

/// Calls one API.
#[derive(Clone)]
pub(super) struct ApiClient {
    client: Client,
    base: Url,
    token: Secret,
}

/// A call that failed and may succeed later. The messages are for the log.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There was no response, or it broke off.
    #[error("no answer: {}", http_client::causes(.0))]
    Unanswered(#[source] reqwest::Error),
    /// The response has an error's status.
    #[error("answered {status}{}{message}", if .message.is_empty() { "" } else { ": " })]
    Answered {
        /// The status.
        status: StatusCode,
        /// The beginning of the body.
        message: String,
        /// The header `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The body cannot be parsed.
    #[error("answered something that cannot be parsed: {0}")]
    Malformed(String),
}

/// Requests and responses are small.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const CALL_TIME: Duration = Duration::from_secs(10);

/// The characters of a response that are kept for the log.
const MESSAGE_LENGTH: usize = 200;

impl ApiClient {
    pub(super) fn new(base: Url, token: Secret) -> reqwest::Result<Self> {
        let client = http_client::builder().connect_timeout(CONNECT_TIME).timeout(CALL_TIME).build()?;
        Ok(Self { client, base, token })
    }

    /// Sends a body, and gives the response whatever its status.
    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Response, CallError> {
        self.request(path).json(body).send().await.map_err(CallError::Unanswered)
    }

    fn request(&self, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        self.client.post(url).bearer_auth(self.token.reveal())
    }
}

impl CallError {
    /// The error of a response without success.
    pub(super) async fn from_response(response: Response) -> Self {
        let status = response.status();
        let retry_after = http_client::retry_after(response.headers(), SystemTime::now());
        let text = response.text().await.unwrap_or_default();
        Self::Answered { status, message: excerpt(text.trim()), retry_after }
    }

    /// How long the server asks to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answered { retry_after, .. } => *retry_after,
            Self::Unanswered(_) | Self::Malformed(_) => None,
        }
    }
}

/// The beginning of a text from another program, for the log.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(MESSAGE_LENGTH).collect()
}
