//! Asks a server's robots.txt whether a web page may be opened (RFC 9309), and waits for the turn that it gives. The file is
//! downloaded as sources are: under the address policy and within their limits, redirects included. Its rules are cached
//! by origin: for a day, as RFC 9309 (2.4) says, and within a limit on memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use edgezoom_content::SourceUrl;
use reqwest::Response;
use tokio::time::{Instant, timeout};
use url::{Position, Url};

use super::error::FetchError;
use super::fetcher::Fetcher;
use super::robots::{MOST_BYTES, Rules};
use crate::bot::PRODUCT;
use crate::failure::is_transient_status;
use crate::http_client;

/// Longest time for fetching a robots.txt. A page waits for it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for which rules are used without asking again.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);
/// Time for which rules are kept in case the server stops responding.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Memory limit for all rules. A typical file has a few kilobytes.
const MOST_CACHED_BYTES: usize = 8 << 20;
/// Memory of an origin besides its rules.
const ORIGIN_BYTES: usize = 256;

/// The rules of servers that were asked before, by origin.
#[derive(Default)]
pub(super) struct RulesCache(Mutex<HashMap<String, Cached>>);

#[derive(Clone)]
struct Cached {
    rules: Arc<Rules>,
    since: Instant,
}

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

    /// Downloads the rules of an origin. An origin without a robots.txt has none (2.3.1.3). One whose server fails disallows
    /// everything until the server recovers (2.3.1.4).
    async fn fetch_rules(&self, origin: &str) -> Result<Rules, FetchError> {
        let robots = SourceUrl::parse(&format!("{origin}/robots.txt"))?;
        let asked = timeout(PATIENCE, async {
            let (response, _, _, _slot) = self.get(robots, 0, None).await?;
            if is_transient_status(response.status().as_u16()) {
                let retry_after = http_client::retry_after(response.headers(), SystemTime::now());
                return Err(FetchError::RobotsUnreadable(retry_after));
            }
            let file = if response.status().is_success() { head_of(response).await? } else { vec![] };
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

/// Reads the beginning of a body: one byte more than is parsed, so that the parser sees that the file is longer.
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

impl RulesCache {
    /// Returns the rules of an origin, and whether they are fresh. Stale ones are for a server that does not respond.
    fn get(&self, origin: &str, now: Instant) -> Option<(Arc<Rules>, bool)> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Cached { rules, since } = cache.get(origin)?.clone();
        let age = now.duration_since(since);
        (age < KEPT).then_some((rules, age < FRESH))
    }

    /// Caches the rules of an origin, and evicts the oldest ones beyond the memory limit.
    fn insert(&self, origin: String, rules: Arc<Rules>, now: Instant) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.insert(origin, Cached { rules, since: now });
        cache.retain(|_, Cached { since, .. }| now.duration_since(*since) < KEPT);
        let mut bytes: usize = cache.values().map(Cached::bytes).sum();
        while bytes > MOST_CACHED_BYTES {
            let oldest =
                cache.iter().min_by_key(|(_, cached)| cached.since).map(|(origin, _)| origin.clone());
            let Some(removed) = oldest.and_then(|origin| cache.remove(&origin)) else { return };
            bytes -= removed.bytes();
        }
    }
}

impl Cached {
    fn bytes(&self) -> usize {
        self.rules.bytes() + ORIGIN_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_used_for_a_day_and_kept_for_a_week() {
        let (cache, now, rules) = (RulesCache::default(), Instant::now(), Arc::<Rules>::default());
        cache.insert("http://a.example".to_owned(), Arc::clone(&rules), now);
        let hours = |hours: u64| cache.get("http://a.example", now + Duration::from_secs(hours * 3600));
        assert_eq!(hours(23), Some((Arc::clone(&rules), true)));
        assert_eq!(hours(25), Some((rules, false)));
        assert_eq!(hours(8 * 24), None);
        assert_eq!(cache.get("https://a.example", now), None, "another origin");
    }

    #[test]
    fn the_oldest_rules_are_evicted() {
        let (cache, now) = (RulesCache::default(), Instant::now());
        let file = format!("User-agent: *\n{}", "Disallow: /a\n".repeat(30_000));
        let rules = Arc::new(Rules::parse(file.as_bytes(), "a"));
        for number in 0..10 {
            let origin = format!("http://{number}.example");
            cache.insert(origin, Arc::clone(&rules), now + Duration::from_secs(number));
        }
        let bytes: usize = cache.0.lock().unwrap().values().map(Cached::bytes).sum();
        assert!(bytes <= MOST_CACHED_BYTES && bytes > MOST_CACHED_BYTES / 2, "{bytes}");
        assert_eq!(cache.get("http://0.example", now), None);
        assert!(matches!(cache.get("http://9.example", now), Some((_, true))));
    }
}
