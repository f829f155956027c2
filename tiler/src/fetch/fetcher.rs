//! Requests a source, follows its redirects under the address policy, and tries again until the source is complete or
//! another try is not worth it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use edgezoom_content::{AddressPolicy, SourceUrl};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue, IF_RANGE, LOCATION, RANGE};
use reqwest::{Client, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use url::Url;

use super::cookies::Cookies;
use super::download::{Download, Fetched, Rest};
use super::error::FetchError;
use super::host_slots::HostSlots;
use super::pace::Pace;
use super::redirect;
use super::resolver::{FilteringResolver, Resolver, SystemResolver};
use super::rules_cache::RulesCache;
use super::tries::{Tries, is_transient_status};
use crate::bot::BotSettings;
use crate::credentials::Credentials;
use crate::http_client;
use crate::limits::Limits;
use crate::renderer::Arrival;

/// Downloads sources. A process needs only one. It keeps no connections open.
pub struct Fetcher {
    client: Client,
    policy: AddressPolicy,
    pub(super) limits: Limits,
    pub(super) folder: PathBuf,
    pub(super) bot: BotSettings,
    pub(super) hosts: HostSlots,
    pub(super) robots: RulesCache,
}

/// Longest wait for other downloads from the same host. A tiler has few slots and should not spend them waiting.
const HOST_PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Maximum number of headers of a response. Their total length is limited to about 400 KiB by hyper.
const MOST_HEADERS: usize = 1024;

/// Value of `Accept`. Servers that negotiate (RFC 9110, 12.5.1) should send a format that pictures are stored in, not
/// one that they produce on the fly for browsers.
const PREFERENCE: &str = "image/jpeg, image/png, image/tiff, image/*;q=0.8, */*;q=0.5";

/// A response that is not a redirect. The download occupies one of its host's slots until this is dropped.
pub(super) struct Got {
    pub(super) response: Response,
    url: SourceUrl,
    /// Number of redirects that led to it.
    redirects: u32,
    _slot: OwnedSemaphorePermit,
}

impl Fetcher {
    /// Creates a fetcher that connects to the addresses that `policy` permits and stores its files in `folder`.
    ///
    /// # Errors
    /// TLS cannot be set up, for instance because the machine has no root certificates.
    pub fn new(
        policy: AddressPolicy,
        limits: Limits,
        folder: PathBuf,
        bot: BotSettings,
    ) -> reqwest::Result<Self> {
        Self::with_resolver(policy, limits, folder, bot, Arc::new(SystemResolver))
    }

    /// Creates a fetcher that resolves host names with `resolver`.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn with_resolver(
        policy: AddressPolicy,
        limits: Limits,
        folder: PathBuf,
        bot: BotSettings,
        resolver: Arc<dyn Resolver>,
    ) -> reqwest::Result<Self> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(PREFERENCE));
        // A content coding costs a process that removes it. Some servers apply one nevertheless.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let client = http_client::builder()
            .user_agent(bot.user_agent.as_str())
            .default_headers(headers)
            .dns_resolver(Arc::new(FilteringResolver::new(policy.clone(), resolver)))
            .connect_timeout(limits.connect)
            // What browsers accept, too: `Name : value`, lines without a name or a colon, and folded lines.
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_max_headers(MOST_HEADERS)
            .pool_max_idle_per_host(0) // so that the policy applies to every request
            .build()?;
        let hosts = HostSlots::new(limits.downloads_per_host, limits.host_interval, HOST_PATIENCE);
        Ok(Self { client, policy, limits, folder, bot, hosts, robots: RulesCache::default() })
    }

    /// Downloads `source`. Calls `on_arrival` after each chunk and when the source is complete.
    ///
    /// # Errors
    /// The source could not be downloaded.
    pub async fn fetch(
        &self,
        source: &SourceUrl,
        on_arrival: impl FnMut(Arrival),
    ) -> Result<Fetched, FetchError> {
        self.fetch_after(0, source, None, on_arrival).await
    }

    /// Downloads a source to which `redirects` redirects have already led; they count towards the limit. Sends the
    /// credentials to their origin, until a redirect leads to another one. Calls `on_arrival` after each chunk and when the
    /// source is complete.
    ///
    /// # Errors
    /// The source could not be downloaded.
    pub async fn fetch_after(
        &self,
        redirects: u32,
        source: &SourceUrl,
        credentials: Option<Credentials>,
        on_arrival: impl FnMut(Arrival),
    ) -> Result<Fetched, FetchError> {
        let cookies = Cookies::with(credentials);
        self.fetch_with(cookies, &mut Pace::new(Duration::ZERO), redirects, source, on_arrival).await
    }

    /// Does the same without credentials at a pace, which becomes slower with each refusal of the server.
    ///
    /// # Errors
    /// The source could not be downloaded.
    pub async fn fetch_at(
        &self,
        pace: &mut Pace,
        redirects: u32,
        source: &SourceUrl,
        on_arrival: impl FnMut(Arrival),
    ) -> Result<Fetched, FetchError> {
        self.fetch_with(Cookies::default(), pace, redirects, source, on_arrival).await
    }

    async fn fetch_with(
        &self,
        mut cookies: Cookies,
        pace: &mut Pace,
        redirects: u32,
        source: &SourceUrl,
        mut on_arrival: impl FnMut(Arrival),
    ) -> Result<Fetched, FetchError> {
        let deadline = Instant::now() + self.limits.download;
        let mut download = Download::new(&self.folder)?;
        let mut tries = Tries::default();
        loop {
            let furthest = download.furthest();
            let one_try = async {
                self.hosts.turn(source.host(), pace.pause()).await?;
                self.follow(redirects, source, &mut cookies, &mut download, &mut on_arrival).await
            };
            let error = match timeout_at(deadline, one_try).await {
                Ok(Ok(())) => return download.finish(source, on_arrival),
                Ok(Err(error)) => error,
                Err(_) => return Err(FetchError::TookTooLong(self.limits.download)),
            };
            pace.note(&error);
            let pause = tries.pause_after(&error, download.furthest() > furthest, fastrand::f64());
            match pause.map(|pause| Instant::now() + pause) {
                Some(next) if next < deadline && download.may_go_on() => sleep_until(next).await,
                _ => return Err(error),
            }
        }
    }

    /// Makes one try: requests the missing part of the download, or the whole source.
    async fn follow(
        &self,
        before: u32,
        source: &SourceUrl,
        cookies: &mut Cookies,
        download: &mut Download,
        on_arrival: &mut impl FnMut(Arrival),
    ) -> Result<(), FetchError> {
        if let Some(rest) = download.rest() {
            let got = self.get(rest.url.clone(), rest.redirects, Some(&rest), cookies).await?;
            match download.take_rest(got.response, &self.limits, &mut *on_arrival).await? {
                None => return Ok(()),
                Some(unfit) if is_transient_status(unfit.status().as_u16()) => return Err(answered(&unfit)),
                Some(_) => {} // the source has changed, or its URL after redirects is no longer valid
            }
        }
        let Got { response, url, redirects, _slot } = self.get(source.clone(), before, None, cookies).await?;
        if !response.status().is_success() {
            return Err(answered(&response));
        }
        download.take_whole(response, url, redirects, &self.limits, on_arrival).await
    }

    /// Sends a request and follows its redirects, after `before` earlier ones, with the cookies that they set. Returns the
    /// first response that is not a redirect.
    pub(super) async fn get(
        &self,
        mut url: SourceUrl,
        before: u32,
        rest: Option<&Rest>,
        cookies: &mut Cookies,
    ) -> Result<Got, FetchError> {
        // Another server must not choose what is requested with credentials.
        let mut has_stayed = rest.is_none_or(|rest| rest.redirects == before);
        for redirects in before..=self.limits.redirects {
            self.policy.admit(&url)?;
            let slot = self.hosts.acquire(url.host()).await?;
            let parsed = Url::parse(url.as_str()).map_err(|_| FetchError::RedirectsNowhere)?;
            has_stayed &= cookies.cover(&parsed);
            let mut request = self.client.get(url.as_str()).headers(cookies.headers(&parsed, has_stayed));
            if let Some(Rest { range, if_range, .. }) = rest {
                request = request.header(RANGE, range).header(IF_RANGE, if_range);
            }
            let response = match timeout(self.limits.connect + self.limits.stall, request.send()).await {
                Ok(response) => response.map_err(|error| FetchError::before_response(&error))?,
                Err(_) => return Err(FetchError::Stalled(self.limits.stall)),
            };
            cookies.record(&parsed, response.headers(), SystemTime::now());
            if response.status() == StatusCode::TOO_MANY_REQUESTS {
                self.hosts.pause(url.host(), retry_after(&response).unwrap_or_default());
            }
            match redirect::target(&url, response.status(), response.headers().get_all(LOCATION))? {
                Some(target) => url = target,
                None => return Ok(Got { response, url, redirects, _slot: slot }),
            }
        }
        Err(FetchError::TooManyRedirects(self.limits.redirects))
    }
}

fn answered(response: &Response) -> FetchError {
    FetchError::Answered { status: response.status(), retry_after: retry_after(response) }
}

fn retry_after(response: &Response) -> Option<Duration> {
    http_client::retry_after(response.headers(), SystemTime::now())
}
