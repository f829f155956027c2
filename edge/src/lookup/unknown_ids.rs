//! Ids that no content has. A request for one costs a read of KV and a request to a Durable Object, which is created
//! for it. So recent ones are remembered, and a client that requests many of them has to wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use edgezoom_content::{ContentId, Timestamp};

/// The unknown ids that one isolate remembers.
#[derive(Debug, Default)]
pub struct UnknownIds {
    ids: HashMap<ContentId, Timestamp>,
    clients: HashMap<String, (Timestamp, u32)>,
}

/// Facts about an id that are known without asking its Durable Object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Nothing,
    /// It was unknown a moment ago.
    Unknown,
    /// The client has requested too many unknown ids.
    TooMany,
}

/// Time for which an id counts as unknown. A content that another isolate creates meanwhile is found after this time.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Maximum number of unknown ids per client in each window.
const MAX_IDS: u32 = 60;
const WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of ids, and of clients, that are remembered: some hundred kilobytes.
const CAPACITY: usize = 4096;

impl UnknownIds {
    /// Returns what is known about `id`, for a client's [party](crate::admission::client::Client::party).
    pub fn look_up(&self, id: ContentId, party: Option<&str>, now: Timestamp) -> Known {
        if self.ids.get(&id).is_some_and(|at| now - *at < REMEMBERED) {
            Known::Unknown
        } else if self.is_over(party, now) {
            Known::TooMany
        } else {
            Known::Nothing
        }
    }

    /// Remembers that no content has `id`.
    pub fn note(&mut self, id: ContentId, party: Option<&str>, now: Timestamp) {
        make_room(&mut self.ids, |at| now - *at < REMEMBERED);
        self.ids.insert(id, now);
        self.note_guess(party, now);
    }

    /// Returns true if a client's party has guessed too often.
    pub fn is_over(&self, party: Option<&str>, now: Timestamp) -> bool {
        let of_client = party.and_then(|party| self.clients.get(party));
        of_client.is_some_and(|(since, count)| now - *since < WINDOW && *count >= MAX_IDS)
    }

    /// Counts a request for an id, or for an upload, that does not exist.
    pub fn note_guess(&mut self, party: Option<&str>, now: Timestamp) {
        let Some(party) = party else { return };
        make_room(&mut self.clients, |(since, _)| now - *since < WINDOW);
        let (since, count) = self.clients.entry(party.to_owned()).or_insert((now, 0));
        if now - *since >= WINDOW {
            (*since, *count) = (now, 0);
        }
        *count += 1;
    }

    pub fn forget(&mut self, id: ContentId) {
        self.ids.remove(&id);
    }
}

/// Makes room for one more entry: removes those that no longer count, or else all.
fn make_room<K: Hash + Eq, V>(map: &mut HashMap<K, V>, counts: impl Fn(&V) -> bool) {
    if map.len() >= CAPACITY {
        map.retain(|_, value| counts(value));
        if map.len() >= CAPACITY {
            map.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_content::SourceUrl;

    use super::*;

    fn id(number: u32) -> ContentId {
        let url = SourceUrl::parse(&format!("http://example.com/{number}")).unwrap();
        ContentId::candidates(&url).next().unwrap()
    }

    #[test]
    fn an_unknown_id_is_remembered_for_ten_seconds_or_until_it_has_a_content() {
        let mut ids = UnknownIds::default();
        let now = Timestamp(1_000_000);
        assert_eq!(ids.look_up(id(1), None, now), Known::Nothing);
        ids.note(id(1), None, now);
        assert_eq!(ids.look_up(id(1), None, Timestamp(1_009_999)), Known::Unknown);
        assert_eq!(ids.look_up(id(1), None, Timestamp(1_010_000)), Known::Nothing);
        assert_eq!(ids.look_up(id(2), None, now), Known::Nothing);
        ids.forget(id(1));
        assert_eq!(ids.look_up(id(1), None, now), Known::Nothing);
    }

    #[test]
    fn only_the_client_that_guesses_ids_has_to_wait() {
        let mut ids = UnknownIds::default();
        let now = Timestamp(1_000_000);
        for number in 0..60 {
            assert_eq!(ids.look_up(id(number), Some("a"), now), Known::Nothing);
            ids.note(id(number), Some("a"), now);
        }
        assert_eq!(ids.look_up(id(60), Some("a"), now), Known::TooMany);
        assert_eq!(ids.look_up(id(60), Some("b"), now), Known::Nothing);
        assert_eq!(ids.look_up(id(60), None, now), Known::Nothing);
        assert_eq!(ids.look_up(id(60), Some("a"), Timestamp(1_060_000)), Known::Nothing);
        ids.note(id(60), Some("a"), Timestamp(1_060_000));
        assert_eq!(ids.look_up(id(61), Some("a"), Timestamp(1_060_000)), Known::Nothing);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut ids = UnknownIds::default();
        for number in 0..3 * CAPACITY as u32 {
            ids.note(id(number), Some(&number.to_string()), Timestamp(u64::from(number)));
            assert!(ids.ids.len() <= CAPACITY && ids.clients.len() <= CAPACITY);
        }
    }
}
