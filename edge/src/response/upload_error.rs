//! Why a file is not taken. Clients show the messages.

use http::StatusCode;

/// Why a file is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// It has more than so many bytes.
    #[error("The file is too large: it may have {0} bytes.")]
    TooLarge(u64),
    /// The body is empty, or none of the form's fields is a file.
    #[error("There is no file in the request. Send it as the body, or as a field of multipart/form-data.")]
    NoFile,
    /// The form has no boundary, or breaks off.
    #[error("The form cannot be read as multipart/form-data (RFC 7578).")]
    MalformedForm,
    /// Nothing came for a minute.
    #[error("The file stopped coming. Send it once more.")]
    Stalled,
    /// A body of unknown length, where only one of a known length is taken.
    #[error("The request needs a Content-Length.")]
    NoLength,
    /// There is no such file in parts: it is finished, or was given up.
    #[error("This file is not being sent, or not any more. Begin once more.")]
    NotBegun,
    /// The list of the parts is none, or does not fit what was sent.
    #[error(
        "The parts do not make a file: send each, all but the last of one size, and then the list of their tags."
    )]
    MalformedParts,
    /// The body is a form without files.
    #[error(
        "Send the file as multipart/form-data, or as the body with its own media type, such as image/jpeg: with curl \
         by -F file=@city.jpg."
    )]
    NotAFile,
    /// A page of another site sends it.
    #[error("Pages of other sites may not send files here.")]
    ForeignOrigin,
}

impl UploadError {
    /// The status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoLength => StatusCode::LENGTH_REQUIRED,
            Self::NotBegun => StatusCode::NOT_FOUND,
            Self::NoFile | Self::MalformedForm | Self::MalformedParts => StatusCode::BAD_REQUEST,
            Self::Stalled => StatusCode::REQUEST_TIMEOUT,
            Self::NotAFile => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::ForeignOrigin => StatusCode::FORBIDDEN,
        }
    }
}
