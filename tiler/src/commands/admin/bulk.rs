//! Work on many contents: one after the other at a pace, with a bar in a terminal.

use std::io::BufRead;
use std::num::NonZeroU32;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
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
        // A period of nothing, which a rate of billions would give, is none.
        let period =
            (Duration::from_secs(1) * contents_a_tick / self.rate.get()).max(Duration::from_nanos(1));
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }

    /// How many contents one call may handle, so that a second's work is one call at most.
    pub(super) fn batch(&self) -> u32 {
        self.rate.get().min(100)
    }

    /// A bar for so many contents, which is there before the first of them is done.
    pub(super) fn bar(&self, contents: u64) -> anyhow::Result<ProgressBar> {
        let rate = self.rate;
        let style = ProgressStyle::with_template("{bar:40} {pos} of {len}, {left} left")?;
        let style = style.with_key("left", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let (done, all) = (state.pos(), state.len().unwrap_or_default());
            let _ = write!(out, "{:#}", HumanDuration(left(rate, done, all, state.elapsed())));
        });
        Ok(self.shown(
            ProgressBar::with_draw_target(Some(contents), ProgressDrawTarget::hidden()).with_style(style),
        ))
    }

    /// Counts contents of which there is no telling how many come.
    pub(super) fn count(&self) -> anyhow::Result<ProgressBar> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Ok(self.shown(bar.with_style(ProgressStyle::with_template("{pos} looked at, {elapsed}")?)))
    }

    fn shown(&self, bar: ProgressBar) -> ProgressBar {
        if self.shows_bar {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.tick();
        }
        bar
    }
}

/// How long the rest takes: as long as the rate makes it, or longer when what is done took longer. The estimate of indicatif
/// takes calls by themselves, without the pauses between them, for the pace.
fn left(rate: NonZeroU32, done: u64, all: u64, elapsed: Duration) -> Duration {
    let paced = f64::from(rate.get()).recip();
    let seen = if done == 0 { 0.0 } else { elapsed.as_secs_f64() / done as f64 };
    Duration::try_from_secs_f64(paced.max(seen) * all.saturating_sub(done) as f64).unwrap_or(Duration::MAX)
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
