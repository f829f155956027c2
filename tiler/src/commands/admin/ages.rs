//! Ages as flags (`90d`, `12h`, `30m`, `45s`).

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A duration before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Age(Duration);

const DAY: u64 = 86_400;

impl Age {
    /// Returns the time this long ago, in milliseconds since the Unix epoch.
    pub(super) fn ago(self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(self.0).as_millis() as u64
    }

    /// Like [`Age::ago`], but an age of days counts to the start of the day (UTC), so that an interrupted command means
    /// the same when it is repeated.
    pub(super) fn ago_by_day(self) -> u64 {
        let unit = if self.0.as_secs() >= DAY { DAY * 1000 } else { 1 };
        self.ago() / unit * unit
    }
}

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("d", DAY), ("h", 3600), ("m", 60), ("s", 1)];
        let parsed = units.iter().find_map(|(unit, seconds)| {
            text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*seconds).map(Duration::from_secs)
        });
        parsed.map(Self).ok_or_else(|| "write 90d, 12h, 30m or 45s".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_needs_a_unit() {
        assert_eq!("90d".parse(), Ok(Age(Duration::from_secs(90 * DAY))));
        assert_eq!("12h".parse(), Ok(Age(Duration::from_secs(12 * 3600))));
        for wrong in ["", "d", "90", "-1d", "1.5d", "1w", "99999999999999999999d", "999999999999999999d"] {
            assert!(wrong.parse::<Age>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_age_in_days_counts_from_the_start_of_the_day() {
        assert_eq!(Age(Duration::from_secs(2 * DAY)).ago_by_day() % (DAY * 1000), 0);
    }
}
