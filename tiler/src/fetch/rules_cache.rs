//! Caches the rules of robots.txt files by origin: for a day, as RFC 9309 (2.4) says, and within a limit on memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::robots::Rules;

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

impl RulesCache {
    /// Returns the rules of an origin, and whether they are fresh. Stale ones are for a server that does not respond.
    pub(super) fn get(&self, origin: &str, now: Instant) -> Option<(Arc<Rules>, bool)> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Cached { rules, since } = cache.get(origin)?.clone();
        let age = now.duration_since(since);
        (age < KEPT).then_some((rules, age < FRESH))
    }

    /// Caches the rules of an origin, and evicts the oldest ones beyond the memory limit.
    pub(super) fn insert(&self, origin: String, rules: Arc<Rules>, now: Instant) {
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
