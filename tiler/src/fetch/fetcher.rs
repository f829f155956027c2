//! Requests a source and follows its redirects, with the address policy applied to each request.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use edgezoom_content::{AddressPolicy, SourceUrl};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response};
use tokio::time::timeout;

use super::download::{self, Received};
use super::error::FetchError;
use super::redirect;
use super::resolver::{FilteringResolver, Resolver, SystemResolver};
use crate::http_client;
use crate::limits::Limits;

/// Downloads sources. A process needs one; it keeps no connections open.
pub struct Fetcher {
    client: Client,
    policy: AddressPolicy,
    limits: Limits,
    folder: PathBuf,
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
}

/// Servers that choose by `Accept` (RFC 9110, 12.5.1) should send a format that pictures are stored in, not one that
/// they produce on the fly for browsers.
const PREFERENCE: &str = "image/jpeg, image/png, image/tiff, image/*;q=0.8, */*;q=0.5";

/// The pause before the one retry after a connection failed before its response.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

impl Fetcher {
    /// A fetcher that connects to addresses that `policy` permits and stores its files in `folder`.
    ///
    /// # Errors
    /// TLS cannot be set up, for instance because the machine has no root certificates.
    pub fn new(policy: AddressPolicy, limits: Limits, folder: PathBuf) -> reqwest::Result<Self> {
        Self::with_resolver(policy, limits, folder, Arc::new(SystemResolver))
    }

    /// A fetcher that resolves names with `resolver`.
    ///
    /// # Errors
    /// As [`Fetcher::new`].
    pub fn with_resolver(
        policy: AddressPolicy,
        limits: Limits,
        folder: PathBuf,
        resolver: Arc<dyn Resolver>,
    ) -> reqwest::Result<Self> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(PREFERENCE));
        // The size limit counts the bytes received: with a content coding, a small body could unpack to a huge one.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let client = http_client::builder()
            .default_headers(headers)
            .dns_resolver(Arc::new(FilteringResolver::new(policy.clone(), resolver)))
            .connect_timeout(limits.connect)
            .pool_max_idle_per_host(0) // so the policy applies to every request
            .build()?;
        Ok(Self { client, policy, limits, folder })
    }

    /// Downloads `source`, and calls `on_bytes` after each chunk.
    ///
    /// # Errors
    /// The source could not be downloaded; see [`FetchError`].
    pub async fn fetch(
        &self,
        source: &SourceUrl,
        on_bytes: impl FnMut(Received),
    ) -> Result<Fetched, FetchError> {
        self.fetch_after(0, source, on_bytes).await
    }

    /// Downloads a source to which `redirects` redirects led already. They count towards the limit.
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
            let response = self.get(&url).await?;
            match redirect::target(&url, response.status(), response.headers().get(LOCATION))? {
                Some(target) => url = target,
                None if response.status().is_success() => {
                    let content_type = response.headers().get(CONTENT_TYPE);
                    let content_type = content_type.and_then(|value| value.to_str().ok()).map(str::to_owned);
                    let (file, length) =
                        download::to_file(response, &self.folder, &self.limits, on_bytes).await?;
                    return Ok(Fetched { file, length, url, redirects, content_type });
                }
                None => return Err(FetchError::Answered(response.status())),
            }
        }
        Err(FetchError::TooManyRedirects(self.limits.redirects))
    }

    /// Sends a request, and once more if the connection failed before a response: servers drop connections when they
    /// restart or are busy.
    async fn get(&self, url: &SourceUrl) -> Result<Response, FetchError> {
        match self.get_once(url).await {
            Err(error) if error.is_worth_a_retry() => {
                tokio::time::sleep(RETRY_PAUSE).await;
                self.get_once(url).await
            }
            result => result,
        }
    }

    async fn get_once(&self, url: &SourceUrl) -> Result<Response, FetchError> {
        let response = self.client.get(url.as_str()).send();
        match timeout(self.limits.connect + self.limits.stall, response).await {
            Ok(response) => response.map_err(|error| FetchError::before_response(&error)),
            Err(_) => Err(FetchError::Stalled(self.limits.stall)),
        }
    }
}
