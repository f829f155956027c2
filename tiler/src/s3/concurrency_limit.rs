//! How many requests to a store are under way at once: more as long as answers come as fast as ever, fewer when they begin
//! to wait for each other. A store far away gets all that are allowed, which hides its distance; one that is busy, or that
//! shares a machine with the renderer, is not pushed.
//!
//! It is what TCP Vegas does with packets: not losses tell of a queue, but answers that take longer than the fastest did.

use std::num::NonZeroUsize;
use std::time::Duration;

/// What is always tried.
const FEWEST: f64 = 4.0;
/// Answers count as slow when they take so many times as long as the fastest did,
const SLOW: f64 = 3.0;
/// and so many milliseconds more: what a machine's scheduler may cause is no sign of anything.
const JITTER: f64 = 20.0;
/// How much of a new measurement counts.
const NEW: f64 = 1.0 / 8.0;
/// The fastest time is forgotten by and by, as a path to a store may become longer.
const FORGETTING: f64 = 1.0005;

/// The number of requests that may be under way.
#[derive(Clone, Debug)]
pub struct Pace {
    most: f64,
    window: f64,
    /// Whether no answer has been slow yet: it grows by one with each answer then, later by one with each full round.
    is_starting: bool,
    /// In milliseconds, smoothed.
    usual: Option<f64>,
    /// The least that the usual time has been.
    fastest: f64,
}

impl Pace {
    /// Never more than `most` at once.
    #[must_use]
    pub fn new(most: NonZeroUsize) -> Self {
        let most = most.get() as f64;
        Self { most, window: most.min(2.0 * FEWEST), is_starting: true, usual: None, fastest: f64::INFINITY }
    }

    /// How many may be under way now.
    #[must_use]
    pub fn window(&self) -> usize {
        self.window as usize
    }

    /// Is told how long a request took, its retries included.
    pub fn settled(&mut self, took: Duration) {
        let took = took.as_secs_f64() * 1000.0;
        let usual = self.usual.map_or(took, |usual| usual + (took - usual) * NEW);
        self.usual = Some(usual);
        self.fastest = (self.fastest * FORGETTING).min(usual);
        if usual > SLOW * self.fastest && usual > self.fastest + JITTER {
            self.is_starting = false;
            // A fifth less after a round of slow answers.
            self.window -= 0.2;
        } else {
            self.window += if self.is_starting { 1.0 } else { 1.0 / self.window };
        }
        self.window = self.window.clamp(FEWEST.min(self.most), self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(most: usize) -> Pace {
        Pace::new(NonZeroUsize::new(most).unwrap())
    }

    fn settle(pace: &mut Pace, answers: usize, milliseconds: u64) {
        (0..answers).for_each(|_| pace.settled(Duration::from_millis(milliseconds)));
    }

    #[test]
    fn a_store_that_is_only_far_away_gets_all_that_is_allowed_soon() {
        let mut pace = pace(64);
        assert_eq!(pace.window(), 8);
        settle(&mut pace, 8, 50);
        assert_eq!(pace.window(), 16);
        settle(&mut pace, 48, 50);
        assert_eq!(pace.window(), 64);
        settle(&mut pace, 1000, 60);
        assert_eq!(pace.window(), 64);
    }

    #[test]
    fn a_store_that_becomes_slow_gets_fewer_and_more_again_when_it_recovers() {
        let mut pace = pace(64);
        settle(&mut pace, 100, 20);
        settle(&mut pace, 400, 2000);
        assert_eq!(pace.window(), 4);
        settle(&mut pace, 100, 20);
        let recovering = pace.window();
        assert!((5..64).contains(&recovering), "{recovering}");
        settle(&mut pace, 5000, 20);
        assert_eq!(pace.window(), 64);
    }

    #[test]
    fn a_single_slow_answer_changes_nothing() {
        let mut pace = pace(16);
        settle(&mut pace, 50, 30);
        settle(&mut pace, 1, 300);
        settle(&mut pace, 10, 30);
        assert_eq!(pace.window(), 16);
    }

    #[test]
    fn what_is_allowed_is_never_exceeded_however_little() {
        for most in 1..6 {
            let mut pace = pace(most);
            settle(&mut pace, 100, 5);
            assert_eq!(pace.window(), most);
            settle(&mut pace, 200, 5000);
            assert_eq!(pace.window(), most.min(4));
        }
    }
}
