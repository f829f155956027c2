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

use time::UtcDateTime;

/// A date and a time of day, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp(UtcDateTime);

impl From<SystemTime> for Timestamp {
    /// Converts a time. Times before 1970 become its beginning, those after 9999 its end.
    fn from(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self(UtcDateTime::from_unix_timestamp(seconds as i64).unwrap_or(UtcDateTime::MAX))
    }
}

impl Timestamp {
    /// Returns the time and the date of MS-DOS, with years from 1980 to 2107 and even seconds.
    pub fn dos(self) -> (u16, u16) {
        let (date, (hour, minute, second)) = (self.0.date(), self.0.time().as_hms());
        let year = (date.year() - 1980).clamp(0, 127) as u16;
        let date = year << 9 | u16::from(u8::from(date.month())) << 5 | u16::from(date.day());
        (u16::from(hour) << 11 | u16::from(minute) << 5 | u16::from(second / 2), date)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, (hour, minute, second)) = (self.0.date(), self.0.time().as_hms());
        write!(f, "{date}T{hour:02}:{minute:02}:{second:02}Z")
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
