//! Why a pyramid could not be stored in files.

use std::io;
use std::path::{Path, PathBuf};

/// Why a pyramid could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// Something is there already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// A path without a last part.
    #[error("{} has no name for a pyramid", .0.display())]
    Nameless(PathBuf),
    /// The file system refuses.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// What could not be written.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl SinkError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
