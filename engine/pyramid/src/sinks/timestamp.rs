//! Formats a time for archives: MS-DOS date and time in ZIP, ISO 8601 in SZI, both in UTC.
//!
//! ```text
//! date  15       9 8     5 4     0     time  15    11 10      5 4       0
//!       │year-1980│ month │  day  │          │  hour  │ minute │second/2│
//! ```
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10, section 4.4.6, and Microsoft's documentation of `DosDateTimeToFileTime`.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A date and a time of day, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    year: u32,
    month: u32,
    day: u32,
    /// Seconds since midnight.
    second: u32,
}

impl From<SystemTime> for Timestamp {
    /// Converts a time. Times before 1970 become the beginning of 1970.
    fn from(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let (days, second) = (seconds / 86_400, (seconds % 86_400) as u32);
        // Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days. Years begin in March.
        let days = days + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * from_march + 2) / 5 + 1) as u32;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 } as u32;
        let year = (era * 400 + year_of_era) as u32 + u32::from(month <= 2);
        Self { year, month, day, second }
    }
}

impl Timestamp {
    /// Returns the time and the date of MS-DOS, with years from 1980 to 2107 and even seconds.
    pub fn dos(self) -> (u16, u16) {
        let Self { year, month, day, second } = self;
        let date = year.saturating_sub(1980).min(127) << 9 | month << 5 | day;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60 / 2);
        let time = hour << 11 | minute << 5 | second;
        (time as u16, date as u16)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, second } = self;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_255_810, "2026-11-21T10:10:10Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(at(seconds).to_string(), expected);
        }
    }

    #[test]
    fn ms_dos_counts_from_1980() {
        assert_eq!(at(1_795_255_810).dos(), (10 << 11 | 10 << 5 | 5, 46 << 9 | 11 << 5 | 21));
    }
}
