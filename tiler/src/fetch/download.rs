//! What has been received of a source: the bodies of one or several responses in a temporary file, within the limits for
//! size and for pauses.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edgezoom_content::SourceUrl;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::error::FetchError;
use super::resumption::{Continuation, Validator};
use crate::arrival::Arrival;
use crate::limits::Limits;

/// How much of a source has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The bytes received so far.
    pub bytes: u64,
    /// The length that the server announced, if it did.
    pub announced: Option<u64>,
}

/// A downloaded source.
#[derive(Debug)]
pub struct Fetched {
    /// The source in an unnamed file, positioned at its start.
    pub file: File,
    /// Its length in bytes.
    pub length: u64,
    /// Its URL after all redirects.
    pub url: SourceUrl,
    /// How many redirects were followed.
    pub redirects: u32,
    /// The `Content-Type` of the response.
    pub content_type: Option<String>,
    /// The [`Arrival::beginning`] that this is the end of.
    pub beginning: u32,
}

/// A download under way.
pub(super) struct Download {
    folder: PathBuf,
    /// Unnamed. Bytes are written at their offsets, and never changed: whatever reads the file may do so meanwhile.
    file: Arc<File>,
    received: u64,
    /// The most that has ever been received: progress never falls when a download begins anew.
    furthest: u64,
    beginnings: u32,
    source: Option<Source>,
}

/// The source as its first response described it.
struct Source {
    url: SourceUrl,
    redirects: u32,
    content_type: Option<String>,
    length: Option<u64>,
    validator: Option<Validator>,
}

/// From where a download can go on.
pub(super) struct Rest {
    /// The URL after all redirects, and how many they were.
    pub url: SourceUrl,
    pub redirects: u32,
    /// The values of `Range` and `If-Range`.
    pub range: String,
    pub if_range: HeaderValue,
}

/// How often a download may begin anew: from a server that breaks off shortly before the end and knows no ranges, each
/// time takes the whole source.
const MOST_BEGINNINGS: u32 = 4;

impl Download {
    /// Nothing yet, in an unnamed file in `folder`.
    pub(super) fn new(folder: &Path) -> Result<Self, FetchError> {
        let file = Arc::new(tempfile::tempfile_in(folder)?);
        Ok(Self { folder: folder.to_owned(), file, received: 0, furthest: 0, beginnings: 0, source: None })
    }

    /// The most bytes that have ever been received.
    pub(super) fn furthest(&self) -> u64 {
        self.furthest
    }

    /// Whether another request may be sent for it.
    pub(super) fn may_go_on(&self) -> bool {
        self.beginnings < MOST_BEGINNINGS || self.beginnings == MOST_BEGINNINGS && self.rest().is_some()
    }

    /// What to request to go on; `None` when only the whole will do.
    pub(super) fn rest(&self) -> Option<Rest> {
        let source = self.source.as_ref().filter(|_| self.received > 0)?;
        Some(Rest {
            url: source.url.clone(),
            redirects: source.redirects,
            range: format!("bytes={}-", self.received),
            if_range: source.validator.as_ref()?.if_range(),
        })
    }

    /// Takes the response to a request for the [rest](Self::rest). Gives it back if it is neither that nor the whole.
    pub(super) async fn take_rest(
        &mut self,
        response: Response,
        limits: &Limits,
        on_arrival: impl FnMut(Arrival),
    ) -> Result<Option<Response>, FetchError> {
        let Some(Source { validator: Some(validator), length, url, redirects, .. }) = &self.source else {
            return Ok(Some(response));
        };
        match Continuation::of(response.status(), response.headers(), validator, self.received, *length) {
            Continuation::Rest(length) => {
                self.append(response, Some(length), limits, on_arrival).await?;
                // A server may send less than it was asked for (RFC 9110, 14.2).
                if self.received < length { Err(FetchError::BrokenOff) } else { Ok(None) }
            }
            Continuation::Whole => {
                let (url, redirects) = (url.clone(), *redirects);
                self.take_whole(response, url, redirects, limits, on_arrival).await?;
                Ok(None)
            }
            Continuation::Unfit => Ok(Some(response)),
        }
    }

    /// Takes a response with the whole source, in place of all that was received before.
    pub(super) async fn take_whole(
        &mut self,
        response: Response,
        url: SourceUrl,
        redirects: u32,
        limits: &Limits,
        on_arrival: impl FnMut(Arrival),
    ) -> Result<(), FetchError> {
        self.beginnings += 1;
        if self.beginnings > MOST_BEGINNINGS {
            return Err(FetchError::BrokenOff);
        }
        if self.received > 0 {
            // Something may be reading what came before.
            self.file = Arc::new(tempfile::tempfile_in(&self.folder)?);
            self.received = 0;
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (length, validator) = (response.content_length(), Validator::of(response.headers()));
        self.source = Some(Source { url, redirects, content_type, length, validator });
        self.append(response, length, limits, on_arrival).await
    }

    /// Appends the body of a response. With it, the source has `announced` bytes.
    async fn append(
        &mut self,
        mut response: Response,
        announced: Option<u64>,
        limits: &Limits,
        mut on_arrival: impl FnMut(Arrival),
    ) -> Result<(), FetchError> {
        let limit = limits.source_bytes;
        if announced.is_some_and(|announced| announced > limit) {
            return Err(FetchError::TooLarge(limit));
        }
        loop {
            let chunk = match timeout(limits.stall, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(_)) => return Err(FetchError::BrokenOff),
                Err(_) => return Err(FetchError::Stalled(limits.stall)),
            };
            let received = self.received + chunk.len() as u64;
            if received > limit {
                return Err(FetchError::TooLarge(limit));
            }
            if announced.is_some_and(|announced| received > announced) {
                return Err(FetchError::BrokenOff); // a range that is longer than it says
            }
            let (file, offset) = (Arc::clone(&self.file), self.received);
            let written = spawn_blocking(move || file.write_all_at(&chunk, offset)).await;
            written.map_err(io::Error::other)??;
            self.received = received;
            self.furthest = self.furthest.max(received);
            on_arrival(self.arrival(announced, false));
        }
    }

    fn arrival(&self, announced: Option<u64>, is_complete: bool) -> Arrival {
        Arrival {
            beginning: self.beginnings,
            file: Arc::clone(&self.file),
            bytes: self.received,
            announced,
            is_complete,
        }
    }

    /// The complete download.
    pub(super) fn finish(
        self,
        requested: &SourceUrl,
        mut on_arrival: impl FnMut(Arrival),
    ) -> Result<Fetched, FetchError> {
        on_arrival(self.arrival(Some(self.received), true));
        let file = self.file.try_clone()?;
        let (url, redirects, content_type) = match self.source {
            Some(source) => (source.url, source.redirects, source.content_type),
            None => (requested.clone(), 0, None),
        };
        let (length, beginning) = (self.received, self.beginnings);
        Ok(Fetched { file, length, url, redirects, content_type, beginning })
    }
}
