//! The upload of a pyramid as one object per tile: concurrent requests, and the descriptor last.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use edgezoom_content::{Attempt, ContentId, Dzi, PreviewKind, Previews, TileFormat};
use edgezoom_pyramid::Tile;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::bucket::{Bucket, CompletedPut, Stored};
use super::client::StoreError;
use super::concurrency_limit::ConcurrencyLimit;

/// The upload of one attempt's pyramid as one object per tile.
pub struct TilesUpload {
    bucket: Bucket,
    id: ContentId,
    attempt: Attempt,
    limit: ConcurrencyLimit,
    in_flight: JoinSet<Result<CompletedPut, StoreError>>,
    stored: Stored,
    /// Number of previews stored.
    previews: usize,
}

impl TilesUpload {
    pub(super) fn new(bucket: Bucket, id: ContentId, attempt: Attempt, at_once: NonZeroUsize) -> Self {
        Self {
            bucket,
            id,
            attempt,
            limit: ConcurrencyLimit::new(at_once),
            in_flight: JoinSet::new(),
            stored: Stored::default(),
            previews: 0,
        }
    }

    /// Starts the request for a tile as soon as the concurrency limit permits it, which also bounds the tiles in memory.
    pub(super) async fn put_tile(&mut self, dzi: &Dzi, tile: Tile) -> Result<(), StoreError> {
        while self.in_flight.len() >= self.limit.current() {
            self.complete_one().await?;
        }
        let path = dzi.tile_path(tile.level, tile.column, tile.row);
        let key = format!("{}{path}", self.attempt.tiles_prefix(self.id));
        let bucket = self.bucket.clone();
        let media_type = dzi.tile_format.media_type();
        self.in_flight.spawn(async move { bucket.put(key, tile.bytes, media_type).await });
        Ok(())
    }

    pub(super) async fn put_preview(
        &mut self,
        _: &Dzi,
        kind: PreviewKind,
        bytes: Bytes,
    ) -> Result<(), StoreError> {
        let key = self.attempt.preview_key(self.id, kind);
        let put = self.bucket.put(key, bytes, TileFormat::Jpg.media_type()).await?;
        self.stored.bytes += put.bytes;
        self.previews += 1;
        Ok(())
    }

    pub(super) fn previews(&self) -> Option<Previews> {
        (self.previews == PreviewKind::ALL.len()).then_some(Previews::Objects)
    }

    /// Waits until one more tile is stored. Returns false if no request is running.
    async fn complete_one(&mut self) -> Result<bool, StoreError> {
        match self.in_flight.join_next().await {
            None => Ok(false),
            Some(Ok(put)) => {
                let CompletedPut { bytes, latency } = put?;
                self.limit.record(latency);
                self.stored.bytes += bytes;
                self.stored.tiles += 1;
                Ok(true)
            }
            Some(Err(panic)) => {
                Err(StoreError::Put { key: self.attempt.tiles_prefix(self.id), reason: panic.to_string() })
            }
        }
    }

    /// Waits for the running requests, then stores the descriptor.
    pub(super) async fn finish(
        &mut self,
        dzi: &Dzi,
        mut on_tile: impl FnMut(usize, usize),
    ) -> Result<(), StoreError> {
        let total = self.in_flight.len();
        while self.complete_one().await? {
            on_tile(self.in_flight.len(), total);
        }
        let key = self.attempt.descriptor_key(self.id);
        self.bucket.put(key, dzi.descriptor().into(), Dzi::MEDIA_TYPE).await.map(drop)
    }

    pub(super) async fn start_again(&mut self) -> Result<(), StoreError> {
        // The store might carry out a cancelled request after the tiles were deleted.
        while self.complete_one().await? {}
        self.bucket.delete_prefix(&self.attempt.tiles_prefix(self.id)).await?;
        (self.stored, self.previews) = (Stored::default(), 0);
        Ok(())
    }

    pub(super) async fn abandon(&mut self, patience: Duration) {
        let completed = async { while self.in_flight.join_next().await.is_some() {} };
        if timeout(patience, completed).await.is_err() {
            self.in_flight.shutdown().await;
        }
    }

    pub(super) fn stored(&self) -> Stored {
        self.stored
    }
}
