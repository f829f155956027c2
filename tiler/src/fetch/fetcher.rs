//! Requests a source and follows its redirects, with the address policy applied to each request; and again, while it is
//! worth it, until the source is complete.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use edgezoom_content::{AddressPolicy, SourceUrl};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue, IF_RANGE, LOCATION, RANGE};
use reqwest::{Client, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::download::{Download, Fetched, Received, Rest};
use super::error::{FetchError, is_transient_status};
use super::host_slots::HostSlots;
use super::redirect;
use super::resolver::{FilteringResolver, Resolver, SystemResolver};
use super::robots::KeptRules;
use super::tries::Tries;
use crate::arrival::Arrival;
use crate::bot::BotSettings;
use crate::http_client;
use crate::limits::Limits;

/// Downloads sources. A process needs one; it keeps no connections open.
pub struct Fetcher {
    client: Client,
    policy: AddressPolicy,
    limits: Limits,
    folder: PathBuf,
    pub(super) bot: BotSettings,
    pub(super) hosts: HostSlots,
    pub(super) robots: KeptRules,
}

/// How long a download waits for others from its host. A tiler has few slots, and should not spend them waiting.
const HOST_PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Servers that choose by `Accept` (RFC 9110, 12.5.1) should send a format that pictures are stored in, not one that
/// they produce on the fly for browsers.
const PREFERENCE: &str = "image/jpeg, image/png, image/tiff, image/*;q=0.8, */*;q=0.5";

impl Fetcher {
    /// A fetcher that connects to addresses that `policy` permits and stores its files in `folder`.
    ///
    /// # Errors
    /// TLS cannot be set up, for instance because the machine has no root certificates.
    pub fn new(policy: AddressPolicy, limits: Limits, folder: PathBuf) -> reqwest::Result<Self> {
        Self::of_bot(policy, limits, folder, BotSettings::default())
    }

    /// A fetcher that behaves as `bot` says.
    ///
    /// # Errors
    /// As [`Fetcher::new`].
    pub fn of_bot(
        policy: AddressPolicy,
        limits: Limits,
        folder: PathBuf,
        bot: BotSettings,
    ) -> reqwest::Result<Self> {
        Self::build(policy, limits, folder, Arc::new(SystemResolver), bot)
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
        Self::build(policy, limits, folder, resolver, BotSettings::default())
    }

    fn build(
        policy: AddressPolicy,
        limits: Limits,
        folder: PathBuf,
        resolver: Arc<dyn Resolver>,
        bot: BotSettings,
    ) -> reqwest::Result<Self> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(PREFERENCE));
        // The size limit counts the bytes received: with a content coding, a small body could unpack to a huge one.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let client = http_client::builder()
            .user_agent(bot.user_agent.as_str())
            .default_headers(headers)
            .dns_resolver(Arc::new(FilteringResolver::new(policy.clone(), resolver)))
            .connect_timeout(limits.connect)
            .pool_max_idle_per_host(0) // so the policy applies to every request
            .build()?;
        let hosts = HostSlots::new(limits.downloads_per_host, limits.host_interval, HOST_PATIENCE);
        Ok(Self { client, policy, limits, folder, bot, hosts, robots: KeptRules::default() })
    }

    /// Downloads `source`, and calls `on_bytes` after each chunk that brings it further than ever before.
    ///
    /// # Errors
    /// The source could not be downloaded; see [`FetchError`].
    pub async fn fetch(
        &self,
        source: &SourceUrl,
        mut on_bytes: impl FnMut(Received),
    ) -> Result<Fetched, FetchError> {
        let mut furthest = 0;
        let on_arrival = |Arrival { bytes, announced, .. }| {
            if bytes > furthest {
                furthest = bytes;
                on_bytes(Received { bytes, announced });
            }
        };
        self.fetch_after(0, source, on_arrival).await
    }

    /// Downloads a source to which `redirects` redirects led already. They count towards the limit. Calls `on_arrival`
    /// after each chunk, and when the source is complete.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`].
    pub async fn fetch_after(
        &self,
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
                self.hosts.turn(source.host(), Duration::ZERO).await?;
                self.follow(redirects, source, &mut download, &mut on_arrival).await
            };
            let error = match timeout_at(deadline, one_try).await {
                Ok(Ok(())) => return download.finish(source, on_arrival),
                Ok(Err(error)) => error,
                Err(_) => return Err(FetchError::TookTooLong(self.limits.download)),
            };
            let pause = tries.pause_after(&error, download.furthest() > furthest, fastrand::f64());
            match pause.map(|pause| Instant::now() + pause) {
                Some(next) if next < deadline && download.may_go_on() => sleep_until(next).await,
                _ => return Err(error),
            }
        }
    }

    /// One try: requests what is missing of the download, or the whole source, and follows redirects.
    async fn follow(
        &self,
        before: u32,
        source: &SourceUrl,
        download: &mut Download,
        on_arrival: &mut impl FnMut(Arrival),
    ) -> Result<(), FetchError> {
        if let Some(rest) = download.rest() {
            let (response, _, _, _slot) = self.get(rest.url.clone(), rest.redirects, Some(&rest)).await?;
            match download.take_rest(response, &self.limits, &mut *on_arrival).await? {
                None => return Ok(()),
                Some(unfit) if is_transient_status(unfit.status().as_u16()) => return Err(answered(&unfit)),
                Some(_) => {} // the source has changed, or its address after redirects is not valid any more
            }
        }
        let (response, url, redirects, _slot) = self.get(source.clone(), before, None).await?;
        // Nothing says what a part is part of that was not asked for.
        if !response.status().is_success() || response.status() == StatusCode::PARTIAL_CONTENT {
            return Err(answered(&response));
        }
        if let Some(reservation) = self.bot.opt_outs.in_headers(response.headers()) {
            return Err(FetchError::Reserved(reservation));
        }
        download.take_whole(response, url, redirects, &self.limits, on_arrival).await
    }

    /// Sends a request and follows its redirects, of which there were so many already. Gives the first response that is
    /// none, with its URL, the redirects that led to it, and the slot that the download takes of its host.
    pub(super) async fn get(
        &self,
        mut url: SourceUrl,
        before: u32,
        rest: Option<&Rest>,
    ) -> Result<(Response, SourceUrl, u32, OwnedSemaphorePermit), FetchError> {
        for redirects in before..=self.limits.redirects {
            self.policy.admit(&url)?;
            let slot = self.hosts.acquire(url.host()).await?;
            let mut request = self.client.get(url.as_str());
            if let Some(Rest { range, if_range, .. }) = rest {
                request = request.header(RANGE, range).header(IF_RANGE, if_range);
            }
            let response = match timeout(self.limits.connect + self.limits.stall, request.send()).await {
                Ok(response) => response.map_err(|error| FetchError::before_response(&error))?,
                Err(_) => return Err(FetchError::Stalled(self.limits.stall)),
            };
            if response.status() == StatusCode::TOO_MANY_REQUESTS {
                self.hosts.pause(url.host(), retry_after(&response).unwrap_or_default());
            }
            match redirect::target(&url, response.status(), response.headers().get(LOCATION))? {
                Some(target) => url = target,
                None => return Ok((response, url, redirects, slot)),
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
