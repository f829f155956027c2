//! The store of pyramids: starts uploads, and deletes what an attempt has stored.

use std::num::NonZeroUsize;

use edgezoom_content::{Attempt, ContentId};

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

    /// Deletes all objects of an attempt in either layout, what makes the pyramid visible first, and returns the number of
    /// single tiles. An upload of an archive that was never completed is aborted.
    ///
    /// # Errors
    /// The store did not list or delete. The objects that remain are part of the pyramid, never the descriptor alone.
    pub async fn delete_attempt(&self, id: ContentId, attempt: Attempt) -> Result<usize, StoreError> {
        let archive = attempt.archive_key(id);
        self.bucket.delete(vec![attempt.descriptor_key(id), archive.clone()]).await?;
        self.bucket.abort_multiparts(&archive).await?;
        self.bucket.delete_prefix(&attempt.tiles_prefix(id)).await
    }
}
