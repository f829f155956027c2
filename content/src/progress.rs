//! The progress of a conversion, as clients see it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number from 0 to 1, rounded to four decimals, so that it compares and prints exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Progress(u16);

impl Progress {
    /// Nothing is converted yet.
    pub const NONE: Self = Self(0);
    /// The content is ready.
    pub const COMPLETE: Self = Self(10_000);
    /// Maximum of a content that is not ready.
    pub const NEARLY: Self = Self(9_900);

    /// Returns the number.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}

/// Prints a decimal fraction without trailing zeros. Printing a float would add 14 KB to the Worker.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0 / 10_000;
        let mut digits = self.0 % 10_000;
        if digits == 0 {
            return whole.fmt(f);
        }
        let mut places = 4;
        while digits.is_multiple_of(10) {
            digits /= 10;
            places -= 1;
        }
        write!(f, "{whole}.{digits:0places$}")
    }
}

/// Clamps the number; NaN becomes 0.
impl From<f64> for Progress {
    fn from(fraction: f64) -> Self {
        Self((fraction.clamp(0.0, 1.0) * 10_000.0).round() as u16) // NaN casts to 0
    }
}

impl From<Progress> for f64 {
    fn from(progress: Progress) -> Self {
        progress.fraction()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_prints_as_a_fraction_without_trailing_zeros() {
        for (ten_thousandths, printed) in [
            (0, "0"),
            (1, "0.0001"),
            (10, "0.001"),
            (1200, "0.12"),
            (5000, "0.5"),
            (9999, "0.9999"),
            (10_000, "1"),
        ] {
            assert_eq!(Progress(ten_thousandths).to_string(), printed);
            assert_eq!(Progress::from(printed.parse::<f64>().unwrap()), Progress(ten_thousandths));
        }
    }
}
