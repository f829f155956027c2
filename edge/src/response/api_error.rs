//! The errors of the API, and the only place where an error becomes a status. Clients see the messages; their wording
//! may change.

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
    #[error("Name a content: /v1/content/?url=<URL of the source> or /v1/content/<id>.")]
    NeitherIdNorUrl,
    #[error(transparent)]
    Url(#[from] SourceUrlError),
    #[error(transparent)]
    Address(#[from] RefusedAddress),
    /// The response cannot have the requested form.
    #[error(transparent)]
    NotAcceptable(#[from] NegotiationError),
    /// The upload is rejected.
    #[error(transparent)]
    Upload(#[from] UploadError),
    #[error("There is no content with this id.")]
    NoSuchContent,
    /// The operator has taken the content down, for this reason.
    #[error("This content was taken down: {0}")]
    TakenDown(String),
    #[error("This content was deleted by its owner.")]
    Deleted,
    /// All ids that the content of a file may have belong to deleted contents.
    #[error("This file was uploaded and deleted too often. Change it, then upload it again.")]
    DeletedTooOften,
    #[error("Send the deletion key of the upload: Authorization: Bearer <deletionKey>.")]
    NoDeletionKey,
    /// The deletion key is wrong, or there is no such content.
    #[error("The deletion key is wrong.")]
    WrongDeletionKey,
    /// The request about a collection is refused.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    #[error("The content is not ready yet. Try again soon.")]
    NotReady,
    #[error("The conversion failed. For the reason, get /v1/content/<id>.")]
    NeverReady,
    #[error(transparent)]
    NotAdmitted(#[from] AdmissionError),
    #[error("You have requested too many contents that do not exist. Try again in a minute.")]
    TooManyUnknown,
    #[error("You have too many uploads that are not complete. Complete them, or try again in an hour.")]
    TooManyOpen,
    /// The client has reached its daily limit of uploaded bytes.
    #[error("You have reached today's upload limit. Try again tomorrow.")]
    TooMuchSent,
    #[error("You have reached today's deletion limit. Try again tomorrow.")]
    TooManyDeleted,
    #[error(
        "You have requested too many new regions or searches in a minute. Tiles and previews have no such limit."
    )]
    TooManyRegions,
    #[error(
        "The service has rendered all regions of today, or your part of them. Tiles and previews are served, and regions again from midnight UTC."
    )]
    NoRegionsLeft,
    /// The tiles of a region have more bytes than an isolate can hold.
    #[error("This region has too many bytes. Request a smaller one.")]
    TooManyTileBytes,
    #[error("The service is temporarily unavailable. Try again.")]
    Unavailable,
}

/// Why an upload is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// The file, or a part, has more than this number of bytes.
    #[error("The file is too large: the limit is {0} bytes.")]
    TooLarge(u64),
    #[error(
        "The request has no file. Send it as the body, or as a field of multipart/form-data. To convert a file on the \
         web, use GET /v1/content/?url=<URL of the file>."
    )]
    NoFile,
    #[error("The file is empty.")]
    EmptyFile,
    #[error("The form is not valid multipart/form-data (RFC 7578).")]
    MalformedForm,
    #[error("The upload stalled. Send the file again.")]
    Stalled,
    #[error("The request needs a Content-Length header.")]
    NoLength,
    /// There is no such upload in parts: it is complete, or has expired.
    #[error("This upload has expired. Start again.")]
    NotBegun,
    #[error("The part is empty. Send its bytes as the body.")]
    EmptyPart,
    #[error("The parts of this upload were sent too often. Start again.")]
    TooManyParts,
    /// The file's SHA-256 differs from the one in the query.
    #[error("The file's SHA-256 is not the digest in the URL. Send the file that the URL was made for.")]
    OtherFile,
    #[error("The digest is not a SHA-256 in base64url without padding.")]
    MalformedDigest,
    #[error(
        "The parts do not form a file. Send all parts, all but the last with the same size, and then their etags: \
         {{\"parts\":[\"<etag of part 1>\", …]}}"
    )]
    MalformedParts,
    #[error(
        "Send the file as multipart/form-data, or as the body with its own media type, such as image/jpeg. With curl: \
         -F file=@city.jpg. To convert a file on the web, use GET /v1/content/?url=<URL of the file>."
    )]
    NotAFile,
    #[error("Pages of other sites may not upload files here.")]
    ForeignOrigin,
}

/// Why a request about a collection is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectionError {
    #[error("Send the key of the collection: Authorization: Bearer <key>.")]
    NoKey,
    #[error("The key is wrong, or there is no such collection. Only signed requests begin one.")]
    WrongKey,
    #[error("The key of a new collection has 32 to 200 characters.")]
    KeyLength,
    #[error("There is no such collection.")]
    Unknown,
    #[error("The collection is being deleted. Try again later.")]
    Leaves,
    #[error("The settings are not one JSON object as described: {0}")]
    Settings(String),
    #[error("Send JSON Lines as the body, one object a line.")]
    NoLines,
    #[error("A request may have 10,000 lines and 8 MiB, and settings 16 KiB.")]
    TooMuch,
    #[error(
        "`after` is a number, `limit` one from 1 to 1000, `order` is added, and `state` that of an entry."
    )]
    Parameter,
}

impl CollectionError {
    /// Returns the error that the object of a collection names.
    pub fn named(text: &str) -> Self {
        match text.split_once(' ').unwrap_or((text, "")) {
            ("no-key", _) => Self::NoKey,
            ("wrong-key", _) => Self::WrongKey,
            ("leaves", _) => Self::Leaves,
            ("settings", reason) => Self::Settings(reason.to_owned()),
            ("parameter", _) => Self::Parameter,
            _ => Self::Unknown,
        }
    }
}

impl ApiError {
    /// Returns the error of a content that the operator has taken down for a reason, or that its uploader has deleted
    /// if there is none.
    pub fn removed(reason: &str) -> Self {
        if reason.is_empty() { Self::Deleted } else { Self::TakenDown(reason.to_owned()) }
    }

    pub fn status(&self) -> StatusCode {
        match self {
            Self::NeitherIdNorUrl | Self::Url(_) | Self::Address(_) | Self::NotAcceptable(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::Upload(error) => match error {
                UploadError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
                UploadError::NoLength => StatusCode::LENGTH_REQUIRED,
                UploadError::NotBegun => StatusCode::NOT_FOUND,
                UploadError::NoFile
                | UploadError::EmptyFile
                | UploadError::MalformedForm
                | UploadError::EmptyPart
                | UploadError::TooManyParts
                | UploadError::OtherFile
                | UploadError::MalformedDigest
                | UploadError::MalformedParts => StatusCode::BAD_REQUEST,
                UploadError::Stalled => StatusCode::REQUEST_TIMEOUT,
                UploadError::NotAFile => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                UploadError::ForeignOrigin => StatusCode::FORBIDDEN,
            },
            Self::NoSuchContent | Self::NotReady | Self::NeverReady => StatusCode::NOT_FOUND,
            Self::TakenDown(_) | Self::Deleted => StatusCode::GONE,
            Self::DeletedTooOften => StatusCode::CONFLICT,
            Self::NoDeletionKey => StatusCode::UNAUTHORIZED,
            Self::WrongDeletionKey => StatusCode::FORBIDDEN,
            Self::Collection(error) => match error {
                CollectionError::NoKey => StatusCode::UNAUTHORIZED,
                CollectionError::WrongKey => StatusCode::FORBIDDEN,
                CollectionError::Unknown => StatusCode::NOT_FOUND,
                CollectionError::Leaves => StatusCode::CONFLICT,
                CollectionError::TooMuch => StatusCode::PAYLOAD_TOO_LARGE,
                CollectionError::KeyLength
                | CollectionError::Settings(_)
                | CollectionError::NoLines
                | CollectionError::Parameter => StatusCode::BAD_REQUEST,
            },
            Self::TooManyRegions => StatusCode::TOO_MANY_REQUESTS,
            Self::TooManyTileBytes => StatusCode::NOT_IMPLEMENTED,
            Self::NotAdmitted(AdmissionError::NotSigned) => StatusCode::FORBIDDEN,
            Self::NotAdmitted(_)
            | Self::TooManyUnknown
            | Self::TooManyOpen
            | Self::TooMuchSent
            | Self::TooManyDeleted
            | Self::NoRegionsLeft
            | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the time after which to try again, if that can help.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = match self {
            Self::NotReady => 2,
            Self::Unavailable => 5,
            Self::TooManyUnknown | Self::TooManyRegions => 60,
            Self::TooManyOpen | Self::TooMuchSent | Self::TooManyDeleted | Self::NoRegionsLeft => 3600,
            Self::NotAdmitted(error) => return error.retry_after(),
            Self::Collection(CollectionError::Leaves) => 60,
            Self::NeitherIdNorUrl
            | Self::Url(_)
            | Self::Address(_)
            | Self::NotAcceptable(_)
            | Self::Upload(_)
            | Self::NoSuchContent
            | Self::TakenDown(_)
            | Self::Deleted
            | Self::DeletedTooOften
            | Self::NoDeletionKey
            | Self::WrongDeletionKey
            | Self::TooManyTileBytes
            | Self::Collection(_)
            | Self::NeverReady => return None,
        };
        Some(Duration::from_secs(seconds))
    }

    pub fn response(&self) -> Response {
        let response = self.add_retry_after(Response::text(self.status(), self.to_string()));
        if self.status() == StatusCode::UNAUTHORIZED {
            response.with("WWW-Authenticate", "Bearer")
        } else {
            response
        }
    }

    /// Adds `Retry-After` to a response if trying again can help.
    pub fn add_retry_after(&self, response: Response) -> Response {
        match self.retry_after() {
            Some(time) => response.with("Retry-After", time.as_secs().to_string()),
            None => response,
        }
    }
}
