//! The upload of one attempt's pyramid in the layout that the operator has chosen.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use edgezoom_content::{Archive, Attempt, ContentId, Dzi, PreviewKind, Previews};
use edgezoom_pyramid::Tile;

use super::archive_upload::ArchiveUpload;
use super::bucket::{Bucket, Stored};
use super::client::StoreError;
use super::tiles_upload::TilesUpload;

/// Layout of stored pyramids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One object, an SZI archive: few requests, and the pyramid appears and disappears as a whole. The Worker serves tiles
    /// by reading ranges.
    #[default]
    Archive,
    /// One object per tile and one for the descriptor: a content delivery network can serve the bucket without a Worker.
    Tiles,
}

/// The upload of one attempt's pyramid. Dropping it cancels the running requests.
pub enum Upload {
    /// Upload of one object.
    Archive(Box<ArchiveUpload>),
    /// Upload of one object per tile.
    Tiles(TilesUpload),
}

/// Evaluates an expression for the upload of either layout.
macro_rules! either {
    ($upload:expr, $each:ident => $value:expr) => {
        match $upload {
            Upload::Archive($each) => $value,
            Upload::Tiles($each) => $value,
        }
    };
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

    /// Stores a tile. Waits while too many requests are running.
    ///
    /// # Errors
    /// A request for this or an earlier tile failed, and with it the upload.
    pub async fn put_tile(&mut self, dzi: &Dzi, tile: Tile) -> Result<(), StoreError> {
        either!(self, upload => upload.put_tile(dzi, tile).await)
    }

    /// Stores a preview.
    ///
    /// # Errors
    /// A request for this or an earlier object failed, and with it the upload.
    pub async fn put_preview(
        &mut self,
        dzi: &Dzi,
        kind: PreviewKind,
        bytes: Bytes,
    ) -> Result<(), StoreError> {
        either!(self, upload => upload.put_preview(dzi, kind, bytes).await)
    }

    /// Deletes everything stored so far, so that another pyramid can be uploaded instead.
    ///
    /// # Errors
    /// The store did not delete it.
    pub async fn start_again(&mut self) -> Result<(), StoreError> {
        either!(self, upload => upload.start_again().await)
    }

    /// Completes the pyramid, which is not visible before. Calls `on_stored` with the number of running requests and their
    /// number at the start.
    ///
    /// # Errors
    /// A request failed. The pyramid does not exist then, unless only the response to the last request was lost.
    pub async fn finish(&mut self, dzi: &Dzi, on_stored: impl FnMut(usize, usize)) -> Result<(), StoreError> {
        either!(self, upload => upload.finish(dzi, on_stored).await)
    }

    /// Abandons the upload. Waits at most `patience` for running requests, because the store may still carry out a cancelled
    /// one after the attempt's objects were deleted.
    pub async fn abandon(&mut self, patience: Duration) {
        either!(self, upload => upload.abandon(patience).await)
    }

    /// Returns the counts of what is stored so far.
    #[must_use]
    pub fn stored(&self) -> Stored {
        either!(self, upload => upload.stored())
    }

    /// Returns the location of the index in a finished archive.
    #[must_use]
    pub fn archive(&self) -> Option<Archive> {
        match self {
            Self::Archive(upload) => upload.archive(),
            Self::Tiles(_) => None,
        }
    }

    /// Returns the location of the previews, once all are stored.
    #[must_use]
    pub fn previews(&self) -> Option<Previews> {
        either!(self, upload => upload.previews())
    }
}
