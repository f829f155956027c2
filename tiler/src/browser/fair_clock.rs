//! A clock for limits. It stands still while the browser waits for a processor, so that what a page may do depends on
//! the page, not on what else the machine does: it goes like real time while the browser has nothing to compute, else
//! by the processor time that the browser gets. Where the system does not tell, it goes like real time.

use std::ops::Add;
use std::time::{Duration, Instant};

use crate::proc::{Scheduled, Scheduling};

/// A time on this clock, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FairInstant(Duration);

/// The clock for the limits of one browser.
#[derive(Debug)]
pub(super) struct FairClock {
    scheduling: Scheduling,
    /// When the threads were last measured, in real time and on this clock.
    measured: (Instant, Duration),
    latest: Duration,
}

/// Interval between measurements. One reads a file for each of about a hundred threads, which takes a millisecond.
const INTERVAL: Duration = Duration::from_millis(100);

impl FairInstant {
    /// Returns the time from `earlier` to this one; zero if it is later.
    pub(super) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for FairInstant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl FairClock {
    /// Begins with the process `root`, of which all processes of the browser are descendants.
    pub(super) fn new(root: u32) -> Self {
        let scheduling = Scheduling::new(root);
        Self { scheduling, measured: (Instant::now(), Duration::ZERO), latest: Duration::ZERO }
    }

    /// Returns the time. It never goes back.
    pub(super) fn now(&mut self) -> FairInstant {
        let (at, time) = self.measured;
        let mut real = at.elapsed();
        if real >= INTERVAL {
            let scheduled = self.scheduling.since_last();
            self.measured = (at + real, time + passed(real, scheduled));
            real = Duration::ZERO;
        }
        // Until the next measurement, it goes like real time.
        self.latest = self.latest.max(self.measured.1 + real);
        FairInstant(self.latest)
    }
}

/// Returns the part of a `real` time that passed for the browser, whose threads were `scheduled` so.
fn passed(real: Duration, scheduled: Scheduled) -> Duration {
    let Scheduled { ran, waited } = scheduled;
    real.saturating_sub(waited).max(ran.min(real))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_time_in_which_a_browser_waits_for_a_processor_does_not_pass() {
        let passed = |ran, waited| {
            let time = passed(10 * SECOND, Scheduled { ran: ran * SECOND, waited: waited * SECOND });
            time.as_secs()
        };
        assert_eq!(passed(0, 0), 10, "it has nothing to compute");
        assert_eq!(passed(10, 0), 10, "it computes");
        assert_eq!(passed(1, 9), 1, "it computes beside nine others");
        assert_eq!(passed(1, 2), 8, "it had nothing to compute for seven seconds");
        assert_eq!(passed(20, 20), 10, "its four threads share two cores");
        assert_eq!(passed(2, 40), 2, "many of its threads wait at once");
    }

    #[test]
    fn the_clock_of_a_process_that_does_nothing_is_real_and_never_goes_back() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut clock = FairClock::new(child.id());
        let (began, mut last) = (Instant::now(), FairInstant::default());
        while last < FairInstant::default() + 3 * INTERVAL {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(began.elapsed() >= 3 * INTERVAL - Duration::from_millis(1), "{:?}", began.elapsed());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
