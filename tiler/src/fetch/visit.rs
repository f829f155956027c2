//! Asks a server's robots.txt whether a web page may be opened (RFC 9309), and waits for the turn that it gives. The
//! file is downloaded as sources are: under the address policy and within their limits, redirects included.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use edgezoom_content::SourceUrl;
use reqwest::Response;
use tokio::time::{Instant, timeout};
use url::{Position, Url};

use super::cookies::Cookies;
use super::error::FetchError;
use super::fetcher::{Fetcher, Got};
use super::robots::{MOST_BYTES, Rules};
use super::tries::is_transient_status;
use crate::OWN_PROGRAM;
use crate::bot::PRODUCT;
use crate::http_client;
use crate::renderer::Coding;
use crate::renderer::unpack::unpack;

/// Longest time for fetching a robots.txt. A page waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

impl Fetcher {
    /// Waits until a page may be opened. `urls` are the URLs that led to it, beginning with the requested one.
    ///
    /// # Errors
    /// A robots.txt disallows one of them or cannot be read, or the host asks for a long pause.
    pub async fn may_visit(&self, urls: &[&SourceUrl]) -> Result<(), FetchError> {
        if !self.bot.respects_robots {
            return Ok(());
        }
        let mut last: Option<(&SourceUrl, Option<Duration>)> = None;
        for &url in urls {
            if last.is_none_or(|(asked, _)| asked != url) {
                last = Some((url, self.ask_robots(url).await?));
            }
        }
        match last {
            Some((url, Some(delay))) => self.hosts.turn(url.host(), delay).await,
            _ => Ok(()),
        }
    }

    /// Returns the pause between requests that the server of a URL asks for in its robots.txt.
    ///
    /// # Errors
    /// The robots.txt disallows the URL or cannot be read.
    pub async fn crawl_delay(&self, url: &SourceUrl) -> Result<Duration, FetchError> {
        if !self.bot.respects_robots {
            return Ok(Duration::ZERO);
        }
        Ok(self.ask_robots(url).await?.unwrap_or_default())
    }

    /// Returns the pause after a visit that the server asks for.
    async fn ask_robots(&self, url: &SourceUrl) -> Result<Option<Duration>, FetchError> {
        let parsed = Url::parse(url.as_str()).map_err(|_| FetchError::Disallowed)?;
        let origin = &parsed[..Position::BeforePath];
        let rules = match self.robots.get(origin, Instant::now()) {
            Some((rules, true)) => rules,
            stale => match self.fetch_rules(origin).await {
                Ok(rules) => {
                    let rules = Arc::new(rules);
                    self.robots.insert(origin.to_owned(), Arc::clone(&rules), Instant::now());
                    rules
                }
                Err(error) => stale.ok_or(error)?.0,
            },
        };
        if rules.allow(&parsed[Position::BeforePath..Position::AfterQuery]) {
            Ok(rules.delay())
        } else {
            Err(FetchError::Disallowed)
        }
    }

    /// Downloads the rules of an origin. An origin without a robots.txt has none (2.3.1.3). One whose server fails
    /// disallows everything until the server recovers (2.3.1.4).
    async fn fetch_rules(&self, origin: &str) -> Result<Rules, FetchError> {
        let robots = SourceUrl::parse(&format!("{origin}/robots.txt"))?;
        let asked = timeout(PATIENCE, async {
            let got = self.get(robots, 0, None, &mut Cookies::default()).await?;
            let response = &got.response;
            if is_transient_status(response.status().as_u16()) {
                let retry_after = http_client::retry_after(response.headers(), SystemTime::now());
                return Err(FetchError::RobotsUnreadable(retry_after));
            }
            let file = if response.status().is_success() { self.beginning(got).await? } else { vec![] };
            Ok(Rules::parse(&file, PRODUCT))
        });
        match asked.await {
            // A robots.txt behind a bad redirect counts as missing (2.3.1.2).
            Ok(Err(
                FetchError::TooManyRedirects(_)
                | FetchError::RedirectsNowhere
                | FetchError::RedirectRefused(_)
                | FetchError::Refused(_),
            )) => Ok(Rules::default()),
            Ok(Err(FetchError::RobotsUnreadable(retry_after))) => {
                Err(FetchError::RobotsUnreadable(retry_after))
            }
            Ok(Ok(rules)) => Ok(rules),
            Ok(Err(_)) | Err(_) => Err(FetchError::RobotsUnreadable(None)),
        }
    }
}

impl Fetcher {
    /// Returns the beginning of a body without its content codings.
    async fn beginning(&self, mut got: Got) -> Result<Vec<u8>, FetchError> {
        let codings = Coding::of(got.response.headers());
        let head = head_of(&mut got.response).await?;
        if codings.is_empty() {
            return Ok(head);
        }
        let mut packed = tempfile::tempfile_in(&self.folder)?;
        packed.write_all(&head)?;
        let unpacked = unpack(Path::new(OWN_PROGRAM), &packed, &codings, &self.folder, &self.limits).await;
        let unpacked = unpacked.map_err(|_| FetchError::RobotsUnreadable(None))?;
        let mut beginning = Vec::new();
        unpacked.file.take(MOST_BYTES as u64 + 1).read_to_end(&mut beginning)?;
        // A server may name a coding that it has not applied.
        Ok(if unpacked.is_whole || !beginning.is_empty() { beginning } else { head })
    }
}

/// Reads the beginning of a body: one byte more than is parsed, so that the parser sees that the file is longer.
async fn head_of(response: &mut Response) -> Result<Vec<u8>, FetchError> {
    let mut head = vec![];
    while head.len() <= MOST_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => head.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(_) => return Err(FetchError::BrokenOff),
        }
    }
    Ok(head)
}
