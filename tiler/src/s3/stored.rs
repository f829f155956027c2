//! What an upload counts.

/// What an upload has stored so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The number of tiles.
    pub tiles: u64,
    /// Their size in bytes.
    pub bytes: u64,
}
