//! The rules of servers that were asked lately, by origin: for a day, as RFC 9309 (2.4) has it, and bounded in bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::rules::Rules;

/// The rules of servers.
#[derive(Default)]
pub(in crate::fetch) struct KeptRules(Mutex<HashMap<String, Kept>>);

struct Kept {
    rules: Arc<Rules>,
    since: Instant,
}

/// What is known of an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fetch) enum Known {
    /// Its rules.
    Fresh(Arc<Rules>),
    /// Its rules of some days ago, to be used if it cannot be asked.
    Stale(Arc<Rules>),
    /// Nothing.
    Nothing,
}

/// How long rules are used without asking again.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);
/// How long they are kept for a server that does not answer any more.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// What all of them may take. The usual file has some kilobytes.
const MOST_BYTES: usize = 8 << 20;
/// What an origin takes besides its rules.
const ORIGIN_BYTES: usize = 256;

impl KeptRules {
    /// What is known of an origin.
    pub(in crate::fetch) fn of(&self, origin: &str, now: Instant) -> Known {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.get(origin) {
            Some(Kept { rules, since }) if now.duration_since(*since) < FRESH => {
                Known::Fresh(Arc::clone(rules))
            }
            Some(Kept { rules, since }) if now.duration_since(*since) < KEPT => {
                Known::Stale(Arc::clone(rules))
            }
            _ => Known::Nothing,
        }
    }

    /// Keeps the rules of an origin; those that came first make room for them.
    pub(in crate::fetch) fn keep(&self, origin: String, rules: Arc<Rules>, now: Instant) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(origin, Kept { rules, since: now });
        kept.retain(|_, Kept { since, .. }| now.duration_since(*since) < KEPT);
        let mut bytes: usize = kept.values().map(Kept::bytes).sum();
        while bytes > MOST_BYTES {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.since).map(|(origin, _)| origin.clone());
            let Some(removed) = oldest.and_then(|origin| kept.remove(&origin)) else { return };
            bytes -= removed.bytes();
        }
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        self.rules.bytes() + ORIGIN_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_used_for_a_day_and_kept_for_a_week() {
        let (kept, now, rules) = (KeptRules::default(), Instant::now(), Arc::<Rules>::default());
        kept.keep("http://a.example".to_owned(), Arc::clone(&rules), now);
        let hours = |hours: u64| kept.of("http://a.example", now + Duration::from_secs(hours * 3600));
        assert_eq!(hours(23), Known::Fresh(Arc::clone(&rules)));
        assert_eq!(hours(25), Known::Stale(rules));
        assert_eq!(hours(8 * 24), Known::Nothing);
        assert_eq!(kept.of("https://a.example", now), Known::Nothing, "another origin");
    }

    #[test]
    fn the_oldest_make_room() {
        let (kept, now) = (KeptRules::default(), Instant::now());
        let file = format!("User-agent: *\n{}", "Disallow: /a\n".repeat(30_000));
        let rules = Arc::new(Rules::parse(file.as_bytes(), "a"));
        for number in 0..10 {
            let origin = format!("http://{number}.example");
            kept.keep(origin, Arc::clone(&rules), now + Duration::from_secs(number));
        }
        let bytes: usize = kept.0.lock().unwrap().values().map(Kept::bytes).sum();
        assert!(bytes <= MOST_BYTES && bytes > MOST_BYTES / 2, "{bytes}");
        assert_eq!(kept.of("http://0.example", now), Known::Nothing);
        assert!(matches!(kept.of("http://9.example", now), Known::Fresh(_)));
    }
}
