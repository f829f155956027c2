//! Errors of building a pyramid.

use std::io;

use edgezoom_codecs::SourceError;

/// An error of building a pyramid.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The picture cannot be read or decoded.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A tile could not be encoded, or the output returned an error.
    #[error("a tile could not be written: {0}")]
    Output(#[from] io::Error),
    /// An encoder thread panicked.
    #[error("a thread that encodes tiles panicked")]
    Thread,
}
