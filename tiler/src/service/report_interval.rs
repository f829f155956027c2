//! When the next report to the edge is due. Pure: the clock comes in as an argument.

use std::time::{Duration, Instant};

/// The times between two reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportInterval {
    /// The shortest, while there is progress.
    pub min: Duration,
    /// The longest, without progress: the lease must not run out.
    pub max: Duration,
}

impl ReportInterval {
    /// At most a report a second; and one each quarter of the lease, so that the lease survives three lost ones.
    pub(super) fn for_lease(lease: Duration) -> Self {
        let max = lease / 4;
        Self { min: Duration::from_secs(1).min(max), max }
    }

    /// When the next report is due after the one at `last`.
    pub(super) fn due(&self, last: Instant, has_progress: bool) -> Instant {
        last + if has_progress { self.min } else { self.max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_survives_three_lost_reports() {
        let now = Instant::now();
        let interval = ReportInterval::for_lease(Duration::from_secs(60));
        assert_eq!(interval.due(now, true), now + Duration::from_secs(1));
        assert_eq!(interval.due(now, false), now + Duration::from_secs(15));
        let short = ReportInterval::for_lease(Duration::from_secs(2));
        assert_eq!(short.due(now, true), now + Duration::from_millis(500));
    }
}
