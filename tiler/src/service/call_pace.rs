//! Schedules calls to the queue, so that all tilers of an account together stay below its limit on API calls:
//! Cloudflare blocks an account for five minutes after 1,200 calls in five minutes. Pure: the clock, randomness and the
//! number of tilers, which the edge counts, come in as arguments.
//!
//! Each tiler's share is a leaky bucket (GCRA, ITU-T I.371): three quarters of the calls as a steady rate, and a sixth
//! as a burst. The rest is for acknowledgements, which never wait, and for tilers that are starting. This holds for up
//! to 100 tilers, as the tests show in simulated time. Idle tilers together pull about as often as one alone.

use std::time::{Duration, Instant};

/// A tiler's share of the calls.
#[derive(Debug)]
pub(super) struct CallPace {
    /// Number of calls that all tilers may make in [`WINDOW`]; 0 for no limit.
    calls: u32,
    /// Time at which the bucket will be empty, so that all calls made until now are paid for.
    paid_at: Instant,
}

/// Time over which the provider counts calls.
const WINDOW: Duration = Duration::from_secs(5 * 60);

impl CallPace {
    /// Creates a full bucket, because tilers that start at the same moment do not know of each other yet.
    pub(super) fn new(calls: u32, now: Instant) -> Self {
        let mut pace = Self { calls, paid_at: now };
        pace.paid_at += pace.burst(1);
        pace
    }

    /// Records a call.
    pub(super) fn spend(&mut self, tilers: u32, now: Instant) {
        self.paid_at = self.paid_at.max(now) + self.interval(tilers);
    }

    /// Returns the time of the next pull. It moves back if the edge counts more tilers than before.
    pub(super) fn next_pull(&self, tilers: u32, now: Instant) -> Instant {
        self.paid_at.checked_sub(self.burst(tilers)).map_or(now, |at| at.max(now))
    }

    /// Returns the pause after a pull without messages: `poll`, or the steady interval if that is longer. `jitter`, a
    /// random number from 0 to 1, keeps tilers from pulling in step.
    pub(super) fn idle_pause(&self, tilers: u32, poll: Duration, jitter: f64) -> Duration {
        let share = self.interval(tilers);
        if share <= poll { poll } else { poll.max(share.mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0)) }
    }

    /// Returns the steady interval between calls.
    fn interval(&self, tilers: u32) -> Duration {
        let rate = self.calls / 4 * 3;
        if rate == 0 { Duration::ZERO } else { WINDOW * tilers.max(1) / rate }
    }

    /// Returns the time by which a burst of calls may be ahead of the steady rate.
    fn burst(&self, tilers: u32) -> Duration {
        let calls = self.calls / 6 / tilers.max(1);
        self.interval(tilers) * calls.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;

    /// Maximum number of tilers that [`CallPace`] supports.
    const MOST_TILERS: usize = 100;
    const LIMIT: usize = 1200;
    const POLL: Duration = Duration::from_secs(1);
    /// Time for which the edge counts a tiler after its report.
    const COUNTED: Duration = Duration::from_secs(120);

    struct Tiler {
        begins: Duration,
        ends: Duration,
        pace: CallPace,
        known: u32,
        pull_at: Duration,
        report_at: Duration,
        reports: u32,
    }

    /// Frequency of pulls that return messages.
    #[derive(Clone, Copy, Debug)]
    enum Load {
        Idle,
        /// At each pull, so that the next pull would follow at once.
        Flooded,
        Half,
    }

    /// Simulates tilers that pull, acknowledge their messages and learn the number of tilers from the edge, as the
    /// service does. Returns the largest number of calls in any five minutes, and the number of pulls in the last five.
    fn simulate(lives: &[(u64, u64)], load: Load, minutes: u64) -> (usize, usize) {
        let start = Instant::now();
        let mut random = fastrand::Rng::with_seed(7);
        let mut tilers: Vec<Tiler> = lives
            .iter()
            .map(|&(begins, ends)| {
                let begins = Duration::from_millis(begins);
                let pace = CallPace::new(LIMIT as u32, start + begins);
                let ends = Duration::from_millis(ends);
                Tiler { begins, ends, pace, known: 1, pull_at: begins, report_at: begins, reports: 0 }
            })
            .collect();
        let mut counted: HashMap<usize, Duration> = HashMap::new();
        let mut calls = VecDeque::new();
        let (mut most, mut pulls) = (0, 0);
        for tick in 0..minutes * 60 * 20 {
            let now = Duration::from_millis(tick * 50);
            let is_last = now + WINDOW >= Duration::from_secs(minutes * 60);
            for (number, tiler) in tilers.iter_mut().enumerate() {
                if now < tiler.begins || now >= tiler.ends {
                    continue;
                }
                if now >= tiler.pull_at && start + now >= tiler.pace.next_pull(tiler.known, start + now) {
                    calls.push_back(now);
                    pulls += usize::from(is_last);
                    tiler.pace.spend(tiler.known, start + now);
                    let has_message = match load {
                        Load::Idle => false,
                        Load::Flooded => true,
                        Load::Half => random.bool(),
                    };
                    if has_message {
                        calls.push_back(now); // the acknowledgement
                        tiler.pace.spend(tiler.known, start + now);
                        tiler.pull_at = now + Duration::from_millis(50);
                    } else {
                        tiler.pull_at = now + tiler.pace.idle_pause(tiler.known, POLL, random.f64());
                    }
                }
                if now >= tiler.report_at && now > tiler.begins {
                    counted.insert(number, now);
                    counted.retain(|_, at| now - *at < COUNTED);
                    tiler.known = counted.len() as u32;
                    tiler.reports += 1;
                    tiler.report_at = now + crate::service::backlog::pause_after(tiler.reports);
                }
            }
            while calls.front().is_some_and(|at| *at + WINDOW <= now) {
                calls.pop_front();
            }
            most = most.max(calls.len());
        }
        (most, pulls)
    }

    const LONG: u64 = u64::MAX;

    #[test]
    fn the_limit_holds_for_any_number_of_tilers_that_start_together() {
        for tilers in [1, 2, 3, 7, 20, 50, MOST_TILERS] {
            for load in [Load::Idle, Load::Half, Load::Flooded] {
                let (most, pulls) = simulate(&vec![(0, LONG); tilers], load, 12);
                assert!(most <= LIMIT, "{tilers} tilers, {load:?}: {most} calls");
                assert!(pulls >= 280, "{tilers} tilers, {load:?}: {pulls} pulls in five minutes are too few");
            }
        }
    }

    #[test]
    fn the_limit_holds_while_tilers_come_and_go() {
        let mut lives = vec![(0, LONG); 3]; // with unspent bursts when the others start
        lives.extend((0..MOST_TILERS as u64 - 3).map(|number| (420_000 + number * 200, LONG)));
        for load in [Load::Idle, Load::Half, Load::Flooded] {
            let (most, _) = simulate(&lives, load, 20);
            assert!(most <= LIMIT, "{load:?}: {most} calls");
        }
        // All are replaced, ten at a time. The edge counts those that ended for two more minutes.
        let replaced = (0..50).flat_map(|n| {
            let at = 400_000 + n / 10 * 10_000;
            [(0, at), (at, LONG)]
        });
        let (most, _) = simulate(&replaced.collect::<Vec<_>>(), Load::Half, 15);
        assert!(most <= LIMIT, "{most} calls");
    }

    #[test]
    fn a_single_tiler_pulls_at_the_poll_interval_and_may_spend_its_burst() {
        let now = Instant::now();
        let mut pace = CallPace::new(1200, now);
        assert_eq!(pace.idle_pause(1, POLL, 0.5), POLL);
        let later = now + Duration::from_secs(600);
        for _ in 0..200 {
            assert_eq!(pace.next_pull(1, later), later, "a burst");
            pace.spend(1, later);
        }
        assert!(pace.next_pull(1, later) > later);
        assert!(pace.next_pull(100, later) > later + Duration::from_secs(30), "others have joined");
    }

    #[test]
    fn without_a_limit_no_call_waits() {
        let now = Instant::now();
        let mut pace = CallPace::new(0, now);
        for _ in 0..10_000 {
            pace.spend(1000, now);
        }
        assert_eq!((pace.next_pull(1000, now), pace.idle_pause(1000, POLL, 1.0)), (now, POLL));
    }
}
