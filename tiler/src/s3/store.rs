//! The store of pyramids: starts uploads, deletes what an attempt has stored, and fetches files that clients have
//! uploaded.

use std::fs::File;
use std::io::{self, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use edgezoom_content::{Attempt, CoarseNumber, ContentId, TileFormat, UploadKey};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::time::timeout;

use super::bucket::Bucket;
use super::client::{S3Settings, StoreError, reason, status};
use super::upload::Upload;
use crate::limits::Limits;

/// A store of pyramids. Clones share their connections.
#[derive(Clone)]
pub struct S3Store {
    bucket: Bucket,
}

/// The reason why an uploaded file could not be fetched. Clients see the messages.
#[derive(Debug, thiserror::Error)]
pub enum UploadedFileError {
    /// The store no longer has the file.
    #[error("The file no longer exists. Upload it again.")]
    Gone,
    /// The file is larger than allowed. The edge does not know this limit.
    #[error("The file is larger than {} MiB.", .0 >> 20)]
    TooLarge(u64),
    /// The store did not send the file. The text is for the log.
    #[error("The file could not be read from the store.")]
    Store(String),
    /// The temporary file could not be written.
    #[error("The file could not be saved temporarily.")]
    File(#[from] io::Error),
}

impl S3Store {
    /// Creates a client of the store. It connects at the first request.
    #[must_use]
    pub fn new(settings: &S3Settings) -> Self {
        Self { bucket: Bucket::new(settings) }
    }

    /// Starts the upload of an attempt's pyramid.
    #[must_use]
    pub fn upload(&self, id: ContentId, attempt: Attempt) -> Upload {
        Upload::new(self.bucket.clone(), id, attempt)
    }

    /// Stores a coarse picture.
    ///
    /// # Errors
    /// The request failed. The object may exist nevertheless.
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

    /// Deletes the archive and the coarse pictures of an attempt, and aborts an unfinished upload.
    ///
    /// # Errors
    /// The store did not delete them.
    pub async fn delete_attempt(&self, id: ContentId, attempt: Attempt) -> Result<(), StoreError> {
        let archive = attempt.archive_key(id);
        let coarse = CoarseNumber::all().map(|number| attempt.coarse_key(id, number));
        self.bucket.delete([archive.clone()].into_iter().chain(coarse).collect()).await?;
        self.bucket.abort_multiparts(&archive).await
    }

    /// Fetches an uploaded file into an unlinked file in `folder`, positioned at its start. Calls `on_bytes` with the
    /// number of bytes received and the announced length.
    ///
    /// # Errors
    /// The file is gone, too large, or could not be read.
    pub async fn fetch_upload(
        &self,
        key: UploadKey,
        folder: &Path,
        limits: &Limits,
        mut on_bytes: impl FnMut(u64, Option<u64>),
    ) -> Result<File, UploadedFileError> {
        let request = self.bucket.client.get_object().bucket(&self.bucket.name).key(key.to_string());
        let mut object = match request.send().await {
            Ok(object) => object,
            Err(error) if status(&error) == Some(404) => return Err(UploadedFileError::Gone),
            Err(error) => return Err(UploadedFileError::Store(reason(&error))),
        };
        let announced = object.content_length().and_then(|length| u64::try_from(length).ok());
        let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(folder)?);
        let mut received = 0;
        loop {
            let chunk = match timeout(limits.stall, object.body.try_next()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(UploadedFileError::Store(error.to_string())),
                Err(_) => return Err(UploadedFileError::Store("the response stalled".to_owned())),
            };
            received += chunk.len() as u64;
            if received.max(announced.unwrap_or_default()) > limits.source_bytes {
                return Err(UploadedFileError::TooLarge(limits.source_bytes));
            }
            file.write_all(&chunk).await?;
            on_bytes(received, announced);
        }
        if announced.is_some_and(|announced| announced != received) {
            return Err(UploadedFileError::Store("the response broke off".to_owned()));
        }
        file.flush().await?;
        file.seek(SeekFrom::Start(0)).await?;
        Ok(file.into_std().await)
    }
}
