//! A download under way: the bodies of one or more responses, written to a temporary file within the limits on size and
//! stalls. A reader may follow the file while it grows ([`Arrival`]).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edgezoom_content::SourceUrl;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::error::FetchError;
use super::resumption::{Continuation, Unrequested, Validator};
use crate::limits::Limits;
use crate::renderer::{Arrival, Coding};

/// A downloaded source.
#[derive(Debug)]
pub struct Fetched {
    /// Unlinked temporary file, positioned at its start.
    pub file: File,
    /// Length in bytes.
    pub length: u64,
    /// URL after all redirects.
    pub url: SourceUrl,
    /// Number of redirects followed.
    pub redirects: u32,
    /// `Content-Type` of the response.
    pub content_type: Option<String>,
    /// Content codings of the file, in the order in which its server has applied them.
    pub codings: Vec<Coding>,
    /// [`Arrival::beginning`] of the file.
    pub beginning: u32,
}

/// A download under way.
pub(super) struct Download {
    folder: PathBuf,
    /// Unlinked. Bytes are written at their offsets and never changed, so a reader may follow.
    file: Arc<File>,
    received: u64,
    /// Largest value that `received` has had. A download that starts over does not reset it.
    furthest: u64,
    beginnings: u32,
    source: Option<Source>,
}

/// The source as its first response described it.
struct Source {
    url: SourceUrl,
    redirects: u32,
    content_type: Option<String>,
    codings: Vec<Coding>,
    length: Option<u64>,
    validator: Option<Validator>,
}

/// A request for the missing part of a source.
pub(super) struct Rest {
    /// URL after all redirects.
    pub url: SourceUrl,
    /// Number of redirects that led there.
    pub redirects: u32,
    /// Value of `Range`.
    pub range: String,
    /// Value of `If-Range`.
    pub if_range: HeaderValue,
}

/// Maximum number of starts from the first byte. A server without ranges that breaks off shortly before the end sends
/// almost the whole source each time.
const MOST_BEGINNINGS: u32 = 4;

impl Download {
    /// Creates an empty unlinked file in `folder`.
    pub(super) fn new(folder: &Path) -> Result<Self, FetchError> {
        let file = Arc::new(tempfile::tempfile_in(folder)?);
        Ok(Self { folder: folder.to_owned(), file, received: 0, furthest: 0, beginnings: 0, source: None })
    }

    /// Returns the largest number of bytes received since the download was created.
    pub(super) fn furthest(&self) -> u64 {
        self.furthest
    }

    /// Returns true if another request may be sent.
    pub(super) fn may_go_on(&self) -> bool {
        self.beginnings < MOST_BEGINNINGS || self.beginnings == MOST_BEGINNINGS && self.rest().is_some()
    }

    /// Returns the request for the missing part; `None` if the source must be requested as a whole.
    pub(super) fn rest(&self) -> Option<Rest> {
        let source = self.source.as_ref().filter(|_| self.received > 0)?;
        Some(Rest {
            url: source.url.clone(),
            redirects: source.redirects,
            range: format!("bytes={}-", self.received),
            if_range: source.validator.as_ref()?.if_range(),
        })
    }

    /// Receives the response to a request for the [rest](Self::rest). Returns the response if it contains neither the
    /// rest nor the whole source.
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
                // A server may send less than the requested range (RFC 9110, 14.2).
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

    /// Receives a response with the whole source, which replaces everything received before.
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
            // A reader may still be using the old file.
            self.file = Arc::new(tempfile::tempfile_in(&self.folder)?);
            self.received = 0;
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let validator = Validator::of(response.headers());
        let part =
            (response.status() == StatusCode::PARTIAL_CONTENT).then(|| Unrequested::of(response.headers()));
        let (length, is_part) = match part {
            None | Some(Unrequested::Whole(None)) => (response.content_length(), false),
            Some(Unrequested::Whole(length)) => (length, false),
            Some(Unrequested::Beginning(length)) => (Some(length), true),
            Some(Unrequested::Other) => return Err(FetchError::OnlyPart),
        };
        let codings = Coding::of(response.headers());
        self.source = Some(Source { url, redirects, content_type, codings, length, validator });
        self.append(response, length, limits, on_arrival).await?;
        match length {
            // The rest is requested, if it can be told to be of the same version.
            Some(length) if is_part && self.received < length => {
                Err(if self.rest().is_some() { FetchError::BrokenOff } else { FetchError::OnlyPart })
            }
            Some(length) if part.is_some() && self.received < length => Err(FetchError::BrokenOff),
            _ => Ok(()),
        }
    }

    /// Appends the body of a response. `announced` is the length of the source including that body.
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
                Ok(Err(error)) => return Err(FetchError::in_body(&error)),
                Err(_) => return Err(FetchError::Stalled(limits.stall)),
            };
            let received = self.received + chunk.len() as u64;
            if received > limit {
                return Err(FetchError::TooLarge(limit));
            }
            if announced.is_some_and(|announced| received > announced) {
                return Err(FetchError::BrokenOff); // the range is longer than its header says
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
            is_coded: self.source.as_ref().is_some_and(|source| !source.codings.is_empty()),
        }
    }

    /// Returns the complete source.
    pub(super) fn finish(
        self,
        requested: &SourceUrl,
        mut on_arrival: impl FnMut(Arrival),
    ) -> Result<Fetched, FetchError> {
        on_arrival(self.arrival(Some(self.received), true));
        let file = self.file.try_clone()?;
        let (url, redirects, content_type, codings) = match self.source {
            Some(source) => (source.url, source.redirects, source.content_type, source.codings),
            None => (requested.clone(), 0, None, Vec::new()),
        };
        let (length, beginning) = (self.received, self.beginnings);
        Ok(Fetched { file, length, url, redirects, content_type, codings, beginning })
    }
}
