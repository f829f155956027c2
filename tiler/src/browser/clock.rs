//! The clock of a page, as [`virtual_time`](super::virtual_time) moves it on.

use std::time::{Duration, Instant};

/// The clock of a page.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Time since which it is virtual: at the first budget, or at the beginning of the document.
    pub(super) began: Option<Instant>,
    /// Sum of the budgets that have passed since then.
    pub(super) passed: Duration,
    /// The budget that has not passed yet. Chromium does not take it back: a second one would end with it.
    pub(super) budget: Option<Duration>,
    /// True if it stands still although no request is pending that counts.
    pub(super) is_held: bool,
    /// True if another document has begun since the last budget.
    pub(super) is_anew: bool,
    /// Real time that the last frame took. Chromium draws the next one only if the clock stays ahead for as long.
    pub(super) frame: Duration,
}

impl Clock {
    /// Begins anew with another document, which may be in another process, with another clock.
    pub(super) fn restart(&mut self, now: Instant) {
        *self = Self { began: self.began.map(|_| now), is_anew: self.began.is_some(), ..Self::default() };
    }

    /// Records that the budget has passed.
    pub(super) fn expired(&mut self) {
        self.passed += self.budget.take().unwrap_or_default();
    }

    /// Returns the time by which it is behind real time.
    pub(super) fn lag(&self, now: Instant) -> Duration {
        self.real(now).saturating_sub(self.passed)
    }

    /// Returns the time by which it is ahead of real time.
    pub(super) fn lead(&self, now: Instant) -> Duration {
        self.passed.saturating_sub(self.real(now))
    }

    /// Returns true if it stands still and is behind real time.
    pub(super) fn needs_time(&self, now: Instant) -> bool {
        self.began.is_some() && self.budget.is_none() && !self.lag(now).is_zero()
    }

    fn real(&self, now: Instant) -> Duration {
        self.began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_clock_is_real_until_its_first_budget() {
        let start = Instant::now();
        let mut clock = Clock::default();
        clock.restart(start);
        assert_eq!((clock.lag(start + SECOND), clock.lead(start + SECOND)), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn a_clock_falls_behind_while_its_budget_has_not_passed() {
        let start = Instant::now();
        let mut clock = Clock { began: Some(start), budget: Some(3 * SECOND), ..Clock::default() };
        assert_eq!(clock.lag(start + 2 * SECOND), 2 * SECOND);
        clock.expired();
        clock.expired(); // of an earlier document
        assert_eq!((clock.lag(start + 2 * SECOND), clock.lead(start + 2 * SECOND)), (Duration::ZERO, SECOND));
        assert_eq!(clock.lag(start + 4 * SECOND), SECOND);
    }

    #[test]
    fn a_virtual_clock_needs_time_when_it_is_behind_and_stands_still() {
        let start = Instant::now();
        assert!(!Clock::default().needs_time(start + SECOND));
        let mut clock = Clock { began: Some(start), budget: Some(2 * SECOND), ..Clock::default() };
        assert!(!clock.needs_time(start + SECOND));
        clock.expired();
        assert!(!clock.needs_time(start + SECOND) && clock.needs_time(start + 3 * SECOND));
    }

    #[test]
    fn another_document_begins_with_a_clock_of_its_own() {
        let start = Instant::now();
        let mut clock = Clock { began: Some(start), passed: 9 * SECOND, is_held: true, ..Clock::default() };
        clock.restart(start + SECOND);
        assert_eq!((clock.lag(start + 2 * SECOND), clock.is_held), (SECOND, false));
    }
}
