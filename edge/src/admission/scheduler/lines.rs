//! A line of waiting jobs for each client, and the numbers of jobs sent for each client and each host of sources.

use std::collections::{BTreeMap, HashMap};

use edgezoom_content::ContentId;

use super::rows::Entry;
use crate::admission::client::is_signed;

/// The lines of all clients.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: HashMap<String, Line>,
    /// Number of jobs sent for each host.
    hosts: HashMap<String, u64>,
    waiting: u64,
    sent: u64,
    /// Number of jobs ever sent.
    turns: u64,
}

#[derive(Debug, Default)]
struct Line {
    /// Waiting jobs with their hosts, in order of arrival.
    waiting: BTreeMap<u64, (ContentId, String)>,
    sent: u64,
    /// Value of [`Lines::turns`] at the client's last turn.
    turn: u64,
}

/// The maximum numbers of jobs that are sent and have not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For all clients together.
    pub all: u64,
    /// For one client, unless it signs its requests.
    pub own: u64,
    /// For one host.
    pub host: u64,
}

/// Maximum number of jobs at the head of a line that are searched for one whose host is free. A line of jobs for a busy
/// host costs little, and delays only its own client.
const SEARCHED: usize = 100;

impl Lines {
    /// Returns the number of waiting jobs.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Returns the numbers of a client's waiting and sent jobs.
    pub(super) fn of(&self, party: &str) -> (u64, u64) {
        self.lines.get(party).map_or((0, 0), |line| (line.waiting.len() as u64, line.sent))
    }

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

    /// Returns the next job: the first one of the client with the fewest jobs sent. Among those, the client whose last
    /// turn was longest ago comes first, and then the one whose job arrived first.
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

    /// Returns the first job of a line whose host is not busy.
    fn first_of(&self, line: &Line, limit: u64) -> Option<(u64, ContentId)> {
        // An uploaded file has no host.
        let is_free =
            |host: &String| host.is_empty() || self.hosts.get(host).is_none_or(|sent| *sent < limit);
        let mut searched = line.waiting.iter().take(SEARCHED);
        searched.find(|(_, (_, host))| is_free(host)).map(|(order, (id, _))| (*order, *id))
    }
}
