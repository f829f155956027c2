//! The errors of the API, and the only place where an error becomes a status. Clients see the messages; their wording may
//! change.

use std::time::Duration;

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::source_url::SourceUrlError;
use http::StatusCode;

use super::Response;
use crate::admission::policy::AdmissionError;
use crate::response::negotiation::NegotiationError;

/// An error of the API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The request names no content.
    #[error("Name a content: /v1/content/?url=<URL of the source> or /v1/content/<id>.")]
    NeitherIdNorUrl,
    /// The URL cannot be a source.
    #[error(transparent)]
    Url(#[from] SourceUrlError),
    /// The address policy refuses the URL.
    #[error(transparent)]
    Address(#[from] RefusedAddress),
    /// The response cannot have the requested form.
    #[error(transparent)]
    NotAcceptable(#[from] NegotiationError),
    /// The upload is rejected.
    #[error(transparent)]
    Upload(#[from] UploadError),
    /// No content has the id.
    #[error("There is no content with this id.")]
    NoSuchContent,
    /// The operator has taken the content down, for this reason.
    #[error("This content was taken down: {0}")]
    TakenDown(String),
    /// The content exists, but its pyramid is not ready.
    #[error("The content is not ready yet. Try again soon.")]
    NotReady,
    /// The content exists, but its conversion failed.
    #[error("The conversion failed. For the reason, get /v1/content/<id>.")]
    NeverReady,
    /// The operator refuses new contents for now.
    #[error("The service is down for maintenance and accepts no new contents. Try again later.")]
    Maintenance,
    /// The queue is too long.
    #[error("The service is overloaded and accepts no new contents. Try again later.")]
    Overloaded,
    /// Only clients that sign their requests may create contents.
    #[error("This service accepts new contents only with a valid signature.")]
    NotSigned,
    /// The client has used its share of the queue.
    #[error("You have too many contents waiting. Try again later.")]
    TooManyWaiting,
    /// The client has used its tiles of the day.
    #[error("You have reached today's tile limit. Try again tomorrow.")]
    TooManyTiles,
    /// The client has requested many ids that do not exist.
    #[error("You have requested too many contents that do not exist. Try again in a minute.")]
    TooManyUnknown,
    /// The client has created too many contents within a minute.
    #[error("You have created too many contents. Try again in a minute.")]
    TooManyNew,
    /// A part of the service does not respond.
    #[error("The service is temporarily unavailable. Try again.")]
    Unavailable,
}

/// Why an upload is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// The file, or a part, has more than this number of bytes.
    #[error("The file is too large: the limit is {0} bytes.")]
    TooLarge(u64),
    /// The body is empty, or the form has no file.
    #[error("The request has no file. Send it as the body, or as a field of multipart/form-data.")]
    NoFile,
    /// The form has no boundary, or is cut off.
    #[error("The form is not valid multipart/form-data (RFC 7578).")]
    MalformedForm,
    /// No data arrived for a minute.
    #[error("The upload stalled. Send the file again.")]
    Stalled,
    /// The length of the body has to be known.
    #[error("The request needs a Content-Length header.")]
    NoLength,
    /// There is no such upload in parts: it is complete, or has expired.
    #[error("This upload has expired. Start again.")]
    NotBegun,
    /// The list of parts is malformed, or does not match the parts that were sent.
    #[error(
        "The parts do not form a file. Send all parts, all but the last with the same size, and then the list of their \
         tags."
    )]
    MalformedParts,
    /// The body is a form without files.
    #[error(
        "Send the file as multipart/form-data, or as the body with its own media type, such as image/jpeg. With curl: \
         -F file=@city.jpg"
    )]
    NotAFile,
    /// A page of another site sends the request.
    #[error("Pages of other sites may not upload files here.")]
    ForeignOrigin,
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
    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NeitherIdNorUrl | Self::Url(_) | Self::Address(_) | Self::NotAcceptable(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::Upload(error) => match error {
                UploadError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
                UploadError::NoLength => StatusCode::LENGTH_REQUIRED,
                UploadError::NotBegun => StatusCode::NOT_FOUND,
                UploadError::NoFile | UploadError::MalformedForm | UploadError::MalformedParts => {
                    StatusCode::BAD_REQUEST
                }
                UploadError::Stalled => StatusCode::REQUEST_TIMEOUT,
                UploadError::NotAFile => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                UploadError::ForeignOrigin => StatusCode::FORBIDDEN,
            },
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

    /// Returns the time after which to try again, if that can help.
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
            | Self::NeverReady => return None,
        };
        Some(Duration::from_secs(seconds))
    }

    /// Returns the response in plain text.
    #[must_use]
    pub fn response(&self) -> Response {
        self.add_retry_after(Response::text(self.status(), self.to_string()))
    }

    /// Adds `Retry-After` to a response if trying again can help.
    #[must_use]
    pub fn add_retry_after(&self, response: Response) -> Response {
        match self.retry_after() {
            Some(time) => response.with("Retry-After", time.as_secs().to_string()),
            None => response,
        }
    }
}
