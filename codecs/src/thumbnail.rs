//! A small picture of the whole that is known before the rows are.

use edgezoom_geometry::Size;

use crate::Orientation;

/// A small picture of the whole, to be shown until there is a better one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thumbnail {
    /// The size of the picture itself, as it is stored.
    pub picture: Size,
    /// How the picture, and with it the thumbnail, has to be turned.
    pub orientation: Orientation,
    /// The thumbnail's size. It may have bars above and below, or at both sides, to have another shape than the picture.
    pub size: Size,
    /// Its pixels in RGB, row by row.
    pub pixels: Vec<u8>,
}
