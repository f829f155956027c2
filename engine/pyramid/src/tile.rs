//! Tiles, their addresses, and the trait for outputs that receive them from the encoder threads.

use std::io;

use bytes::Bytes;
use edgezoom_codecs::Metadata;
use edgezoom_geometry::{Dzi, PreviewKind};
use edgezoom_text::Text;

/// Address of a tile in a pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileCoord {
    /// Level: 0 is one pixel, the last one the full picture.
    pub level: u32,
    /// Column, from the left.
    pub column: u32,
    /// Row, from the top.
    pub row: u32,
}

/// An encoded tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Level: 0 is one pixel, the last one the full picture.
    pub level: u32,
    /// Column, from the left.
    pub column: u32,
    /// Row, from the top.
    pub row: u32,
    /// Content of the tile's file.
    pub bytes: Bytes,
}

/// Receives encoded tiles, from several threads at once and in no particular order.
///
/// An error of any method ends the build.
pub trait TileOutput: Sync {
    /// Receives the pyramid's description before the first tile.
    ///
    /// # Errors
    /// Return an error if the pyramid cannot be written.
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        let _ = dzi;
        Ok(())
    }

    /// Receives a tile in its final format. The next tile overwrites the bytes.
    ///
    /// # Errors
    /// Return an error if the tile cannot be written.
    fn tile(&self, coord: TileCoord, bytes: &[u8]) -> io::Result<()>;

    /// Receives a preview, a JPEG, if [`Options::previews`](crate::Options::previews) is set.
    ///
    /// # Errors
    /// Return an error if it cannot be written.
    fn preview(&self, kind: PreviewKind, bytes: &[u8]) -> io::Result<()> {
        let _ = (kind, bytes);
        Ok(())
    }

    /// Receives a coarse picture of the rows so far, in JPEG, if
    /// [`Options::coarse_every`](crate::Options::coarse_every) is set.
    ///
    /// # Errors
    /// Return an error if it cannot be written.
    fn coarse(&self, bytes: &[u8]) -> io::Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// Receives the words that the picture shows, [bounded](Text::bounded), if
    /// [`DrawingOptions::text`](edgezoom_codecs::DrawingOptions::text) asks for them.
    ///
    /// # Errors
    /// Return an error if they cannot be written.
    fn text(&self, text: Text) -> io::Result<()> {
        let _ = text;
        Ok(())
    }

    /// Receives what the picture's file states in words, after the last tile. It may have any characters.
    ///
    /// # Errors
    /// Return an error if it cannot be written.
    fn metadata(&self, metadata: Metadata) -> io::Result<()> {
        let _ = metadata;
        Ok(())
    }

    /// Receives the number of rows of the picture that have been read.
    ///
    /// # Errors
    /// Return an error to end the build.
    fn progress(&self, rows: u32) -> io::Result<()> {
        let _ = rows;
        Ok(())
    }
}
