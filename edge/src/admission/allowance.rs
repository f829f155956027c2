//! A small number that is admitted while admission cannot be checked, because a rate limiter or the object that knows the
//! queue does not answer. So a fault closes the service to nearly all, and a short one is hardly noticed.

use std::time::Duration;

use edgezoom_content::Timestamp;

/// How many new contents are admitted unchecked in each window of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowance {
    since: Timestamp,
    used: u32,
}

/// How many an isolate admits in a window.
const MOST: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);

impl Allowance {
    /// Nothing used yet.
    pub const NEW: Self = Self { since: Timestamp(0), used: 0 };

    /// Takes one; `false` when none is left until the window ends.
    pub fn take(&mut self, now: Timestamp) -> bool {
        if now - self.since >= WINDOW {
            *self = Self { since: now, used: 0 };
        }
        let is_left = self.used < MOST;
        self.used += u32::from(is_left);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_admitted_in_a_minute() {
        let mut allowance = Allowance::NEW;
        for minute in [1, 2, 7] {
            let now = Timestamp(minute * 60_000);
            let taken =
                (0..1000).filter(|second| allowance.take(now + Duration::from_millis(*second))).count();
            assert_eq!(taken, 10, "minute {minute}");
        }
    }
}
