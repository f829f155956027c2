//! Work on many contents: one after the other at a pace, with a bar in a terminal.

use std::io::BufRead;
use std::num::NonZeroU32;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How fast, and whether it is shown.
pub(super) struct Pace {
    /// Contents in a second.
    pub(super) rate: NonZeroU32,
    pub(super) shows_bar: bool,
}

impl Pace {
    /// Lets so many contents a second pass, one each tick.
    pub(super) fn ticks(&self, contents_a_tick: u32) -> Interval {
        let mut ticks = interval(Duration::from_secs(1) * contents_a_tick / self.rate.get());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }

    /// How many contents one call may handle, so that a second's work is one call at most.
    pub(super) fn batch(&self) -> u32 {
        self.rate.get().min(100)
    }

    /// A bar for so many contents.
    pub(super) fn bar(&self, contents: u64) -> anyhow::Result<ProgressBar> {
        let target = if self.shows_bar { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{bar:40} {pos} of {len} {per_sec} {eta}")?;
        Ok(ProgressBar::with_draw_target(Some(contents), target).with_style(style))
    }
}

/// The targets of a command. `-` stands for the lines of the standard input.
pub(super) fn targets(given: &[String]) -> anyhow::Result<Vec<String>> {
    let mut targets = vec![];
    for target in given {
        if target == "-" {
            for line in std::io::stdin().lock().lines() {
                targets.push(line?.trim().to_owned());
            }
        } else {
            targets.push(target.clone());
        }
    }
    targets.retain(|target| !target.is_empty());
    Ok(targets)
}
