//! A tile, its address in the pyramid, and the interface that takes encoded tiles from the threads that make them.

use std::io;

use bytes::Bytes;
use edgezoom_geometry::{Dzi, PreviewKind};

/// The address of a tile in a pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileCoord {
    /// The level: 0 is one pixel, the last one the full picture.
    pub level: u32,
    /// The column, from the left.
    pub column: u32,
    /// The row, from the top.
    pub row: u32,
}

/// An encoded tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The level: 0 is one pixel, the last one the full picture.
    pub level: u32,
    /// The column, from the left.
    pub column: u32,
    /// The row, from the top.
    pub row: u32,
    /// The content of the tile's file.
    pub bytes: Bytes,
}

/// Takes encoded tiles. Several threads call it at once, and tiles come in no particular order.
///
/// An error of any method ends the building of the pyramid.
pub trait TileOutput: Sync {
    /// Takes the pyramid's description, before the first tile.
    ///
    /// # Errors
    /// When the pyramid cannot be written.
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        let _ = dzi;
        Ok(())
    }

    /// Takes a tile in its final format. The bytes are only lent: the next tile overwrites them.
    ///
    /// # Errors
    /// When the tile cannot be written.
    fn tile(&self, coord: TileCoord, bytes: &[u8]) -> io::Result<()>;

    /// Takes a small picture of the whole in the format of the tiles, which [`Options::previews`](crate::Options::previews)
    /// asks for. The bytes are only lent.
    ///
    /// # Errors
    /// When it cannot be written.
    fn preview(&self, kind: PreviewKind, bytes: &[u8]) -> io::Result<()> {
        let _ = (kind, bytes);
        Ok(())
    }

    /// Takes a picture of what is there so far, small and in JPEG, which [`Options::coarse_every`](crate::Options::coarse_every)
    /// asks for. The bytes are only lent.
    ///
    /// # Errors
    /// When it cannot be written.
    fn coarse(&self, bytes: &[u8]) -> io::Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// Reports how many rows of the picture have been read.
    ///
    /// # Errors
    /// When the building should end.
    fn progress(&self, rows: u32) -> io::Result<()> {
        let _ = rows;
        Ok(())
    }
}
