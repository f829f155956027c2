//! Where a conversion's tiles go: the object store of the service, or files of the command line.

use bytes::Bytes;
use edgezoom_content::{Dzi, PreviewKind};

use super::error::SinkError;
use crate::renderer::Tile;
use crate::s3::Upload;

/// Takes the tiles of one pyramid. Each call waits until the sink has room, which holds the renderer back. Nothing is
/// visible in the sink's place before [`TileSink::publish`].
pub trait TileSink: Send {
    /// Begins the pyramid. Called once, before all else, and once after each [`TileSink::restart`].
    fn begin(&mut self, dzi: &Dzi) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Takes a tile of the pyramid. Tiles come in no particular order, each once.
    fn put(&mut self, dzi: &Dzi, tile: Tile) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Forgets all tiles: the pyramid begins again, and may be another one.
    fn restart(&mut self) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Takes a small picture of the whole, in the format of the tiles, if they were asked for.
    fn put_preview(
        &mut self,
        dzi: &Dzi,
        kind: PreviewKind,
        bytes: Bytes,
    ) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Waits until all tiles are stored, and then makes the pyramid visible. `on_stored` gets how many tiles are missing,
    /// and how many were missing at first.
    fn publish(
        &mut self,
        dzi: &Dzi,
        on_stored: impl FnMut(usize, usize) + Send,
    ) -> impl Future<Output = Result<(), SinkError>> + Send;
}

impl TileSink for Upload {
    async fn begin(&mut self, _: &Dzi) -> Result<(), SinkError> {
        Ok(())
    }

    async fn put(&mut self, dzi: &Dzi, tile: Tile) -> Result<(), SinkError> {
        Ok(self.put_tile(dzi, tile).await?)
    }

    async fn restart(&mut self) -> Result<(), SinkError> {
        Ok(self.start_again().await?)
    }

    async fn put_preview(&mut self, dzi: &Dzi, kind: PreviewKind, bytes: Bytes) -> Result<(), SinkError> {
        Ok(Self::put_preview(self, dzi, kind, bytes).await?)
    }

    async fn publish(
        &mut self,
        dzi: &Dzi,
        on_stored: impl FnMut(usize, usize) + Send,
    ) -> Result<(), SinkError> {
        Ok(self.finish(dzi, on_stored).await?)
    }
}
