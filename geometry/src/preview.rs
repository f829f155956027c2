//! The two small pictures of a whole content: one for cards and pages without scripts, one for lists. The tiler makes
//! them with the pyramid. Contents of older tilers have none; a level of the pyramid in one tile stands in for them.

use serde::{Deserialize, Serialize};

use crate::{Size, TileRange};

/// Which of the two small pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PreviewKind {
    /// As large as sites show pictures in cards.
    Large,
    /// For lists.
    Thumbnail,
}

/// Where the small pictures of a pyramid are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Previews {
    /// In the archive that the pyramid is stored as.
    Entries {
        /// The place of the large one.
        large: TileRange,
        /// The place of the thumbnail.
        thumbnail: TileRange,
    },
    /// Beside the tiles, as objects of their own.
    Objects,
}

impl PreviewKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Large, Self::Thumbnail];

    /// The longer side in pixels, of a picture that is not smaller.
    #[must_use]
    pub fn long_side(self) -> u32 {
        match self {
            Self::Large => 1200,
            Self::Thumbnail => 320,
        }
    }

    /// The file's name without its extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Large => "preview",
            Self::Thumbnail => "thumbnail",
        }
    }

    /// The size of the small picture of a picture: in its shape, never enlarged, at least one pixel high and wide.
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
    /// The place of one of them in the archive, if that is where they are.
    #[must_use]
    pub fn entry(self, kind: PreviewKind) -> Option<TileRange> {
        match (self, kind) {
            (Self::Entries { large, .. }, PreviewKind::Large) => Some(large),
            (Self::Entries { thumbnail, .. }, PreviewKind::Thumbnail) => Some(thumbnail),
            (Self::Objects, _) => None,
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
