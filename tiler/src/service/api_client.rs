//! Posts JSON with a bearer token. The clients of the edge and of the queue share this.

use std::time::{Duration, SystemTime};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use url::Url;

use crate::http_client;
use crate::secret::Secret;

/// Client of one API.
#[derive(Clone)]
pub(super) struct ApiClient {
    client: Client,
    base: Url,
    token: Secret,
}

/// The reason why a call failed. It may succeed later. The messages are for the log.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There was no response, or it broke off.
    #[error("no response: {}", http_client::causes(.0))]
    Unanswered(#[source] reqwest::Error),
    /// The response has an error status.
    #[error("responded with {status}{}{message}", if .message.is_empty() { "" } else { ": " })]
    Answered {
        /// The status.
        status: StatusCode,
        /// The beginning of the body.
        message: String,
        /// Wait that `Retry-After` asks for.
        retry_after: Option<Duration>,
    },
    /// The body cannot be parsed.
    #[error("the response cannot be parsed: {0}")]
    Malformed(String),
}

/// Short, because requests and responses are small.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const CALL_TIME: Duration = Duration::from_secs(10);

/// Number of characters of a response that are logged.
const MESSAGE_LENGTH: usize = 200;

impl ApiClient {
    pub(super) fn new(base: Url, token: Secret) -> reqwest::Result<Self> {
        let client = http_client::builder().connect_timeout(CONNECT_TIME).timeout(CALL_TIME).build()?;
        Ok(Self { client, base, token })
    }

    /// Sends a body and returns the response, whatever its status.
    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Response, CallError> {
        self.request(path).json(body).send().await.map_err(CallError::Unanswered)
    }

    fn request(&self, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        self.client.post(url).bearer_auth(self.token.reveal())
    }
}

impl CallError {
    /// Returns the error of an unsuccessful response.
    pub(super) async fn from_response(response: Response) -> Self {
        let status = response.status();
        let retry_after = http_client::retry_after(response.headers(), SystemTime::now());
        let text = response.text().await.unwrap_or_default();
        Self::Answered { status, message: excerpt(text.trim()), retry_after }
    }

    /// Returns the wait that the server asks for.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answered { retry_after, .. } => *retry_after,
            Self::Unanswered(_) | Self::Malformed(_) => None,
        }
    }
}

/// Returns the beginning of a text from another program, for the log.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(MESSAGE_LENGTH).collect()
}
