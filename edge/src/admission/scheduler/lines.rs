//! A line of waiting jobs for each client, and how many jobs of each client and of each source's host were sent.

use std::collections::{BTreeMap, HashMap};

use edgezoom_content::ContentId;

use super::entry::Entry;
use crate::admission::client::is_signed;

/// The lines of all clients.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: HashMap<String, Line>,
    /// How many jobs of each host were sent.
    hosts: HashMap<String, u64>,
    waiting: u64,
    sent: u64,
    /// Counts the jobs that were ever sent.
    turns: u64,
}

#[derive(Debug, Default)]
struct Line {
    /// The waiting jobs with their hosts, the first that came first.
    waiting: BTreeMap<u64, (ContentId, String)>,
    sent: u64,
    /// When the client had its last turn.
    turn: u64,
}

/// How many jobs may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Of all clients together.
    pub all: u64,
    /// Of one client, unless it signs its requests.
    pub own: u64,
    /// Of one host.
    pub host: u64,
}

/// How many jobs of a line are looked at for one whose host is free. So a line of jobs for one busy host costs little to
/// look through, and keeps only its own client waiting.
const LOOKED_AT: usize = 100;

impl Lines {
    /// How many jobs wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// How many jobs of a client wait, and how many were sent.
    pub(super) fn of(&self, party: &str) -> (u64, u64) {
        self.lines.get(party).map_or((0, 0), |line| (line.waiting.len() as u64, line.sent))
    }

    /// Adds a job.
    pub(super) fn add(&mut self, entry: &Entry) {
        let line = self.lines.entry(entry.party.clone()).or_default();
        if entry.sent_at.is_none() {
            line.waiting.insert(entry.order, (entry.job.id, entry.host.clone()));
            self.waiting += 1;
            return;
        }
        self.turns += 1;
        line.turn = self.turns;
        line.sent += 1;
        self.sent += 1;
        *self.hosts.entry(entry.host.clone()).or_default() += 1;
    }

    /// Removes a job.
    pub(super) fn remove(&mut self, entry: &Entry) {
        let Some(line) = self.lines.get_mut(&entry.party) else { return };
        if entry.sent_at.is_some() {
            line.sent = line.sent.saturating_sub(1);
            self.sent = self.sent.saturating_sub(1);
            if let Some(of_host) = self.hosts.get_mut(&entry.host) {
                *of_host = of_host.saturating_sub(1);
                if *of_host == 0 {
                    self.hosts.remove(&entry.host);
                }
            }
        } else if line.waiting.remove(&entry.order).is_some() {
            self.waiting -= 1;
        }
        if line.sent == 0 && line.waiting.is_empty() {
            self.lines.remove(&entry.party);
        }
    }

    /// The job whose turn it is: the first one of the client that has the fewest jobs sent, and among those of the client
    /// whose last turn is longest ago, and then of the one that came first.
    pub(super) fn next(&self, limits: &Limits) -> Option<ContentId> {
        if self.sent >= limits.all {
            return None;
        }
        let may_send = |party: &str, line: &Line| line.sent < limits.own || is_signed(party);
        let lines = self.lines.iter().filter(|(party, line)| may_send(party, line));
        let firsts = lines.filter_map(|(_, line)| {
            let (order, id) = self.first_of(line, limits.host)?;
            Some(((line.sent, line.turn, order), id))
        });
        firsts.min_by_key(|(rank, _)| *rank).map(|(_, id)| id)
    }

    /// The first job of a line whose host is not busy.
    fn first_of(&self, line: &Line, limit: u64) -> Option<(u64, ContentId)> {
        // A file that a client sent has no host.
        let is_free =
            |host: &String| host.is_empty() || self.hosts.get(host).is_none_or(|sent| *sent < limit);
        let mut looked_at = line.waiting.iter().take(LOOKED_AT);
        looked_at.find(|(_, (_, host))| is_free(host)).map(|(order, (id, _))| (*order, *id))
    }
}
