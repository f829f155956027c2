//! The size of a strip or tile.

/// What is decoded of a chunk.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The pixels across it, and down.
    pub columns: u32,
    pub rows: u32,
    /// The bytes of a row.
    pub row_bytes: usize,
    /// The samples of a pixel in it.
    pub together: usize,
}
