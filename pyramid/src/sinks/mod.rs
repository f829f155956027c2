//! Sinks: where a pyramid is written to.
//!
//! A [`Sink`] is a destination that can begin a pyramid; the [`PyramidWriter`] that it returns takes the tiles.
//!
//! | sink | writes |
//! |---|---|
//! | [`DirectorySink`] | `<name>.dzi` and `<name>_files/` |
//! | [`ArchiveSink`] | `<name>.zip` or `<name>.szi`: the same in one file |
//!
//! A sink over a network fits too. One whose client is asynchronous puts tiles into a bounded queue in
//! [`put`](PyramidWriter::put), which its own runtime empties, and waits for the rest in
//! [`publish`](PyramidWriter::publish); its errors are [`SinkError::Other`].

mod archive;
mod directory;
mod error;
mod output_path;

use edgezoom_geometry::Dzi;

pub use archive::{ArchiveFormat, ArchiveSink, ArchiveStream};
pub use directory::DirectorySink;
pub use error::SinkError;

use crate::Tile;

/// A destination for a pyramid. It can be used from any thread.
pub trait Sink: Send + Sync {
    /// Checks whether [`begin`](Self::begin) would be refused now, so that a program finds out before it reads a
    /// picture.
    ///
    /// # Errors
    /// When there is a pyramid already that may not be replaced.
    fn check(&self) -> Result<(), SinkError> {
        Ok(())
    }

    /// Begins a pyramid.
    ///
    /// # Errors
    /// When there is a pyramid already that may not be replaced, or the destination cannot be written to.
    fn begin(&self, dzi: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError>;
}

/// A pyramid that is being written. Nothing is at the destination until it is published. Dropping the writer before
/// that deletes what it has written.
pub trait PyramidWriter: Send {
    /// Takes a tile. Waits when tiles come faster than they can be written.
    ///
    /// # Errors
    /// When this tile or an earlier one cannot be written.
    fn put(&mut self, tile: Tile) -> Result<(), SinkError>;

    /// Completes the pyramid and makes it visible, the descriptor last.
    ///
    /// # Errors
    /// When something cannot be written, or another pyramid has appeared at the destination.
    fn publish(self: Box<Self>) -> Result<(), SinkError>;
}
