//! The store of pyramids: starts uploads, and deletes what an attempt has stored.

use std::num::NonZeroUsize;

use bytes::Bytes;
use edgezoom_content::{Attempt, CoarseNumber, ContentId, TileFormat};

use super::bucket::Bucket;
use super::client::S3Settings;
use super::error::StoreError;
use super::upload::{Layout, Upload};

/// A store of pyramids. Clones share their connections.
#[derive(Clone)]
pub struct S3Store {
    pub(super) bucket: Bucket,
}

impl S3Store {
    /// The store at `settings`. It does not connect before the first request.
    #[must_use]
    pub fn new(settings: &S3Settings) -> Self {
        Self { bucket: Bucket::new(settings) }
    }

    /// Starts the upload of an attempt's pyramid. In the layout of single tiles there are at most `at_once` concurrent
    /// requests, and fewer while the store responds slowly.
    #[must_use]
    pub fn upload(&self, id: ContentId, attempt: Attempt, layout: Layout, at_once: NonZeroUsize) -> Upload {
        Upload::new(self.bucket.clone(), id, attempt, layout, at_once)
    }

    /// Stores a coarse picture.
    ///
    /// # Errors
    /// The request failed. It may be there all the same.
    pub async fn put_coarse(
        &self,
        id: ContentId,
        attempt: Attempt,
        number: CoarseNumber,
        jpeg: Bytes,
    ) -> Result<(), StoreError> {
        let media_type = TileFormat::Jpg.media_type();
        self.bucket.put(attempt.coarse_key(id, number), jpeg, media_type).await.map(drop)
    }

    /// Deletes an attempt's coarse pictures.
    ///
    /// # Errors
    /// The store did not delete them.
    pub async fn delete_coarse(&self, id: ContentId, attempt: Attempt) -> Result<(), StoreError> {
        self.bucket.delete(CoarseNumber::all().map(|number| attempt.coarse_key(id, number)).collect()).await
    }

    /// Deletes all objects of an attempt in either layout, what makes the pyramid visible first, and returns the number of
    /// single tiles. An upload of an archive that was never completed is aborted.
    ///
    /// # Errors
    /// The store did not list or delete. The objects that remain are part of the pyramid, never the descriptor alone.
    pub async fn delete_attempt(&self, id: ContentId, attempt: Attempt) -> Result<usize, StoreError> {
        let archive = attempt.archive_key(id);
        let coarse = CoarseNumber::all().map(|number| attempt.coarse_key(id, number));
        let keys = [attempt.descriptor_key(id), archive.clone()].into_iter().chain(coarse);
        self.bucket.delete(keys.collect()).await?;
        self.bucket.abort_multiparts(&archive).await?;
        self.bucket.delete_prefix(&attempt.tiles_prefix(id)).await
    }
}
