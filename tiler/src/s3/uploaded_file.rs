//! Fetches a file that a client has sent, from where the Worker has put it.

use std::fs::File;
use std::io::{self, SeekFrom};
use std::path::Path;
use std::time::Duration;

use edgezoom_content::UploadKey;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::time::timeout;

use super::error::reason;
use super::store::S3Store;

/// Why there is no file. Clients see the messages.
#[derive(Debug, thiserror::Error)]
pub enum UploadedFileError {
    /// The store does not have it any more.
    #[error("The file is no longer there. Send it once more.")]
    Gone,
    /// It is larger than the limit, which the edge does not know.
    #[error("The file is larger than {} MiB.", .0 >> 20)]
    TooLarge(u64),
    /// The store did not send it. The text is for the log.
    #[error("The file could not be read from the store.")]
    Store(String),
    /// No temporary file could be written.
    #[error("The file could not be kept.")]
    File(#[from] io::Error),
}

/// What a file that is fetched may cost.
#[derive(Clone, Copy, Debug)]
pub struct UploadedFileLimits {
    /// Its length in bytes.
    pub bytes: u64,
    /// The longest time without a byte.
    pub stall: Duration,
}

impl S3Store {
    /// Fetches a file into one without a name in `folder`, positioned at its start. Calls `on_bytes` with how many bytes have
    /// come, and the length of the whole if the store says it.
    ///
    /// # Errors
    /// It is gone, too large, or could not be read.
    pub async fn fetch_upload(
        &self,
        key: UploadKey,
        folder: &Path,
        limits: UploadedFileLimits,
        mut on_bytes: impl FnMut(u64, Option<u64>),
    ) -> Result<File, UploadedFileError> {
        let request = self.bucket.client.get_object().bucket(&self.bucket.name).key(key.to_string());
        let mut object = match request.send().await {
            Ok(object) => object,
            Err(error) if error.raw_response().is_some_and(|response| response.status().as_u16() == 404) => {
                return Err(UploadedFileError::Gone);
            }
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
                Err(_) => return Err(UploadedFileError::Store("it stalled".to_owned())),
            };
            received += chunk.len() as u64;
            if received.max(announced.unwrap_or_default()) > limits.bytes {
                return Err(UploadedFileError::TooLarge(limits.bytes));
            }
            file.write_all(&chunk).await?;
            on_bytes(received, announced);
        }
        if announced.is_some_and(|announced| announced != received) {
            return Err(UploadedFileError::Store("it broke off".to_owned()));
        }
        file.flush().await?;
        file.seek(SeekFrom::Start(0)).await?;
        Ok(file.into_std().await)
    }
}
