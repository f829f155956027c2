//! How much of a source has arrived. A download tells it, and what reads the source meanwhile learns it.

use std::fs::File;
use std::sync::Arc;

use tokio::sync::watch;

/// The latest [`Arrival`] of a download, once its first byte is there.
pub type Arrivals = watch::Receiver<Option<Arrival>>;

/// What has arrived of a source.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// How often the download has begun. Each time it has a file of its own: bytes of different beginnings may be those of
    /// different versions of the source.
    pub beginning: u32,
    /// What has arrived. Bytes are written at offsets, so the file's position is the reader's.
    pub file: Arc<File>,
    /// So many bytes of the file are there, and stay as they are.
    pub bytes: u64,
    /// The length that the server announced, if it did.
    pub announced: Option<u64>,
    /// Whether the download has ended well, and the file with it.
    pub is_complete: bool,
}
