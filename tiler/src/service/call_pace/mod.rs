//! When the queue may be called next, so that all tilers of an account together stay below its limit of API calls:
//! Cloudflare blocks an account for five minutes that makes more than 1,200 in five minutes. Pure: clock, chance and the
//! number of tilers, which the edge counts, come in as arguments.
//!
//! Each tiler has its share, as a leaky bucket (GCRA, ITU-T I.371): three quarters of the calls as a rate, a sixth as what may
//! come at once. The rest is for acknowledgements, which wait for nothing, and for tilers that begin. So it holds for up to
//! 100 tilers, which the tests try out in simulated time, and idle tilers look at the queue as often together as one alone.

use std::time::{Duration, Instant};

/// A tiler's share of the calls.
#[derive(Debug)]
pub(super) struct CallPace {
    /// The calls of all tilers in [`WINDOW`]; 0: as many as they like.
    calls: u32,
    /// When the bucket is empty: what was called until now is paid for by then.
    paid_at: Instant,
}

/// The time that the provider counts calls in.
const WINDOW: Duration = Duration::from_secs(5 * 60);

impl CallPace {
    /// A bucket that is full: tilers that begin at the same moment do not know of each other yet.
    pub(super) fn new(calls: u32, now: Instant) -> Self {
        let mut pace = Self { calls, paid_at: now };
        pace.paid_at += pace.burst(1);
        pace
    }

    /// A call is made.
    pub(super) fn spend(&mut self, tilers: u32, now: Instant) {
        self.paid_at = self.paid_at.max(now) + self.interval(tilers);
    }

    /// When the next pull may be made. The edge may count more tilers now than before: then it is later.
    pub(super) fn next_pull(&self, tilers: u32, now: Instant) -> Instant {
        self.paid_at.checked_sub(self.burst(tilers)).map_or(now, |at| at.max(now))
    }

    /// The pause after a pull that gave nothing: `poll`, or a call's share if that is longer. `jitter`, a random number from
    /// 0 to 1, keeps tilers from pulling in step.
    pub(super) fn idle_pause(&self, tilers: u32, poll: Duration, jitter: f64) -> Duration {
        let share = self.interval(tilers);
        if share <= poll { poll } else { poll.max(share.mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0)) }
    }

    /// The time from one call to the next when they come evenly.
    fn interval(&self, tilers: u32) -> Duration {
        let rate = self.calls / 4 * 3;
        if rate == 0 { Duration::ZERO } else { WINDOW * tilers.max(1) / rate }
    }

    /// The time that calls which come at once may be ahead of their pace.
    fn burst(&self, tilers: u32) -> Duration {
        let calls = self.calls / 6 / tilers.max(1);
        self.interval(tilers) * calls.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests;
