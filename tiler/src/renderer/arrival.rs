//! A source that is still being downloaded, as a renderer reads it.

use std::fs::File;
use std::sync::Arc;

use tokio::sync::watch;

/// The latest [`Arrival`] of a download; `None` before its first byte.
pub type Arrivals = watch::Receiver<Option<Arrival>>;

/// The part of a source that has arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Number of times the download has started from the first byte. Each start writes a file of its own, because the
    /// bytes of two starts may belong to different versions of the source.
    pub beginning: u32,
    /// The file. The download writes at offsets, so the file's position belongs to the reader.
    pub file: Arc<File>,
    /// Number of bytes at the start of the file that are complete and will not change.
    pub bytes: u64,
    /// Length that the server announced, if any.
    pub announced: Option<u64>,
    /// True if the download has succeeded, so that the file is complete.
    pub is_complete: bool,
    /// True if the bytes have a content coding.
    pub is_coded: bool,
}
