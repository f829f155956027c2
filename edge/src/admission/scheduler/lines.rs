//! A line of waiting jobs for each client, and the numbers of jobs sent for each client and each host of sources.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::rc::Rc;

use edgezoom_content::ContentId;

use super::rows::Entry;
use crate::admission::client::{is_batch, is_signed};

/// The lines of all clients.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: HashMap<Rc<str>, Line>,
    /// The lines with waiting jobs, in the order in which they get their turns.
    order: BTreeSet<Rank>,
    /// The line after which the search for the next job goes on, if it was not completed.
    searched: Option<Rank>,
    /// Jobs sent for each host.
    hosts: Hosts,
    waiting: u64,
    sent: u64,
    /// Tiles that all jobs count, and those that were sent.
    tiles: u64,
    sent_tiles: u64,
    /// Number of jobs ever sent.
    turns: u64,
}

#[derive(Debug, Default)]
struct Line {
    /// Waiting jobs in order of arrival.
    waiting: BTreeMap<u64, ContentId>,
    sent: u64,
    /// Tiles that all jobs count, and those that were sent.
    tiles: u64,
    sent_tiles: u64,
    /// Value of [`Lines::turns`] at the client's last turn.
    turn: u64,
    /// Jobs sent for each host.
    hosts: Hosts,
}

/// Numbers of jobs sent for hosts.
#[derive(Debug, Default)]
struct Hosts(HashMap<String, u64>);

/// The place of a line: collections come last. Then first the client with the fewest jobs sent. Among those, the client whose last turn was longest
/// ago comes first, and then the one whose job arrived first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_batch: bool,
    sent: u64,
    turn: u64,
    first: u64,
    party: Rc<str>,
}

/// The limits of the jobs that are sent and have not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number for all clients together.
    pub all: u64,
    /// Maximum number for all clients that have one already, unless they sign their requests.
    pub own: u64,
    /// Maximum number for one client, unless it signs its requests.
    pub one: u64,
    /// Maximum number for one host.
    pub host: u64,
    /// Maximum number of tiles that one client has had made today and that its sent jobs will make, unless it signs its
    /// requests.
    pub tiles: u64,
}

/// Maximum number of jobs at the head of a line that are searched for one whose host is free. A line of jobs for a busy
/// host costs little, and delays only its own client.
const SEARCHED: usize = 100;
/// Maximum number of lines that are searched at once. The next search goes on behind them, so that many clients who
/// wait for one busy host delay others by some messages, and a message never takes long.
const LINES: usize = 500;

impl Lines {
    /// Returns the number of waiting jobs.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Returns the number of tiles that all jobs count.
    pub(super) fn tiles(&self) -> u64 {
        self.tiles
    }

    /// Returns the number of tiles that all sent jobs count.
    pub(super) fn sent_tiles(&self) -> u64 {
        self.sent_tiles
    }

    /// Returns the number of a client's waiting jobs.
    pub(super) fn waiting_of(&self, party: &str) -> u64 {
        self.lines.get(party).map_or(0, |line| line.waiting.len() as u64)
    }

    /// Returns the number of tiles that a client's jobs count.
    pub(super) fn tiles_of(&self, party: &str) -> u64 {
        self.lines.get(party).map_or(0, |line| line.tiles)
    }

    pub(super) fn add(&mut self, entry: &Entry) {
        let (party, mut line) = self.take(&entry.party);
        line.tiles += entry.counted_tiles();
        self.tiles += entry.counted_tiles();
        if entry.sent_at.is_none() {
            line.waiting.insert(entry.order, entry.job.id);
            self.waiting += 1;
        } else {
            self.turns += 1;
            line.turn = self.turns;
            line.sent += 1;
            line.sent_tiles += entry.counted_tiles();
            self.sent_tiles += entry.counted_tiles();
            self.sent += 1;
            self.hosts.add(&entry.host);
            line.hosts.add(&entry.host);
        }
        self.put(party, line);
    }

    pub(super) fn remove(&mut self, entry: &Entry) {
        let (party, mut line) = self.take(&entry.party);
        line.tiles = line.tiles.saturating_sub(entry.counted_tiles());
        self.tiles = self.tiles.saturating_sub(entry.counted_tiles());
        if entry.sent_at.is_some() {
            line.sent = line.sent.saturating_sub(1);
            line.sent_tiles = line.sent_tiles.saturating_sub(entry.counted_tiles());
            self.sent_tiles = self.sent_tiles.saturating_sub(entry.counted_tiles());
            self.sent = self.sent.saturating_sub(1);
            self.hosts.remove(&entry.host);
            line.hosts.remove(&entry.host);
        } else if line.waiting.remove(&entry.order).is_some() {
            self.waiting -= 1;
        }
        self.put(party, line);
    }

    /// Takes a client's line out, to be changed and put back.
    fn take(&mut self, party: &str) -> (Rc<str>, Line) {
        let (party, line) = self.lines.remove_entry(party).unwrap_or_else(|| (party.into(), Line::default()));
        if let Some(rank) = line.rank(&party) {
            self.order.remove(&rank);
        }
        (party, line)
    }

    fn put(&mut self, party: Rc<str>, line: Line) {
        self.order.extend(line.rank(&party));
        if line.sent > 0 || !line.waiting.is_empty() {
            self.lines.insert(party, line);
        }
    }

    /// Returns the next job: the first one, of the first line, that the limits allow. `jobs` are all jobs, and `made`
    /// the numbers of tiles that clients have had made today.
    pub(super) fn next(
        &mut self,
        limits: &Limits,
        jobs: &HashMap<ContentId, Entry>,
        made: &HashMap<String, u64>,
    ) -> Option<ContentId> {
        if self.sent >= limits.all {
            return None;
        }
        let from = self.searched.take();
        let ranks = self.order.range((from.map_or(Unbounded, Excluded), Unbounded));
        for (searched, rank) in ranks.enumerate() {
            if searched == LINES {
                self.searched = Some(rank.clone());
                return None;
            }
            let found = self.lines.get(&rank.party).and_then(|line| {
                let made = made.get(&*rank.party).copied().unwrap_or_default();
                // All who have jobs already leave room for one who has none.
                let leaves_room = line.sent == 0 || self.sent < limits.own;
                let may_send = leaves_room && line.sent < limits.one && made + line.sent_tiles < limits.tiles;
                let is_signed = is_signed(&rank.party);
                if rank.is_batch {
                    // Jobs of all together, so that a person's next one finds a slot.
                    let own = (limits.host - limits.host / 4).max(1);
                    let may_send = self.sent < limits.one;
                    return if may_send { self.first_of(line, limits.host, own, jobs) } else { None };
                }
                let own = if is_signed { limits.host } else { (limits.host - limits.host / 4).max(1) };
                if may_send || is_signed { self.first_of(line, limits.host, own, jobs) } else { None }
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Returns the first job of a line whose host is not busy. A client leaves a quarter of each host's places to others,
    /// unless it signs its requests: a host's downloads may take half an hour.
    fn first_of(
        &self,
        line: &Line,
        limit: u64,
        own: u64,
        jobs: &HashMap<ContentId, Entry>,
    ) -> Option<ContentId> {
        let is_free = |id: &ContentId| {
            let host = jobs.get(id).map_or("", |entry| entry.host.as_str());
            // An uploaded file has no host.
            host.is_empty() || (self.hosts.sent(host) < limit && line.hosts.sent(host) < own)
        };
        line.waiting.values().take(SEARCHED).find(|id| is_free(id)).copied()
    }
}

impl Hosts {
    fn sent(&self, host: &str) -> u64 {
        self.0.get(host).copied().unwrap_or_default()
    }

    fn add(&mut self, host: &str) {
        *self.0.entry(host.to_owned()).or_default() += 1;
    }

    fn remove(&mut self, host: &str) {
        if let Some(sent) = self.0.get_mut(host) {
            *sent -= 1;
            if *sent == 0 {
                self.0.remove(host);
            }
        }
    }
}

impl Line {
    /// Returns the place of the line of `party`; `None` if no job waits.
    fn rank(&self, party: &Rc<str>) -> Option<Rank> {
        let (first, _) = self.waiting.first_key_value()?;
        Some(Rank {
            is_batch: is_batch(party),
            sent: self.sent,
            turn: self.turn,
            first: *first,
            party: Rc::clone(party),
        })
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_content::Timestamp;
    use edgezoom_content::protocol::Job;

    use super::*;

    #[test]
    fn a_client_without_jobs_leaves_nothing() {
        let job = Job { id: "6qy4OXfXSid".parse().unwrap(), alone: false, avoid: None };
        let waiting =
            Entry { job, party: "a".into(), host: "b".into(), order: 1, sent_at: None, tiles: None };
        let sent = Entry { sent_at: Some(Timestamp(1)), ..waiting.clone() };
        let mut lines = Lines::default();
        for entry in [&waiting, &sent] {
            lines.add(entry);
            assert_eq!((lines.lines.len(), lines.tiles_of("a")), (1, entry.counted_tiles()));
            lines.remove(entry);
            assert_eq!((lines.lines.len(), lines.order.len(), lines.hosts.0.len()), (0, 0, 0));
            assert_eq!((lines.waiting, lines.sent, lines.tiles, lines.sent_tiles), (0, 0, 0, 0));
        }
    }
}
