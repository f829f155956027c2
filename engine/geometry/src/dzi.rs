//! The description of a Deep Zoom image: its levels, its descriptor, and the names of its files.
//!
//! Source: the Deep Zoom file format,
//! <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>, as
//! OpenSeadragon and libvips implement it: level 0 is 1×1, each level has twice the size of the previous one, and the
//! last is the full picture. A tile has `overlap` pixels of its neighbour on each inner side.

use serde::{Deserialize, Serialize};

/// The XML namespace of descriptors.
pub const NAMESPACE: &str = "http://schemas.microsoft.com/deepzoom/2008";

/// A picture's width and height in pixels. Neither is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Size {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Format of a pyramid's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TileFormat {
    /// JPEG.
    Jpg,
    /// PNG, for sources with transparency and for documents of few colours.
    Png,
    /// Lossy WebP, with transparency. Only where it is asked for: not all viewers show it.
    #[cfg(feature = "webp")]
    Webp,
}

/// The description of a Deep Zoom image. Serialized with the names of the JSON API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dzi {
    /// Size of the full picture.
    #[serde(flatten)]
    pub size: Size,
    /// Width and height of a tile in pixels, without overlap.
    pub tile_size: u32,
    /// Pixels that a tile shares with each neighbour.
    pub tile_overlap: u32,
    /// Format of the tiles.
    pub tile_format: TileFormat,
}

impl TileFormat {
    /// Returns the file extension, which is also the descriptor's `Format`.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpg => "jpg",
            Self::Png => "png",
            #[cfg(feature = "webp")]
            Self::Webp => "webp",
        }
    }

    /// Returns the media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpg => "image/jpeg",
            Self::Png => "image/png",
            #[cfg(feature = "webp")]
            Self::Webp => "image/webp",
        }
    }
}

impl Size {
    /// Returns the number of pixels.
    #[must_use]
    pub fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Returns half the size, rounded up.
    #[must_use]
    pub fn halved(self) -> Self {
        Self { width: self.width.div_ceil(2), height: self.height.div_ceil(2) }
    }
}

impl Dzi {
    /// Media type of a descriptor.
    pub const MEDIA_TYPE: &str = "application/xml; charset=utf-8";

    /// Returns the number of the level with the full picture: the smallest n with 2ⁿ ≥ the longer side. Levels begin at
    /// 0.
    #[must_use]
    pub fn max_level(&self) -> u32 {
        let side = self.size.width.max(self.size.height).max(1);
        u32::BITS - (side - 1).leading_zeros()
    }

    /// Returns the size of a level: that of the full picture, halved and rounded up once for each level below the last.
    #[must_use]
    pub fn level_size(&self, level: u32) -> Size {
        let shift = self.max_level().saturating_sub(level);
        let scaled = |side: u32| (u64::from(side)).div_ceil(1 << shift.min(32)) as u32;
        Size { width: scaled(self.size.width), height: scaled(self.size.height) }
    }

    /// Returns the number of columns and rows of tiles in a level.
    #[must_use]
    pub fn grid(&self, level: u32) -> (u32, u32) {
        let size = self.level_size(level);
        let tile = self.tile_size.max(1);
        (size.width.div_ceil(tile), size.height.div_ceil(tile))
    }

    /// Returns the largest level that is one tile within `most`, or 0 if there is none. It shows the whole picture.
    #[must_use]
    pub fn preview_level(&self, most: Size) -> u32 {
        let fits = |level: &u32| {
            let size = self.level_size(*level);
            self.grid(*level) == (1, 1) && size.width <= most.width && size.height <= most.height
        };
        (0..=self.max_level()).rev().find(fits).unwrap_or(0)
    }

    /// Returns the number of tiles in all levels.
    #[must_use]
    pub fn tile_count(&self) -> u64 {
        (0..=self.max_level()).map(|level| self.grid(level)).map(|(x, y)| u64::from(x) * u64::from(y)).sum()
    }

    /// Returns a tile's path inside the pyramid's `_files` folder: `<level>/<column>_<row>.<extension>`.
    #[must_use]
    pub fn tile_path(&self, level: u32, column: u32, row: u32) -> String {
        format!("{level}/{column}_{row}.{}", self.tile_format.extension())
    }

    /// Returns the descriptor: the content of the `.dzi` file.
    #[must_use]
    pub fn descriptor(&self) -> String {
        format!(
            concat!(
                r#"<?xml version="1.0" encoding="UTF-8"?>"#,
                "\n",
                r#"<Image xmlns="{}" Format="{}" Overlap="{}" TileSize="{}">"#,
                "\n",
                r#"  <Size Width="{}" Height="{}"/>"#,
                "\n</Image>\n"
            ),
            NAMESPACE,
            self.tile_format.extension(),
            self.tile_overlap,
            self.tile_size,
            self.size.width,
            self.size.height,
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dzi(width: u32, height: u32) -> Dzi {
        Dzi { size: Size { width, height }, tile_size: 254, tile_overlap: 1, tile_format: TileFormat::Jpg }
    }

    #[test]
    fn levels_go_down_to_one_pixel() {
        for (width, height, max) in
            [(1, 1, 0), (2, 1, 1), (3, 2, 2), (256, 256, 8), (257, 1, 9), (u32::MAX, 1, 32)]
        {
            let dzi = dzi(width, height);
            assert_eq!(dzi.max_level(), max, "{width}x{height}");
            assert_eq!(dzi.level_size(max), dzi.size);
            assert_eq!(dzi.level_size(0), Size { width: 1, height: 1 });
        }
    }

    #[test]
    fn a_level_is_half_of_the_next_rounded_up() {
        let dzi = dzi(7919, 101);
        for level in 0..dzi.max_level() {
            assert_eq!(dzi.level_size(level), dzi.level_size(level + 1).halved());
        }
    }

    #[test]
    fn the_last_tile_may_be_small_but_never_empty() {
        assert_eq!(dzi(254, 255).grid(8), (1, 2));
        assert_eq!(dzi(508, 509).grid(9), (2, 3));
        assert_eq!(dzi(1, 1).tile_count(), 1);
    }

    #[test]
    fn a_preview_is_the_largest_level_in_one_tile_that_fits() {
        let most = |width, height| Size { width, height };
        let previews = |dzi: Dzi, most| dzi.level_size(dzi.preview_level(most));
        assert_eq!(previews(dzi(8000, 6000), most(1200, 1200)), most(250, 188));
        assert_eq!(previews(dzi(8000, 6000), most(1200, 187)), most(125, 94));
        assert_eq!(previews(dzi(200, 100), most(1200, 1200)), most(200, 100));
        assert_eq!(previews(dzi(200, 100), most(0, 0)), most(1, 1));
    }

    #[test]
    fn the_descriptor_is_what_deep_zoom_readers_expect() {
        assert_eq!(
            dzi(800, 600).descriptor(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <Image xmlns=\"http://schemas.microsoft.com/deepzoom/2008\" Format=\"jpg\" Overlap=\"1\" TileSize=\"254\">\n  \
             <Size Width=\"800\" Height=\"600\"/>\n</Image>\n"
        );
    }

    proptest! {
        #[test]
        fn every_level_is_covered_by_its_tiles(width in 1..=u32::MAX, height in 1..=u32::MAX, tile_size in 1..5000_u32) {
            let size = Size { width, height };
            let dzi = Dzi { size, tile_size, tile_overlap: 1, tile_format: TileFormat::Jpg };
            for level in 0..=dzi.max_level() {
                let size = dzi.level_size(level);
                let (columns, rows) = dzi.grid(level);
                prop_assert!(u64::from(columns) * u64::from(tile_size) >= u64::from(size.width));
                prop_assert!(u64::from(columns - 1) * u64::from(tile_size) < u64::from(size.width));
                prop_assert!(u64::from(rows - 1) * u64::from(tile_size) < u64::from(size.height));
            }
        }
    }
}
