//! Why a pyramid could not be written to a sink.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Why a pyramid could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// There is a file or folder already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The path ends in no file name.
    #[error("{} does not end in a name for the pyramid", .0.display())]
    Nameless(PathBuf),
    /// The file system returned an error.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file or folder that could not be written.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The error of a sink outside this crate.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
}

impl SinkError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
