//! Previews: two small pictures of the whole, one for cards and pages without scripts, one for lists. They are made
//! with the pyramid. For a pyramid without previews, use [`Dzi::preview_level`](crate::Dzi::preview_level).

use serde::{Deserialize, Serialize};

use crate::{Size, TileRange};

/// One of the two previews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PreviewKind {
    /// For cards.
    Large,
    /// For lists.
    Thumbnail,
}

/// Places of the previews in a pyramid's archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Previews {
    /// Range of the large preview.
    pub large: TileRange,
    /// Range of the thumbnail.
    pub thumbnail: TileRange,
}

impl PreviewKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Large, Self::Thumbnail];

    /// Returns the longer side in pixels. A smaller picture is not enlarged.
    #[must_use]
    pub fn long_side(self) -> u32 {
        match self {
            Self::Large => 1200,
            Self::Thumbnail => 320,
        }
    }

    /// Returns the file's name without an extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Large => "preview",
            Self::Thumbnail => "thumbnail",
        }
    }

    /// Returns the size of a picture's preview: with its aspect ratio, not enlarged, at least one pixel wide and high.
    #[must_use]
    pub fn size(self, picture: Size) -> Size {
        let (long, most) = (picture.width.max(picture.height), self.long_side());
        if long <= most {
            return picture;
        }
        let (long, most) = (u64::from(long), u64::from(most));
        let scaled = |side: u32| ((u64::from(side) * most + long / 2) / long).max(1) as u32;
        Size { width: scaled(picture.width), height: scaled(picture.height) }
    }
}

impl Previews {
    /// Returns a preview's range in the archive.
    #[must_use]
    pub fn range(self, kind: PreviewKind) -> TileRange {
        match kind {
            PreviewKind::Large => self.large,
            PreviewKind::Thumbnail => self.thumbnail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_has_the_shape_of_its_picture_and_is_never_larger() {
        let size = |width, height| Size { width, height };
        for (picture, large, thumbnail) in [
            (size(8192, 6144), size(1200, 900), size(320, 240)),
            (size(6144, 8192), size(900, 1200), size(240, 320)),
            (size(1200, 7), size(1200, 7), size(320, 2)),
            (size(1201, 1), size(1200, 1), size(320, 1)),
            (size(300, 200), size(300, 200), size(300, 200)),
            (size(1_000_000, 1), size(1200, 1), size(320, 1)),
        ] {
            assert_eq!(PreviewKind::Large.size(picture), large);
            assert_eq!(PreviewKind::Thumbnail.size(picture), thumbnail);
        }
    }
}
