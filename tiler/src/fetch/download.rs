//! Writes the body of a response to a temporary file, within the limits for its size and for pauses.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use reqwest::Response;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::error::FetchError;
use crate::limits::Limits;

/// How much of a source has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The bytes received so far.
    pub bytes: u64,
    /// The length that the server announced, if it did.
    pub announced: Option<u64>,
}

/// The body of `response` in an unnamed file in `folder`, positioned at its start, and its length.
pub(super) async fn to_file(
    mut response: Response,
    folder: &Path,
    limits: &Limits,
    mut on_bytes: impl FnMut(Received),
) -> Result<(File, u64), FetchError> {
    let limit = limits.source_bytes;
    let announced = response.content_length();
    if announced.is_some_and(|announced| announced > limit) {
        return Err(FetchError::TooLarge(limit));
    }
    let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(folder)?);
    let mut bytes = 0;
    loop {
        let chunk = match timeout(limits.stall, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            Ok(Err(_)) => return Err(FetchError::BrokenOff),
            Err(_) => return Err(FetchError::Stalled(limits.stall)),
        };
        bytes += chunk.len() as u64;
        if bytes > limit {
            return Err(FetchError::TooLarge(limit));
        }
        file.write_all(&chunk).await?;
        on_bytes(Received { bytes, announced });
    }
    file.flush().await?;
    let mut file = file.into_std().await;
    file.seek(SeekFrom::Start(0))?;
    Ok((file, bytes))
}
