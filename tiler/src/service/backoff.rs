//! How long to wait after failures in a row: exponentially longer, up to a bound, and never in step with other tilers.

use std::time::Duration;

/// A way to wait longer and longer.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The longest wait after the first failure. It doubles with each further one.
    pub first: Duration,
    /// The longest wait ever.
    pub most: Duration,
}

impl Backoff {
    /// The wait after `failures` in a row. `chance`, between 0 and 1, spreads it over the upper half of its range.
    #[must_use]
    pub fn after(&self, failures: u32, chance: f64) -> Duration {
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(20));
        doubled.min(self.most).mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), most: Duration::from_secs(5) };

    #[test]
    fn waits_double_up_to_the_bound() {
        let waits = [1, 2, 3, 4, 6, 7, 50, u32::MAX].map(|failures| BACKOFF.after(failures, 1.0).as_millis());
        assert_eq!(waits, [100, 200, 400, 800, 3200, 5000, 5000, 5000]);
    }

    #[test]
    fn chance_spreads_a_wait_but_never_makes_it_short() {
        assert_eq!(BACKOFF.after(1, 0.0).as_millis(), 50);
        assert_eq!(BACKOFF.after(1, 0.5).as_millis(), 75);
        assert_eq!(BACKOFF.after(50, 0.0).as_millis(), 2500);
    }
}
