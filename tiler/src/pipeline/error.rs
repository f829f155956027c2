//! The reasons why a conversion fails. [`failure`](crate::failure) classifies them.

use std::io;

use crate::browser::PageError;
use crate::credentials::SealError;
use crate::fetch::FetchError;
use crate::renderer::RenderError;
use crate::s3::SinkError;
use crate::s3::UploadedFileError;

/// The reason why a conversion failed, by the step that failed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The HTTP client for sources could not be created, for instance because the machine has no root certificates.
    #[error("cannot create an HTTP client: {0}")]
    HttpClient(#[from] reqwest::Error),
    /// The sealed headers of the source could not be opened.
    #[error(transparent)]
    Sealed(#[from] SealError),
    /// The source could not be downloaded.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The source's file could not be read.
    #[error("The source could not be read.")]
    File(#[from] io::Error),
    /// The web page could not be captured.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The source could not be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The uploaded file could not be fetched.
    #[error(transparent)]
    Upload(#[from] UploadedFileError),
    /// The sink could not store the pyramid.
    #[error(transparent)]
    Sink(#[from] SinkError),
}
