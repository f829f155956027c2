//! Decides whose job is sent to the queue next. The queue is first in, first out, so a client with ten thousand jobs
//! would delay all others. Therefore the queue is kept nearly empty: jobs wait here, in a line for each client, and are
//! sent from the lines in turn as tilers have free slots (fair queueing).
//!
//! * Clients that have jobs already never get all slots together, so another client's job begins at once. One client
//!   leaves two, so that a third client's job begins at once beside two at their limits.
//! * A client may have as many jobs waiting as others could add (dynamic thresholds: Choudhury and Hahne, 1998): one
//!   client at most half of the maximum, two a third each. So one client cannot fill it for all others.
//! * The jobs that are sent for one host of sources have a limit.
//! * A client whose jobs have made its tiles of the day waits until the next day. A job counts as a photograph until a
//!   tiler has reported its size, so the budget is looked at again at each turn. An attempt counts a few tiles, even if
//!   it makes none: its messages and writes cost money, too.
//! * Collections' jobs come after all others, and leave two slots free even if nobody else has a job: a person's picture
//!   begins at once. They have no limit of tiles for a day but that of all clients together.
//! * A job that was sent counts until its conversion has ended, but at most for two hours: the message about the end
//!   may be lost.
//!
//! The scheduler is pure: [changes](Scheduler::take_changes) come out as rows to store, and it is
//! [restored](Scheduler::restore) from them.

mod lines;
mod rows;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use edgezoom_content::protocol::{Job, TilerId};
use edgezoom_content::{ContentId, Timestamp};
use serde::{Deserialize, Serialize};

use super::client::{is_batch, is_signed};
use super::policy::{AdmissionError, BacklogReport};
use crate::config::Shares;
use lines::{Limits, Lines};
pub use rows::TILES_OF_A_JOB;
use rows::{Changes, Entry, Row};

/// All jobs that have not ended.
#[derive(Debug, Default)]
pub struct Scheduler {
    jobs: HashMap<ContentId, Entry>,
    lines: Lines,
    /// Last report of each tiler.
    tilers: HashMap<TilerId, BacklogReport>,
    /// Day (UTC) of `tiles`, counted from the Unix epoch.
    day: u64,
    /// Number of tiles made for each client that day.
    tiles: HashMap<String, u64>,
    /// Their sum.
    made: u64,
    /// Number of the last job in the order of arrival.
    clock: u64,
    /// Time of the last search for jobs to forget.
    forgot_at: Timestamp,
    changes: Changes,
}

/// A job with its client and the host of its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub job: Job,
    /// [Party](super::client::Client::party) of the client.
    pub party: String,
    pub host: String,
}

/// The end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The pyramid has this number of tiles.
    Made(u64),
    /// There is no pyramid: the conversion failed or waits, or the content was removed.
    Failed,
    /// An attempt ended without a result, and the job goes on: its lease was lost, for example.
    Lost,
}

/// The time at which a job is sent to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Now, by the object of its content.
    Now,
    /// Later, by the object with the scheduler.
    Later,
}

/// Time for which a sent job counts if no message about its end arrives: two of the longest downloads and renderings.
const FORGET_AFTER: Duration = Duration::from_secs(2 * 60 * 60);
const FORGET_EVERY: Duration = Duration::from_secs(60);
/// Minimum number of tiles that an attempt counts, so that a client has at most 25,000 attempts a day.
const TILES_OF_AN_ATTEMPT: u64 = 40;
/// Number of slots if no tiler has reported its capacity.
const ASSUMED_SLOTS: u64 = 16;
const DAY: u64 = 24 * 60 * 60 * 1000;

impl Scheduler {
    /// Restores stored rows, all or some. Unknown rows are ignored.
    pub fn restore(&mut self, rows: impl IntoIterator<Item = (String, String)>) {
        for (key, value) in rows {
            match Row::parse(&key, &value) {
                Some(Row::Job(entry)) if !self.jobs.contains_key(&entry.job.id) => {
                    self.clock = self.clock.max(entry.order);
                    self.insert(entry);
                }
                Some(Row::Report(report)) => self.report(report),
                // The rows of a day are deleted when the next day begins, so there is only one day.
                Some(Row::Tiles { day, party, tiles }) if day >= self.day => {
                    self.day = day;
                    self.made += tiles;
                    self.tiles.insert(party, tiles);
                }
                Some(Row::Job(_) | Row::Tiles { .. }) | None => {}
            }
        }
        self.changes.take();
    }

    /// Returns the changes since the last call: keys with their new values, or `None` to delete the row.
    pub fn take_changes(&mut self) -> BTreeMap<String, Option<String>> {
        self.changes.take()
    }

    /// Admits a new job.
    ///
    /// # Errors
    /// The queue, the client's share of it, or the client's tiles of the day are used up.
    pub fn admit(&mut self, asked: Asked, now: Timestamp, shares: &Shares) -> Result<(), AdmissionError> {
        self.begin_day(now);
        if !self.jobs.contains_key(&asked.job.id) {
            let waiting = self.lines.waiting() + self.messages(now);
            let own_waiting = self.lines.waiting_of(&asked.party);
            if waiting > shares.backlog {
                return Err(AdmissionError::Overloaded);
            }
            if own_waiting > shares.backlog - waiting {
                return Err(AdmissionError::TooManyWaiting);
            }
            if self.made + self.lines.tiles() >= shares.all_tiles_a_day {
                return Err(AdmissionError::SpentToday);
            }
            let tiles = self.tiles.get(&asked.party).copied().unwrap_or_default();
            let has_limit = !is_signed(&asked.party) && !is_batch(&asked.party);
            if has_limit && tiles + self.lines.tiles_of(&asked.party) >= shares.tiles_a_day {
                return Err(AdmissionError::TooManyTiles);
            }
        }
        self.enqueue(asked);
        Ok(())
    }

    /// Adds a job to the end of its client's line, without checking admission. A job that already waits stays where it
    /// is, or moves to the line of a second client that asks for it if that line is shorter.
    pub fn enqueue(&mut self, Asked { job, party, host }: Asked) {
        let waiting = self.jobs.get(&job.id).filter(|entry| entry.sent_at.is_none());
        let stays = waiting.filter(|entry| {
            entry.party == party || self.lines.waiting_of(&party) + 1 >= self.lines.waiting_of(&entry.party)
        });
        if let Some(entry) = stays {
            if entry.job != job {
                self.replace(Entry { job, ..entry.clone() });
            }
            return;
        }
        self.clock += 1;
        // The source may have changed since the last attempt, so its size is unknown.
        self.replace(Entry { job, party, host, order: self.clock, sent_at: None, tiles: None });
    }

    /// Returns the turn of a job that was just enqueued, and the other jobs that are due. All due jobs count as sent.
    pub fn turns(&mut self, id: ContentId, now: Timestamp, shares: &Shares) -> (Turn, Vec<Job>) {
        let mut due = self.due(now, shares);
        match due.iter().position(|job| job.id == id) {
            Some(own) => {
                due.remove(own);
                (Turn::Now, due)
            }
            None => (Turn::Later, due),
        }
    }

    /// Returns the jobs that are due. They count as sent.
    pub fn due(&mut self, now: Timestamp, shares: &Shares) -> Vec<Job> {
        self.forget(now);
        self.begin_day(now);
        let limits = self.limits(now, shares);
        let mut due = vec![];
        while self.made + self.lines.sent_tiles() < shares.all_tiles_a_day
            && let Some(id) = self.lines.next(&limits, &self.jobs, &self.tiles)
            && let Some(entry) = self.jobs.get(&id)
        {
            due.push(entry.job);
            self.replace(Entry { sent_at: Some(now), ..entry.clone() });
        }
        due
    }

    /// Notes the size of a job's pyramid, which a tiler has reported while it renders.
    pub fn note_size(&mut self, id: ContentId, tiles: u64) {
        if let Some(entry) = self.jobs.get(&id).filter(|entry| entry.tiles != Some(tiles)) {
            self.replace(Entry { tiles: Some(tiles), ..entry.clone() });
        }
    }

    /// Notes the end of a job or of an attempt.
    pub fn end(&mut self, id: ContentId, end: End, now: Timestamp) {
        self.begin_day(now);
        let Some(entry) = self.remove(id) else { return };
        let least = if entry.sent_at.is_some() { TILES_OF_AN_ATTEMPT } else { 0 };
        let tiles = match end {
            End::Made(tiles) => tiles.max(least),
            // Rendering a picture that fails at its end costs as much as one that is shown.
            End::Failed | End::Lost => entry.tiles.unwrap_or(0).max(least),
        };
        if tiles > 0 {
            let made = self.tiles.entry(entry.party.clone()).or_default();
            *made += tiles;
            self.made += tiles;
            self.changes.store_tiles(self.day, &entry.party, *made);
        }
        if end == End::Lost {
            self.replace(Entry { tiles: None, ..entry });
        }
    }

    /// Notes a tiler's report.
    pub fn report(&mut self, report: BacklogReport) {
        let tiler = report.backlog.capacity.tiler;
        if report.backlog.leaving {
            self.tilers.remove(&tiler);
            self.changes.delete_report(tiler);
        } else {
            self.tilers.insert(tiler, report);
            self.changes.store_report(tiler, &report);
        }
    }

    /// Returns the number of tilers that have reported recently.
    pub fn tilers(&self, now: Timestamp) -> usize {
        self.tilers.values().filter(|report| report.is_valid(now)).count()
    }

    /// Returns the last report of any tiler.
    pub fn last_report(&self) -> Option<BacklogReport> {
        self.tilers.values().max_by_key(|report| (report.at, report.backlog.messages)).copied()
    }

    /// Returns the numbers of jobs that have not ended, and of those among them that have not been sent.
    pub fn jobs(&self) -> (u64, u64) {
        (self.jobs.len() as u64, self.lines.waiting())
    }

    /// Notes that a due job could not be sent: it is the first of its line again.
    pub fn not_sent(&mut self, id: ContentId) {
        if let Some(entry) = self.jobs.get(&id) {
            self.replace(Entry { sent_at: None, ..entry.clone() });
        }
    }

    fn insert(&mut self, entry: Entry) {
        self.lines.add(&entry);
        self.jobs.insert(entry.job.id, entry);
    }

    fn remove(&mut self, id: ContentId) -> Option<Entry> {
        let entry = self.jobs.remove(&id)?;
        self.lines.remove(&entry);
        self.changes.delete_job(id);
        Some(entry)
    }

    fn replace(&mut self, entry: Entry) {
        self.remove(entry.job.id);
        self.changes.store_job(&entry);
        self.insert(entry);
    }

    /// Returns the limits. A quarter more jobs than slots may be sent, so that a tiler finds the next job when one has
    /// ended.
    fn limits(&self, now: Timestamp, shares: &Shares) -> Limits {
        let slots = self.slots(now);
        let all = slots + slots / 4 + 1;
        let (own, one) = if shares.slots_percent >= 100 {
            (all, all)
        } else {
            let own = (slots * shares.slots_percent / 100).min(slots.saturating_sub(1)).max(1);
            // A second client's first job would otherwise take the slot that is left for a third.
            (own, own.min(slots.saturating_sub(2)).max(1))
        };
        Limits { all, own, one, host: shares.host_jobs, tiles: shares.tiles_a_day }
    }

    fn slots(&self, now: Timestamp) -> u64 {
        let fresh = self.tilers.values().filter(|report| report.is_valid(now));
        let slots: u64 = fresh.map(|report| u64::from(report.backlog.capacity.slots)).sum();
        if slots == 0 { ASSUMED_SLOTS } else { slots }
    }

    /// Returns the last reported number of messages in the queue.
    fn messages(&self, now: Timestamp) -> u64 {
        self.last_report().filter(|report| report.is_valid(now)).map_or(0, |report| report.backlog.messages)
    }

    /// Forgets jobs that were sent too long ago, and silent tilers.
    fn forget(&mut self, now: Timestamp) {
        if now - self.forgot_at < FORGET_EVERY {
            return;
        }
        self.forgot_at = now;
        let is_forgotten = |entry: &Entry| entry.sent_at.is_some_and(|at| now - at > FORGET_AFTER);
        let old: Vec<_> =
            self.jobs.iter().filter(|(_, entry)| is_forgotten(entry)).map(|(id, _)| *id).collect();
        for id in old {
            self.remove(id);
        }
        let changes = &mut self.changes;
        self.tilers.retain(|tiler, report| {
            if !report.is_valid(now) {
                changes.delete_report(*tiler);
            }
            report.is_valid(now)
        });
    }

    fn begin_day(&mut self, now: Timestamp) {
        let day = now.0 / DAY;
        if self.day == day {
            return;
        }
        for party in std::mem::take(&mut self.tiles).into_keys() {
            self.changes.delete_tiles(self.day, &party);
        }
        (self.day, self.made) = (day, 0);
    }
}

#[cfg(test)]
mod tests;
