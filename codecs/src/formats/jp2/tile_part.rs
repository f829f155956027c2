//! What a file has of its tiles.

/// A tile-part: its place in the file, and its length.
#[derive(Clone, Copy)]
pub struct Part {
    pub tile: u16,
    pub offset: u64,
    pub length: u64,
    /// How many its tile has, if it says so.
    pub count: Option<u8>,
    /// Whether it is there in full.
    pub is_whole: bool,
}

/// How much there is of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Part,
    All,
}
