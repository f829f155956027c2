//! Layouts of the files of a pyramid, how far down a pyramid goes, and how its levels shrink. [`sinks::Tree`](crate::sinks::Tree) names the
//! files.

use edgezoom_codecs::Orientation;
use edgezoom_geometry::Dzi;

/// Layout of a pyramid's files, as libvips names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TileLayout {
    /// Deep Zoom.
    #[default]
    Dz,
    /// Zoomify.
    Zoomify,
    /// Google Maps. Tiles at the right and lower edge are padded to full size.
    Google,
    /// IIIF Image API 2, level 0.
    Iiif,
    /// IIIF Image API 3, level 0.
    Iiif3,
}

/// The smallest level of a pyramid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Depth {
    /// One pixel.
    #[default]
    OnePixel,
    /// The largest level that fits into one tile.
    OneTile,
    /// The full picture: it has no other level.
    One,
}

/// A clockwise rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Angle {
    /// None.
    #[default]
    D0,
    /// 90°.
    D90,
    /// 180°.
    D180,
    /// 270°.
    D270,
}

/// Choice of a pixel of a smaller level from the 2×2 pixels that it covers, as libvips' `VipsRegionShrink`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RegionShrink {
    /// Their mean, with colours weighted by opacity.
    #[default]
    Mean,
    /// The most frequent one. Unlike libvips, whole pixels are compared and not channels, so that no colour appears that
    /// the picture does not have.
    Mode,
    /// The one at the upper left.
    Nearest,
    /// The middle of each channel, as libvips takes it: the smaller of the larger values of both rows.
    Median,
    /// The largest value of each channel.
    Max,
    /// The smallest value of each channel.
    Min,
}

impl Depth {
    /// Returns the number of the smallest level, counted as in [`Dzi`].
    #[must_use]
    pub fn first_level(self, dzi: &Dzi) -> u32 {
        match self {
            Self::OnePixel => 0,
            Self::OneTile => {
                (0..=dzi.max_level()).rev().find(|&level| dzi.grid(level) == (1, 1)).unwrap_or(0)
            }
            Self::One => dzi.max_level(),
        }
    }
}

impl Angle {
    /// Returns the orientation of an upright picture that is to be turned by this angle.
    pub(crate) fn orientation(self) -> Orientation {
        Orientation::from_exif(match self {
            Self::D0 => 1,
            Self::D90 => 6,
            Self::D180 => 3,
            Self::D270 => 8,
        })
    }
}
