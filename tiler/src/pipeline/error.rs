//! Why a conversion gave no pyramid. Which failure code each error has is in [`failure`](crate::failure).

use std::io;

use edgezoom_pyramid::sinks;

use crate::browser::PageError;
use crate::fetch::FetchError;
use crate::renderer::RenderError;
use crate::s3::{StoreError, UploadedFileError};

/// Why a conversion gave no pyramid, by the step that failed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// What the step needs could not be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
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
    /// The file that a client has sent could not be fetched.
    #[error(transparent)]
    Upload(#[from] UploadedFileError),
    /// The sink could not store the pyramid.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// What a pipeline needs could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No HTTP client, because the machine has no root certificates for instance.
    #[error("no HTTP client can be set up: {0}")]
    HttpClient(#[source] reqwest::Error),
}

/// A sink could not store a pyramid. The messages may name files and hosts.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The object store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file system.
    #[error(transparent)]
    Files(#[from] sinks::SinkError),
}
