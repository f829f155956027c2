//! The shares of clients in the queue and in the day's tiles, which the operator may change.

/// The shares of clients in the queue and in the day's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Maximum number of waiting jobs. Beyond it, new contents are refused.
    pub backlog: u64,
    /// Maximum share of the tilers' slots for all clients that have jobs already, together, in percent. Below 100,
    /// another client always finds a free slot if there are two or more.
    pub slots_percent: u64,
    /// Maximum number of tiles for a client per day (UTC).
    pub tiles_a_day: u64,
    /// Maximum number of tiles for all clients together per day (UTC).
    pub all_tiles_a_day: u64,
    /// Maximum number of concurrent jobs with sources on one host.
    pub host_jobs: u64,
}

/// Maximum of [`Shares::backlog`]: the object with the queue may have 128 MB, and a waiting job takes about 700 bytes
/// of them (`edge/benches/backlog.mjs`).
pub const MAX_BACKLOG: u64 = 100_000;

impl Default for Shares {
    fn default() -> Self {
        Self {
            // At a few seconds per conversion, a queue of this length takes hours; clients had better come back later.
            backlog: 10_000,
            slots_percent: 75,
            // 5,000 photographs of 40 megapixels, or ten pictures of 20 gigapixels.
            tiles_a_day: 1_000_000,
            all_tiles_a_day: u64::MAX,
            // All tilers together make a few downloads at once: a job downloads for only part of its time.
            host_jobs: 16,
        }
    }
}
