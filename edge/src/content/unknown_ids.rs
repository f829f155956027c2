//! Ids that no content has. Each costs a look in KV and a request to a Durable Object, which is made for it: so what was
//! asked lately is remembered, and a client that asks for many of them has to wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use edgezoom_content::{ContentId, Timestamp};

/// What one instance of the Worker knows.
#[derive(Debug, Default)]
pub struct UnknownIds {
    ids: HashMap<ContentId, Timestamp>,
    clients: HashMap<String, (Timestamp, u32)>,
}

/// What is known of an id before its object is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: ask.
    Nothing,
    /// It was unknown a moment ago.
    Unknown,
    /// The client has asked for too many unknown ids.
    TooMany,
}

/// How long an id counts as unknown. A content that is created at another instance of the Worker meanwhile is found this
/// much later here, and there at once.
const REMEMBERED: Duration = Duration::from_secs(10);
/// How many unknown ids a client may ask for in each window of time.
const MOST: u32 = 60;
const WINDOW: Duration = Duration::from_secs(60);
/// How many ids, and how many clients, are remembered: some hundred kilobytes.
const CAPACITY: usize = 4096;

impl UnknownIds {
    /// What is known of `id`, for a client by its [party](crate::admission::client::Client::party).
    #[must_use]
    pub fn look_up(&self, id: ContentId, party: Option<&str>, now: Timestamp) -> Known {
        let of_client = party.and_then(|party| self.clients.get(party));
        if self.ids.get(&id).is_some_and(|at| now - *at < REMEMBERED) {
            Known::Unknown
        } else if of_client.is_some_and(|(since, count)| now - *since < WINDOW && *count >= MOST) {
            Known::TooMany
        } else {
            Known::Nothing
        }
    }

    /// Remembers that no content has `id`.
    pub fn note(&mut self, id: ContentId, party: Option<&str>, now: Timestamp) {
        make_room(&mut self.ids, |at| now - *at < REMEMBERED);
        self.ids.insert(id, now);
        let Some(party) = party else { return };
        make_room(&mut self.clients, |(since, _)| now - *since < WINDOW);
        let (since, count) = self.clients.entry(party.to_owned()).or_insert((now, 0));
        if now - *since >= WINDOW {
            (*since, *count) = (now, 0);
        }
        *count += 1;
    }

    /// Forgets that no content has `id`: it has one now.
    pub fn forget(&mut self, id: ContentId) {
        self.ids.remove(&id);
    }
}

/// Makes room for one more: deletes what does not count any more, and when that is not enough, all.
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
    fn an_unknown_id_is_remembered_for_a_while_or_until_it_has_a_content() {
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
    fn a_client_that_guesses_ids_has_to_wait_and_others_have_not() {
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
    fn what_is_remembered_has_a_bound() {
        let mut ids = UnknownIds::default();
        for number in 0..3 * CAPACITY as u32 {
            ids.note(id(number), Some(&number.to_string()), Timestamp(u64::from(number)));
            assert!(ids.ids.len() <= CAPACITY && ids.clients.len() <= CAPACITY);
        }
    }
}
