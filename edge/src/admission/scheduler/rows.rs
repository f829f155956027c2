//! The rows that a scheduler is stored as: one for each job, each tiler, and each client with tiles. An event changes
//! one or two of them, however many jobs wait.

use std::collections::BTreeMap;

use edgezoom_content::protocol::{Job, TilerId};
use edgezoom_content::{ContentId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::admission::policy::BacklogReport;

/// Number of tiles that a job counts before its size is known: those of a photograph of some 40 megapixels.
pub const TILES_OF_A_JOB: u64 = 200;
const JOB: &str = "job/";
const TILER: &str = "tiler/";
const TILES: &str = "tiles/";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub job: Job,
    pub party: String,
    pub host: String,
    /// Place in the order of arrival.
    pub order: u64,
    /// Time at which it was sent to the queue; `None` while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// Number of tiles of its pyramid, if a tiler has reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<u64>,
}

impl Entry {
    /// Returns the number of tiles that the job counts.
    pub(super) fn counted_tiles(&self) -> u64 {
        self.tiles.unwrap_or(TILES_OF_A_JOB)
    }
}

/// A stored row.
pub(super) enum Row {
    Job(Entry),
    Report(BacklogReport),
    /// The number of tiles made for a client on a day.
    Tiles {
        day: u64,
        party: String,
        tiles: u64,
    },
}

impl Row {
    /// Parses a row; `None` if its kind is unknown, or another version of the Worker wrote it.
    pub(super) fn parse(key: &str, value: &str) -> Option<Self> {
        if key.starts_with(JOB) {
            serde_json::from_str(value).ok().map(Self::Job)
        } else if key.starts_with(TILER) {
            serde_json::from_str(value).ok().map(Self::Report)
        } else {
            let (day, party) = key.strip_prefix(TILES)?.split_once('/')?;
            Some(Self::Tiles { day: day.parse().ok()?, party: party.to_owned(), tiles: value.parse().ok()? })
        }
    }
}

/// The changes to store: keys with their new values, or `None` to delete the row.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<String, Option<String>>);

impl Changes {
    pub(super) fn take(&mut self) -> BTreeMap<String, Option<String>> {
        std::mem::take(&mut self.0)
    }

    pub(super) fn store_job(&mut self, entry: &Entry) {
        self.0.insert(job_key(entry.job.id), serde_json::to_string(entry).ok());
    }

    pub(super) fn delete_job(&mut self, id: ContentId) {
        self.0.insert(job_key(id), None);
    }

    pub(super) fn store_report(&mut self, tiler: TilerId, report: &BacklogReport) {
        self.0.insert(tiler_key(tiler), serde_json::to_string(report).ok());
    }

    pub(super) fn delete_report(&mut self, tiler: TilerId) {
        self.0.insert(tiler_key(tiler), None);
    }

    pub(super) fn store_tiles(&mut self, day: u64, party: &str, tiles: u64) {
        self.0.insert(tiles_key(day, party), Some(tiles.to_string()));
    }

    pub(super) fn delete_tiles(&mut self, day: u64, party: &str) {
        self.0.insert(tiles_key(day, party), None);
    }
}

fn job_key(id: ContentId) -> String {
    format!("{JOB}{id}")
}

fn tiler_key(TilerId(number): TilerId) -> String {
    format!("{TILER}{number}")
}

fn tiles_key(day: u64, party: &str) -> String {
    format!("{TILES}{day}/{party}")
}
