//! The sink of a pyramid's tiles. The pipeline gives them, and an object store or files take them; neither knows the other.

use bytes::Bytes;
use edgezoom_codecs::PageVectors;
use edgezoom_content::{Archive, Dzi, PreviewKind, Previews, StoredText, StoredVectors};
use edgezoom_pyramid::sinks;
use edgezoom_text::Text;

use super::client::StoreError;
use crate::renderer::{Built, Labels, Tile};

/// Stores the tiles of one pyramid: in the service's object store, or in files. Each call waits until the sink has
/// room, which throttles the renderer. Nothing is visible before [`TileSink::publish`].
pub trait TileSink: Send {
    /// Description of the stored pyramid.
    type Published;

    /// Begins the pyramid. Called once before anything else, and once after each [`TileSink::restart`].
    fn begin(&mut self, dzi: &Dzi) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Stores a tile. Each tile comes once, in no particular order.
    fn put(&mut self, dzi: &Dzi, tile: Tile) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Discards all tiles. The pyramid that follows may be a different one.
    fn restart(&mut self) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Stores a preview, a JPEG. Called only if the options request previews.
    fn put_preview(
        &mut self,
        dzi: &Dzi,
        kind: PreviewKind,
        bytes: Bytes,
    ) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Stores the words in the picture. Called only if the options request them, and there are some.
    fn put_text(&mut self, dzi: &Dzi, text: Text) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Stores the vectors of a page. Called only if the options request them, in order, after the last tile.
    fn put_vectors(
        &mut self,
        dzi: &Dzi,
        page: PageVectors,
    ) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Waits until all tiles are stored, then makes the pyramid visible. Calls `on_stored` with the number of missing
    /// tiles and the number that were missing at first. `labels` are those of the source.
    fn publish(
        &mut self,
        built: &Built,
        labels: &Labels,
        on_stored: impl FnMut(usize, usize) + Send,
    ) -> impl Future<Output = Result<Self::Published, SinkError>> + Send;
}

/// The places of the parts of an archive in the object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Place of the index.
    pub archive: Archive,
    /// Places of the previews.
    pub previews: Previews,
    /// Places of the words, if there are any.
    pub text: Option<Box<StoredText>>,
    /// Places of the vectors, if there are any.
    pub vectors: Option<StoredVectors>,
}

/// The reason why a sink could not store a pyramid. The messages may name files and hosts.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// Error of the object store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Error of the file system.
    #[error(transparent)]
    Files(#[from] sinks::SinkError),
}
