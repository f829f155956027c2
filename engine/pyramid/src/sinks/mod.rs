//! Destinations for pyramids. A [`Sink`] begins a pyramid and returns a [`PyramidWriter`], which receives the tiles.
//!
//! | sink | writes |
//! |---|---|
//! | [`DirectorySink`] | `<name>.dzi` and `<name>_files/`, or `<name>/` in other [layouts](crate::TileLayout) |
//! | [`ArchiveSink`] | `<name>.zip` or `<name>.szi`: the same in one file |
//!
//! Both name the files by a [`Tree`], which is made of the options that the pyramid is built with.
//!
//! A sink can also write to a network. With an asynchronous client, [`put`](PyramidWriter::put) sends tiles to a
//! bounded queue that the client's runtime empties, and [`publish`](PyramidWriter::publish) waits for the rest. Its
//! errors are [`SinkError::Other`].

mod archive;
mod directory;
mod error;
mod hidden;
mod output_path;
mod site;
mod timestamp;
mod tree;
mod vector_pages;

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use edgezoom_codecs::{Metadata, PageVectors};
use edgezoom_geometry::Dzi;
use edgezoom_text::Text;

pub use archive::{ArchiveFormat, ArchiveSink, ArchiveStream};
pub use directory::DirectorySink;
pub use error::SinkError;
pub use site::Site;
pub use tree::Tree;
pub use vector_pages::VectorPages;

use crate::{Built, Tile};

/// A destination for a pyramid, usable from any thread.
pub trait Sink: Send + Sync {
    /// Checks that [`begin`](Self::begin) would succeed, before a program reads a picture.
    ///
    /// # Errors
    /// Returns an error if a pyramid exists that may not be replaced.
    fn check(&self) -> Result<(), SinkError> {
        Ok(())
    }

    /// Begins a pyramid.
    ///
    /// # Errors
    /// Returns an error if a pyramid exists that may not be replaced, or the destination cannot be written to.
    fn begin(&self, dzi: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError>;
}

/// Writes a pyramid, which is invisible at the destination until it is published. Dropping the writer before that
/// deletes everything written.
pub trait PyramidWriter: Send {
    /// Writes a tile. Waits if tiles arrive faster than they can be written.
    ///
    /// # Errors
    /// Returns an error if this tile or an earlier one cannot be written.
    fn put(&mut self, tile: Tile) -> Result<(), SinkError>;

    /// Writes a file beside the pyramid, which replaces any of its name when the pyramid is published.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or if the destination has no place beside a pyramid.
    fn put_beside(&mut self, name: &OsStr, content: &[u8]) -> Result<(), SinkError> {
        let _ = content;
        Err(SinkError::io(Path::new(name), io::ErrorKind::Unsupported.into()))
    }

    /// Writes the vectors of a page, for a [`Site`]. The pages come in order, after the last tile.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    fn put_vectors(&mut self, page: &PageVectors) -> Result<(), SinkError> {
        let _ = page;
        Ok(())
    }

    /// Receives what is known of the picture when its last tile has been [put](Self::put), for a [`Site`]: the
    /// metadata and the words are those that the picture states and shows.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    fn describe(&mut self, built: &Built, metadata: &Metadata, text: Option<&Text>) -> Result<(), SinkError> {
        let _ = (built, metadata, text);
        Ok(())
    }

    /// Completes the pyramid and makes it visible: the tiles, the descriptor, and the files beside it in their order.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or another pyramid has appeared at the destination. A pyramid that
    /// would have been replaced is as it was.
    fn publish(self: Box<Self>) -> Result<(), SinkError>;
}
