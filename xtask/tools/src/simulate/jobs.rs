//! What a tiler is doing at a moment: its slots, and its jobs.

use std::collections::BTreeMap;

use edgezoom_content::Attempt;
use edgezoom_content::protocol::Retry;

/// A job under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub content: usize,
    pub attempt: Attempt,
    /// The processor time that is left to do, in milliseconds; 0 while it does not render.
    pub work: f64,
    pub failed: Option<Retry>,
}

/// A tiler.
#[derive(Debug, Default)]
pub(super) struct Tiler {
    pub life: u32,
    pub is_alive: bool,
    /// Slots that are taken: jobs, and claims under way.
    pub taken: usize,
    /// Whether a pull is under way, or will be.
    pub is_pulling: bool,
    pub jobs: BTreeMap<u64, Job>,
    pub next_job: u64,
    /// When the renderings' work was last brought up to date, and which change of them that was.
    pub rendered_until: u64,
    pub change: u64,
    /// Milliseconds of processor time that were used.
    pub busy: f64,
}
