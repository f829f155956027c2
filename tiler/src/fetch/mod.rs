//! The guarded download of a source: from a URL that a stranger chose to a file that has no name.
//!
//! Whoever can name a URL can point it at the machines around us, so one [`AddressPolicy`] is enforced on the addresses
//! that are really connected to: literal ones are checked before each hop, names go through a resolver that gives only
//! permitted addresses (see [`lookup`]). Redirects are followed by hand, and each target is read anew as a [`SourceUrl`].
//! Sizes and times are bounded. What the bytes are is not believed from any header, and not looked at here.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use edgezoom_content::{AddressPolicy, SourceUrl};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::http_client;
use crate::limits::Limits;

mod error;
pub mod lookup;
mod redirect;

pub use error::FetchError;
use lookup::{GuardedResolver, Lookup, SystemLookup};

/// Downloads sources. One is enough for a process; it keeps no connections.
pub struct Fetcher {
    client: Client,
    policy: AddressPolicy,
    limits: Limits,
    folder: PathBuf,
}

/// A source that was downloaded.
#[derive(Debug)]
pub struct Fetched {
    /// Its bytes, in a file without a name, from the beginning.
    pub file: File,
    /// How many bytes there are.
    pub length: u64,
    /// Where they came from in the end.
    pub url: SourceUrl,
    /// How many redirects led there.
    pub redirects: u32,
    /// What the server says they are.
    pub content_type: Option<String>,
}

/// How much of a source has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// So many bytes are here.
    pub bytes: u64,
    /// So many there will be, if the server says it.
    pub announced: Option<u64>,
}

/// Prefers the formats that pictures are kept in over those that servers make for browsers on the fly.
const PREFERENCE: &str = "image/jpeg, image/png, image/tiff, image/*;q=0.8, */*;q=0.5";

/// How long to wait before the one retry of a connection that failed before it answered.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

impl Fetcher {
    /// A fetcher that connects to what `policy` permits and keeps its files in `folder`.
    ///
    /// # Errors
    /// No TLS can be set up, because the machine has no root certificates for instance.
    pub fn new(policy: AddressPolicy, limits: Limits, folder: PathBuf) -> reqwest::Result<Self> {
        Self::with_lookup(policy, limits, folder, Arc::new(SystemLookup))
    }

    /// The same with names resolved by `lookup`.
    ///
    /// # Errors
    /// As [`Fetcher::new`].
    pub fn with_lookup(
        policy: AddressPolicy,
        limits: Limits,
        folder: PathBuf,
        lookup: Arc<dyn Lookup>,
    ) -> reqwest::Result<Self> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(PREFERENCE));
        // Limits are counted in the bytes that arrive: no bomb in transport clothes.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let client = http_client::builder()
            .default_headers(headers)
            .dns_resolver(Arc::new(GuardedResolver::new(policy.clone(), lookup)))
            .connect_timeout(limits.connect)
            .pool_max_idle_per_host(0) // every connection passes the policy
            .build()?;
        Ok(Self { client, policy, limits, folder })
    }

    /// Downloads `source`, and tells `on_bytes` of each piece that arrives.
    ///
    /// # Errors
    /// Why it could not be had; see [`FetchError`].
    pub async fn fetch(
        &self,
        source: &SourceUrl,
        on_bytes: impl FnMut(Received),
    ) -> Result<Fetched, FetchError> {
        self.fetch_after(0, source, on_bytes).await
    }

    /// The same for what so many redirects led to already.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`].
    pub async fn fetch_after(
        &self,
        redirects: u32,
        source: &SourceUrl,
        on_bytes: impl FnMut(Received),
    ) -> Result<Fetched, FetchError> {
        timeout(self.limits.download, self.follow(redirects, source, on_bytes))
            .await
            .unwrap_or(Err(FetchError::TookTooLong(self.limits.download)))
    }

    async fn follow(
        &self,
        before: u32,
        source: &SourceUrl,
        on_bytes: impl FnMut(Received),
    ) -> Result<Fetched, FetchError> {
        let mut url = source.clone();
        for redirects in before..=self.limits.redirects {
            self.policy.admit(&url)?;
            let response = self.ask(&url).await?;
            match redirect::target(&url, response.status(), response.headers().get(LOCATION))? {
                Some(target) => url = target,
                None if response.status().is_success() => {
                    return self.keep(url, redirects, response, on_bytes).await;
                }
                None => return Err(FetchError::Answered(response.status())),
            }
        }
        Err(FetchError::TooManyRedirects(self.limits.redirects))
    }

    /// Asks, and once more when the connection failed before there was an answer: hosts drop connections when they are
    /// restarted or busy.
    async fn ask(&self, url: &SourceUrl) -> Result<Response, FetchError> {
        match self.ask_once(url).await {
            Err(error) if error.may_pass_at_once() => {
                tokio::time::sleep(RETRY_PAUSE).await;
                self.ask_once(url).await
            }
            answer => answer,
        }
    }

    async fn ask_once(&self, url: &SourceUrl) -> Result<Response, FetchError> {
        let answer = self.client.get(url.as_str()).send();
        match timeout(self.limits.connect + self.limits.stall, answer).await {
            Ok(answer) => answer.map_err(|error| FetchError::before_answer(&error)),
            Err(_) => Err(FetchError::Stalled(self.limits.stall)),
        }
    }

    async fn keep(
        &self,
        url: SourceUrl,
        redirects: u32,
        mut response: Response,
        mut on_bytes: impl FnMut(Received),
    ) -> Result<Fetched, FetchError> {
        let limit = self.limits.source_bytes;
        let announced = response.content_length();
        if announced.is_some_and(|announced| announced > limit) {
            return Err(FetchError::TooLarge(limit));
        }
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.map(str::to_owned);

        let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(&self.folder)?);
        let mut bytes = 0;
        loop {
            let piece = match timeout(self.limits.stall, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => break,
                Ok(Err(_)) => return Err(FetchError::BrokenOff),
                Err(_) => return Err(FetchError::Stalled(self.limits.stall)),
            };
            bytes += piece.len() as u64;
            if bytes > limit {
                return Err(FetchError::TooLarge(limit));
            }
            file.write_all(&piece).await?;
            on_bytes(Received { bytes, announced });
        }
        file.flush().await?;
        let mut file = file.into_std().await;
        file.seek(SeekFrom::Start(0))?;
        Ok(Fetched { file, length: bytes, url, redirects, content_type })
    }
}
