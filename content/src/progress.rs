//! How far a conversion has come, as clients see it.

use serde::{Deserialize, Serialize};

/// A figure between 0 and 1 inclusive, kept to four decimals so that it is compared and printed exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Progress(u16);

impl Progress {
    /// Nothing is done yet.
    pub const NONE: Self = Self(0);
    /// All is done and can be seen. Only a ready content has it.
    pub const COMPLETE: Self = Self(10_000);
    /// The most that a content shows which is not ready.
    pub const NEARLY: Self = Self(9_900);

    /// The figure as a fraction of 1, rounded to four decimals.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}

/// Brings any number into range; what is not a number counts as nothing done.
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
