//! The number of an attempt to convert a content, and the keys in the object store that follow from it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CoarseNumber, ContentId, PreviewKind, TileFormat};

/// The number of an attempt to convert a content: 1, 2, … No number is used twice, as it is the prefix of the attempt's
/// keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(u32);

impl Attempt {
    /// The first attempt.
    pub const FIRST: Self = Self(1);

    /// The attempt with a number; `None` for 0.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        (number >= Self::FIRST.0).then_some(Self(number))
    }

    /// The one after.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// All attempts before this one.
    pub fn earlier(self) -> impl Iterator<Item = Self> {
        (Self::FIRST.0..self.0).map(Self)
    }

    /// The key of the attempt's descriptor in the store: `<id>/<attempt>.dzi`.
    #[must_use]
    pub fn descriptor_key(self, id: ContentId) -> String {
        format!("{id}/{self}.dzi")
    }

    /// The key of the attempt's archive, if its pyramid is stored as one object: `<id>/<attempt>.szi`.
    #[must_use]
    pub fn archive_key(self, id: ContentId) -> String {
        format!("{id}/{self}.szi")
    }

    /// The prefix of the keys of the attempt's tiles: `<id>/<attempt>_files/`, followed by
    /// [`Dzi::tile_path`](crate::Dzi::tile_path).
    #[must_use]
    pub fn tiles_prefix(self, id: ContentId) -> String {
        format!("{id}/{self}_files/")
    }

    /// The key of a small picture that is an object of its own, beside the tiles.
    #[must_use]
    pub fn preview_key(self, id: ContentId, kind: PreviewKind, format: TileFormat) -> String {
        format!("{}{}.{}", self.tiles_prefix(id), kind.name(), format.extension())
    }

    /// The key of a picture of what there is so far: `<id>/<attempt>_coarse/<number>.jpg`.
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
