//! Ages as flags (`90d`, `12h`, `30m`, `45s`), and dates.

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

/// Formats a time as in RFC 3339, in seconds (UTC).
pub(super) fn date(ms: u64) -> String {
    let (days, seconds) = (ms / 1000 / DAY, ms / 1000 % DAY);
    // Converts days to the civil calendar, as in
    // <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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

    #[test]
    fn dates_follow_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_351_445, "2026-11-22T12:44:05Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!(date(seconds * 1000), text);
        }
    }
}
