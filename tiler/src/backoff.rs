//! Exponential backoff with jitter: the pause after failures in a row. The jitter keeps tilers from retrying in step.

use std::time::Duration;

/// The bounds of the pauses.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The longest pause after the first failure. It doubles with each further one.
    pub first: Duration,
    /// The longest pause ever.
    pub max: Duration,
}

impl Backoff {
    /// The pause after `failures` in a row. `jitter`, a random number from 0 to 1, spreads it over the upper half of its range.
    #[must_use]
    pub fn after(&self, failures: u32, jitter: f64) -> Duration {
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(20));
        doubled.min(self.max).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), max: Duration::from_secs(5) };

    #[test]
    fn pauses_double_up_to_the_bound() {
        let pauses =
            [1, 2, 3, 4, 6, 7, 50, u32::MAX].map(|failures| BACKOFF.after(failures, 1.0).as_millis());
        assert_eq!(pauses, [100, 200, 400, 800, 3200, 5000, 5000, 5000]);
    }

    #[test]
    fn jitter_shortens_a_pause_by_half_at_most() {
        assert_eq!(BACKOFF.after(1, 0.0).as_millis(), 50);
        assert_eq!(BACKOFF.after(1, 0.5).as_millis(), 75);
        assert_eq!(BACKOFF.after(50, 0.0).as_millis(), 2500);
    }
}
