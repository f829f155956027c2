//! Coarse pictures: what there is of a picture while it is converted, small, for pages to show until it is ready. A
//! tiler stores a few of them in the course of an attempt, each sharper than the one before, and deletes them at its end.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a coarse picture within its attempt: 1 to [`CoarseNumber::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct CoarseNumber(u8);

/// A number is not that of a coarse picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the number of a coarse picture")]
pub struct CoarseNumberError;

impl CoarseNumber {
    /// The first one.
    pub const FIRST: Self = Self(1);
    /// The most that an attempt stores, as each is a request that is paid for.
    pub const MOST: Self = Self(5);

    /// All numbers, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::FIRST.0..=Self::MOST.0).map(Self)
    }

    /// The one after, unless this is the last.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        (self < Self::MOST).then_some(Self(self.0 + 1))
    }
}

impl TryFrom<u8> for CoarseNumber {
    type Error = CoarseNumberError;

    fn try_from(number: u8) -> Result<Self, CoarseNumberError> {
        let number = Self(number);
        (Self::FIRST..=Self::MOST).contains(&number).then_some(number).ok_or(CoarseNumberError)
    }
}

impl From<CoarseNumber> for u8 {
    fn from(number: CoarseNumber) -> Self {
        number.0
    }
}

impl fmt::Display for CoarseNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
