//! The number of an attempt to convert a content, and with it the keys of its objects and the paths of its pyramid.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ContentId;

/// The number of an attempt to convert a content: 1, 2, … Numbers are never reused, because they are part of the keys
/// of the attempt's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(u32);

/// The number of a coarse picture within its attempt: 1 to [`CoarseNumber::MAX`].
///
/// A coarse picture shows, small, what has been converted so far; pages show it until the content is ready. A tiler
/// stores a few of them during an attempt, each sharper than the last, and deletes them at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct CoarseNumber(u8);

/// A number is not that of a coarse picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the number of a coarse picture")]
pub struct CoarseNumberError;

impl Attempt {
    /// The first attempt.
    pub const FIRST: Self = Self(1);

    /// Returns the attempt with a number; `None` for 0.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        (number >= Self::FIRST.0).then_some(Self(number))
    }

    /// Returns the next attempt.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns all earlier attempts.
    pub fn earlier(self) -> impl Iterator<Item = Self> {
        (Self::FIRST.0..self.0).map(Self)
    }

    /// Returns the path of the descriptor: `<id>/<attempt>.dzi`.
    #[must_use]
    pub fn descriptor_path(self, id: ContentId) -> String {
        format!("{id}/{self}.dzi")
    }

    /// Returns the key of the archive: `<id>/<attempt>.szi`.
    #[must_use]
    pub fn archive_key(self, id: ContentId) -> String {
        format!("{id}/{self}.szi")
    }

    /// Returns the path of the tiles: `<id>/<attempt>_files/`. [`Dzi::tile_path`](crate::Dzi::tile_path) follows.
    #[must_use]
    pub fn tiles_path(self, id: ContentId) -> String {
        format!("{id}/{self}_files/")
    }

    /// Returns the path of the vectors: `<id>/<attempt>_files/vector/`.
    #[must_use]
    pub fn vectors_path(self, id: ContentId) -> String {
        format!("{id}/{self}_files/vector/")
    }

    /// Returns the key of a coarse picture: `<id>/<attempt>_coarse/<number>.jpg`.
    #[must_use]
    pub fn coarse_key(self, id: ContentId, number: CoarseNumber) -> String {
        format!("{id}/{self}_coarse/{number}.jpg")
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CoarseNumber {
    /// The first number.
    pub const FIRST: Self = Self(1);
    /// The last number. Each picture costs a write to the store.
    pub const MAX: Self = Self(5);

    /// Returns all numbers, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::FIRST.0..=Self::MAX.0).map(Self)
    }

    /// Returns the next number, unless this is the last.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        (self < Self::MAX).then_some(Self(self.0 + 1))
    }
}

impl TryFrom<u8> for CoarseNumber {
    type Error = CoarseNumberError;

    fn try_from(number: u8) -> Result<Self, CoarseNumberError> {
        let number = Self(number);
        (Self::FIRST..=Self::MAX).contains(&number).then_some(number).ok_or(CoarseNumberError)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_from_1() {
        assert_eq!((Attempt::from_number(0), Attempt::from_number(1)), (None, Some(Attempt::FIRST)));
        let third = Attempt::FIRST.next().next();
        assert_eq!(third.earlier().collect::<Vec<_>>(), [Attempt::FIRST, Attempt::FIRST.next()]);
        assert_eq!((third.to_string().as_str(), Attempt::FIRST.earlier().count()), ("3", 0));
    }

    #[test]
    fn each_attempt_has_keys_of_its_own() {
        let id = "6qy4OXfXSid".parse().unwrap();
        let second = Attempt::FIRST.next();
        assert_eq!(second.descriptor_path(id), "6qy4OXfXSid/2.dzi");
        assert_eq!(second.archive_key(id), "6qy4OXfXSid/2.szi");
        assert_eq!(second.tiles_path(id), "6qy4OXfXSid/2_files/");
        assert_eq!(second.vectors_path(id), "6qy4OXfXSid/2_files/vector/");
        assert_eq!(second.coarse_key(id, CoarseNumber::MAX), "6qy4OXfXSid/2_coarse/5.jpg");
    }

    #[test]
    fn coarse_pictures_are_numbered_from_1_to_5() {
        let numbers: Vec<u8> = CoarseNumber::all().map(u8::from).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        let following = std::iter::successors(Some(CoarseNumber::FIRST), |number| number.next());
        assert!(following.eq(CoarseNumber::all()));
        assert_eq!(
            (CoarseNumber::try_from(0), CoarseNumber::try_from(6)),
            (Err(CoarseNumberError), Err(CoarseNumberError))
        );
    }
}
