//! The upload of one attempt's pyramid in the layout that the operator has chosen: this is the one place that decides.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use edgezoom_content::{Archive, Attempt, ContentId, Dzi, PreviewKind, Previews};
use edgezoom_pyramid::Tile;

use super::archive_upload::ArchiveUpload;
use super::bucket::Bucket;
use super::error::StoreError;
use super::stored::Stored;
use super::tiles_upload::TilesUpload;

/// How pyramids are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One object, an SZI archive: few requests, and a pyramid appears or disappears as one. The Worker serves tiles from
    /// ranges of it.
    #[default]
    Archive,
    /// An object for each tile and one for the descriptor: a content delivery network can serve the bucket without a
    /// Worker.
    Tiles,
}

/// The upload of one attempt's pyramid. Dropping it cancels the requests in flight.
pub enum Upload {
    /// Into one object.
    Archive(Box<ArchiveUpload>),
    /// Into an object for each tile.
    Tiles(TilesUpload),
}

impl Upload {
    pub(super) fn new(
        bucket: Bucket,
        id: ContentId,
        attempt: Attempt,
        layout: Layout,
        at_once: NonZeroUsize,
    ) -> Self {
        match layout {
            Layout::Archive => Self::Archive(Box::new(ArchiveUpload::new(bucket, id, attempt))),
            Layout::Tiles => Self::Tiles(TilesUpload::new(bucket, id, attempt, at_once)),
        }
    }

    /// Takes a tile, and waits while too much is in flight.
    ///
    /// # Errors
    /// A request for this or an earlier tile failed, and with it the upload.
    pub async fn put_tile(&mut self, dzi: &Dzi, tile: Tile) -> Result<(), StoreError> {
        match self {
            Self::Archive(upload) => upload.put_tile(dzi, &tile).await,
            Self::Tiles(upload) => upload.put_tile(dzi, tile).await,
        }
    }

    /// Deletes what is stored, and begins another pyramid in its place.
    ///
    /// # Errors
    /// The store did not delete it.
    pub async fn start_again(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Archive(upload) => upload.start_again().await,
            Self::Tiles(upload) => upload.start_again().await,
        }
    }

    /// Takes a small picture of the whole.
    ///
    /// # Errors
    /// A request for this or an earlier object failed, and with it the upload.
    pub async fn put_preview(
        &mut self,
        dzi: &Dzi,
        kind: PreviewKind,
        bytes: Bytes,
    ) -> Result<(), StoreError> {
        match self {
            Self::Archive(upload) => upload.put_preview(dzi, kind, &bytes).await,
            Self::Tiles(upload) => upload.put_preview(dzi, kind, bytes).await,
        }
    }

    /// Completes the pyramid, which is not visible before. Calls `on_stored` with the number of requests that are still
    /// in flight and their number at the start.
    ///
    /// # Errors
    /// A request failed. There is no pyramid then, unless only the response to the last request was lost.
    pub async fn finish(&mut self, dzi: &Dzi, on_stored: impl FnMut(usize, usize)) -> Result<(), StoreError> {
        match self {
            Self::Archive(upload) => upload.finish(dzi, on_stored).await,
            Self::Tiles(upload) => upload.finish(dzi, on_stored).await,
        }
    }

    /// Gives up the upload, and waits at most `patience` for the requests in flight: the store may still carry out a
    /// cancelled request, after the attempt's objects were deleted.
    pub async fn abandon(&mut self, patience: Duration) {
        match self {
            Self::Archive(upload) => upload.abandon(patience).await,
            Self::Tiles(upload) => upload.abandon(patience).await,
        }
    }

    /// What is stored so far.
    #[must_use]
    pub fn stored(&self) -> Stored {
        match self {
            Self::Archive(upload) => upload.stored(),
            Self::Tiles(upload) => upload.stored(),
        }
    }

    /// Where a finished archive has its index.
    #[must_use]
    pub fn archive(&self) -> Option<Archive> {
        match self {
            Self::Archive(upload) => upload.archive(),
            Self::Tiles(_) => None,
        }
    }

    /// Where the small pictures are, once both are stored.
    #[must_use]
    pub fn previews(&self) -> Option<Previews> {
        match self {
            Self::Archive(upload) => upload.previews(),
            Self::Tiles(upload) => upload.previews(),
        }
    }
}
