//! Errors of sinks.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// An error of writing a pyramid to a sink.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// A file or folder exists at the destination.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// A folder exists at the destination that is no pyramid of this layout, and is not replaced.
    #[error("{} is a folder without {descriptor}", path.display())]
    NoPyramid {
        /// The folder.
        path: PathBuf,
        /// Name of the file that every pyramid of this layout has.
        descriptor: &'static str,
    },
    /// The page at the destination of a site is another one's, and is not replaced.
    #[error("{} is not a page of this viewer", .0.display())]
    OtherPage(PathBuf),
    /// The site would lack its pyramid.
    #[error("web hosts leave out files whose names begin with _, . or #: choose another name than {}", .0.display())]
    Unhosted(PathBuf),
    /// The path does not end in a file name.
    #[error("{} does not end in a name for the pyramid", .0.display())]
    Nameless(PathBuf),
    /// The file system returned an error.
    #[error("cannot write {}: {reason}", path.display())]
    Io {
        /// File or folder that could not be written.
        path: PathBuf,
        /// Error of the system.
        reason: io::Error,
    },
    /// A file or folder could not be moved, and then those that had been moved not back.
    #[error("{error}; what it would have replaced is in {}", folder.display())]
    Scattered {
        /// Folder of the older files that are not where they were.
        folder: PathBuf,
        /// The first error.
        error: Box<Self>,
    },
    /// An error of a sink outside this crate.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
}

impl SinkError {
    pub(super) fn io(path: &Path, reason: io::Error) -> Self {
        Self::Io { path: path.to_owned(), reason }
    }
}
