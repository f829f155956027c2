//! The errors of the interface, and the only place where an error becomes a status. Clients show the messages; their
//! wording may change.

use std::time::Duration;

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::source_url::SourceUrlError;
use http::StatusCode;

use super::{Response, UploadError};
use crate::admission::policy::AdmissionError;
use crate::response::negotiation::NegotiationError;

/// An error of the interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The request names no content.
    #[error("Say which content: /v1/content/?url=<url of the source>, or /v1/content/<id>.")]
    NeitherIdNorUrl,
    /// The URL cannot be a source.
    #[error(transparent)]
    Url(#[from] SourceUrlError),
    /// The URL's host is a private or reserved address.
    #[error(transparent)]
    Address(#[from] RefusedAddress),
    /// The response cannot have the requested form.
    #[error(transparent)]
    NotAcceptable(#[from] NegotiationError),
    /// The file is not taken.
    #[error(transparent)]
    Upload(#[from] UploadError),
    /// There is no content with the id.
    #[error("There is no content with this id.")]
    NoSuchContent,
    /// The operator has taken the content down, for this reason.
    #[error("This content was taken down: {0}")]
    TakenDown(String),
    /// There is a content, and its pyramid is not ready.
    #[error("The content is not ready yet. Please ask again.")]
    NotReady,
    /// There is a content whose conversion failed.
    #[error("The conversion failed. /v1/content/<id> says why.")]
    NeverReady,
    /// The operator admits no new contents for now.
    #[error("The service is down for maintenance and takes no new content. Please try again later.")]
    Maintenance,
    /// The queue's backlog is past its limit.
    #[error("The service is overloaded and takes no new content. Please try again later.")]
    Overloaded,
    /// New contents are for clients that sign their requests.
    #[error(
        "This service takes new contents from its own clients only: the request is not signed, or not any more."
    )]
    NotSigned,
    /// The client has its share of the backlog waiting.
    #[error("You have as many contents waiting as you can have now. Please try again later.")]
    TooManyWaiting,
    /// The client's tiles of the day are used up.
    #[error("You have had as many tiles made as you can have in a day. Please try again tomorrow.")]
    TooManyTiles,
    /// The client has asked for many ids that no content has.
    #[error("You have asked for many contents that do not exist. Please try again in a minute.")]
    TooManyUnknown,
    /// The client created too many contents within a minute.
    #[error("You have asked for many new contents within a minute. Please try again in a minute.")]
    TooManyNew,
    /// A part of the service does not respond.
    #[error("The service is unavailable for the moment. Please try again.")]
    Unavailable,
}

impl From<AdmissionError> for ApiError {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Maintenance => Self::Maintenance,
            AdmissionError::NotSigned => Self::NotSigned,
            AdmissionError::TooManyNew => Self::TooManyNew,
            AdmissionError::TooManyWaiting => Self::TooManyWaiting,
            AdmissionError::TooManyTiles => Self::TooManyTiles,
            AdmissionError::Overloaded => Self::Overloaded,
        }
    }
}

impl ApiError {
    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NeitherIdNorUrl | Self::Url(_) | Self::Address(_) | Self::NotAcceptable(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::Upload(error) => error.status(),
            Self::NoSuchContent | Self::NotReady | Self::NeverReady => StatusCode::NOT_FOUND,
            Self::TakenDown(_) => StatusCode::GONE,
            Self::NotSigned => StatusCode::FORBIDDEN,
            Self::Maintenance
            | Self::Overloaded
            | Self::TooManyNew
            | Self::TooManyWaiting
            | Self::TooManyTiles
            | Self::TooManyUnknown
            | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// When to try again, if that can help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = match self {
            Self::NotReady => 2,
            Self::Unavailable => 5,
            Self::Overloaded | Self::TooManyNew | Self::TooManyWaiting | Self::TooManyUnknown => 60,
            Self::Maintenance => 300,
            Self::TooManyTiles => 3600, // the day ends at midnight UTC
            Self::NeitherIdNorUrl
            | Self::Url(_)
            | Self::Address(_)
            | Self::NotAcceptable(_)
            | Self::Upload(_)
            | Self::NoSuchContent
            | Self::TakenDown(_)
            | Self::NotSigned
            | Self::NeverReady => {
                return None;
            }
        };
        Some(Duration::from_secs(seconds))
    }

    /// The response in plain text.
    #[must_use]
    pub fn response(&self) -> Response {
        self.add_retry_after(Response::text(self.status(), self.to_string()))
    }

    /// Adds `Retry-After` to a response, if trying again can help.
    #[must_use]
    pub fn add_retry_after(&self, response: Response) -> Response {
        match self.retry_after() {
            Some(time) => response.with("Retry-After", time.as_secs().to_string()),
            None => response,
        }
    }
}
