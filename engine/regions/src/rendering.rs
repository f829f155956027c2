//! Requested renderings. The terms and their order are those of the IIIF Image API 3.0, section 4: a region is cut out,
//! scaled, mirrored, turned, and its colours reduced.

use edgezoom_geometry::{Dzi, Size, TileFormat};

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// Pixels to its left.
    pub left: u32,
    /// Pixels above it.
    pub top: u32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// A turn clockwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Turn {
    /// 0°.
    #[default]
    None,
    /// 90°.
    Right,
    /// 180°.
    Half,
    /// 270°.
    Left,
}

/// The colours of a rendering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Colours {
    /// The picture's.
    #[default]
    Colour,
    /// Luma of ITU-R BT.601, which is that of JPEG.
    Grey,
    /// Black and white: luma from 128 on is white.
    Bitonal,
}

/// The format of a rendering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// JPEG. Transparent pixels are on white.
    #[default]
    Jpg,
    /// PNG.
    Png,
    /// Lossless WebP.
    WebP,
}

/// A requested picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rendering {
    /// The region, in pixels of the full picture.
    pub region: Region,
    /// Its size before it is turned.
    pub size: Size,
    /// The turn, after mirroring.
    pub turn: Turn,
    /// True if left and right are swapped.
    pub mirrored: bool,
    /// The colours.
    pub colours: Colours,
    /// The format.
    pub format: Format,
}

impl Turn {
    /// All turns, by quarters.
    pub const ALL: [Self; 4] = [Self::None, Self::Right, Self::Half, Self::Left];

    /// Returns true if width and height are swapped.
    #[must_use]
    pub fn is_quarter(self) -> bool {
        matches!(self, Self::Right | Self::Left)
    }
}

impl Format {
    /// Returns the media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpg => "image/jpeg",
            Self::Png => "image/png",
            Self::WebP => "image/webp",
        }
    }
}

impl Rendering {
    /// Returns the size of the turned picture.
    #[must_use]
    pub fn turned_size(&self) -> Size {
        let Size { width, height } = self.size;
        if self.turn.is_quarter() { Size { width: height, height: width } } else { self.size }
    }

    /// Returns this rendering and its pyramid as numbers, for another module that renders it.
    #[must_use]
    pub fn to_words(&self, dzi: &Dzi) -> [u32; 15] {
        let Region { left, top, width, height } = self.region;
        let Dzi { size, tile_size, tile_overlap, tile_format } = *dzi;
        [
            size.width,
            size.height,
            tile_size,
            tile_overlap,
            left,
            top,
            width,
            height,
            self.size.width,
            self.size.height,
            self.turn as u32,
            self.mirrored.into(),
            self.colours as u32,
            self.format as u32,
            u32::from(tile_format == TileFormat::Png),
        ]
    }

    /// Reads numbers that [`Self::to_words`] wrote. `None`: they are others.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Option<(Dzi, Self)> {
        let &[
            full_width,
            full_height,
            tile_size,
            tile_overlap,
            left,
            top,
            region_width,
            region_height,
            width,
            height,
            turn,
            mirrored,
            colours,
            format,
            is_png,
        ] = words
        else {
            return None;
        };
        let tile_format = if is_png == 0 { TileFormat::Jpg } else { TileFormat::Png };
        let size = Size { width: full_width, height: full_height };
        let rendering = Self {
            region: Region { left, top, width: region_width, height: region_height },
            size: Size { width, height },
            turn: *Turn::ALL.get(turn as usize)?,
            mirrored: mirrored != 0,
            colours: *[Colours::Colour, Colours::Grey, Colours::Bitonal].get(colours as usize)?,
            format: *[Format::Jpg, Format::Png, Format::WebP].get(format as usize)?,
        };
        Some((Dzi { size, tile_size, tile_overlap, tile_format }, rendering))
    }
}
