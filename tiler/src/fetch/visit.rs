//! Asks a server's robots.txt whether a web page may be opened (RFC 9309), and waits for the turn that it gives. The file is
//! downloaded as sources are: under the address policy, within their limits, redirects included.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use edgezoom_content::SourceUrl;
use reqwest::Response;
use tokio::time::{Instant, timeout};
use url::{Position, Url};

use super::error::{FetchError, is_transient_status};
use super::fetcher::Fetcher;
use super::robots::{Known, MOST_BYTES, Rules};
use crate::bot::PRODUCT;
use crate::http_client;

/// How long a robots.txt may take. A page waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

impl Fetcher {
    /// Waits until a page may be opened to which these URLs led, the requested one first.
    ///
    /// # Errors
    /// A robots.txt disallows one of them or cannot be read, or the host wants a long pause.
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

    /// Gives the pause after a visit that the server asks for.
    async fn ask_robots(&self, url: &SourceUrl) -> Result<Option<Duration>, FetchError> {
        let parsed = Url::parse(url.as_str()).map_err(|_| FetchError::Disallowed)?;
        let origin = &parsed[..Position::BeforePath];
        let (rules, stale) = match self.robots.of(origin, Instant::now()) {
            Known::Fresh(rules) => (Some(rules), None),
            Known::Stale(rules) => (None, Some(rules)),
            Known::Nothing => (None, None),
        };
        let rules = match (rules, stale) {
            (Some(rules), _) => rules,
            (None, stale) => match self.fetch_rules(origin).await {
                Ok(rules) => {
                    let rules = Arc::new(rules);
                    self.robots.keep(origin.to_owned(), Arc::clone(&rules), Instant::now());
                    rules
                }
                Err(error) => stale.ok_or(error)?,
            },
        };
        if rules.allow(&parsed[Position::BeforePath..Position::AfterQuery]) {
            Ok(rules.delay())
        } else {
            Err(FetchError::Disallowed)
        }
    }

    /// Downloads the rules of an origin. One without a robots.txt has none (2.3.1.3). One that fails disallows all until it
    /// does not (2.3.1.4).
    async fn fetch_rules(&self, origin: &str) -> Result<Rules, FetchError> {
        let robots = SourceUrl::parse(&format!("{origin}/robots.txt"))?;
        let asked = timeout(PATIENCE, async {
            let (response, _, _, _slot) = self.get(robots, 0, None).await?;
            let status = response.status().as_u16();
            if is_transient_status(status) {
                let retry_after = http_client::retry_after(response.headers(), SystemTime::now());
                return Err(FetchError::RobotsUnreadable(retry_after));
            }
            let file = if response.status().is_success() { head_of(response).await? } else { vec![] };
            Ok(Rules::parse(&file, PRODUCT))
        });
        match asked.await {
            Ok(Ok(rules)) => Ok(rules),
            Ok(Err(error)) => match error {
                // A robots.txt that cannot be led to is one that is not there (2.3.1.2).
                FetchError::TooManyRedirects(_)
                | FetchError::RedirectsNowhere
                | FetchError::RedirectRefused(_)
                | FetchError::Refused(_) => Ok(Rules::default()),
                FetchError::RobotsUnreadable(retry_after) => Err(FetchError::RobotsUnreadable(retry_after)),
                _ => Err(FetchError::RobotsUnreadable(None)),
            },
            Err(_) => Err(FetchError::RobotsUnreadable(None)),
        }
    }
}

/// The beginning of a body: one byte more than is read of it, so that it shows that there is more.
async fn head_of(mut response: Response) -> Result<Vec<u8>, FetchError> {
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
