//! From rows of pixels to the tiles of a Deep Zoom pyramid, in memory proportional to the picture's width.
//!
//! A picture comes as [`RowReader`](edgezoom_codecs::RowReader): rows from top to bottom. [`build()`] reads them a strip of some
//! rows at a time into a buffer, halves the strip into the buffer of the level below, and so on down to one pixel.
//! Every strip goes to the threads that cut tiles. Each of them owns some columns of tiles and keeps an encoder open for
//! each tile that has begun: it gives the encoder the tile's share of each row, straight from the strip. So no tile is
//! ever copied together, nothing waits for a whole row of tiles, and a strip is read by the encoders while the cache
//! still holds it.
//!
//! A picture of 20,000 by 10,000 pixels takes 40 MiB so. Buffered rows of tiles as the unit would be 31 MB each, and several
//! of them are needed.
//!
//! Nothing here knows of picture formats, processes or files.

pub mod builder;
mod compressor;
mod cutter;
pub mod encode;
pub mod geometry;
mod planar;
pub mod shrink;
pub mod sinks;
mod strip;

use std::io;

use bytes::Bytes;

pub use builder::{BuildError, build};
pub use encode::Encoding;

/// Where a tile is in a pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The level: 0 is one pixel.
    pub level: u32,
    /// The column, from the left.
    pub column: u32,
    /// The row, from the top.
    pub row: u32,
}

/// What takes the finished tiles, called by several threads at once and in no particular order.
pub trait Output: Sync {
    /// Takes a tile, in its final format. An error ends the building.
    fn tile(&self, place: Place, bytes: &[u8]) -> io::Result<()>;
    /// Is told how many of the picture's rows are read. An error ends the building.
    fn progress(&self, rows: u32) -> io::Result<()>;
}

/// An encoded tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The level, 0 being one pixel.
    pub level: u32,
    /// The column, from the left.
    pub column: u32,
    /// The row, from the top.
    pub row: u32,
    /// The file's content.
    pub bytes: Bytes,
}
