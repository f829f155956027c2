//! Which pixels belong to which tile: the arithmetic of one axis, the same for columns and rows.
//!
//! ```text
//! tile 0    |<---- tile ---->|overlap|
//! tile 1            |overlap|<---- tile ---->|overlap|
//! tile 2                            |overlap|<- rest ->|
//! ```
//!
//! Tile `i` covers `tile` pixels from `i * tile` on, and `overlap` more on each side, as far as the level reaches.
//! Source: the Deep Zoom file format,
//! <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>.

use std::ops::Range;

use edgezoom_codecs::Layout;
use edgezoom_content::{Dzi, Size};

/// One axis of a level: how its pixels are divided among tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The level's width or height in pixels, at least 1.
    pub side: u32,
    /// A tile's width or height in pixels without overlap, at least 1.
    pub tile: u32,
    /// The pixels a tile carries of each neighbour.
    pub overlap: u32,
}

/// A level of a pyramid: its size and how it is divided into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The level's number: 0 is one pixel.
    pub number: u32,
    /// The level's width and height in pixels.
    pub size: Size,
    /// Its columns of tiles.
    pub columns: Axis,
    /// Its rows of tiles.
    pub rows: Axis,
    /// The bytes of a row in the picture's layout.
    pub row_bytes: usize,
}

impl Axis {
    /// How many tiles there are.
    pub fn count(&self) -> u32 {
        self.side.div_ceil(self.tile)
    }

    /// The pixels of a tile, its overlap included. Empty past the last tile.
    pub fn span(&self, index: u32) -> Range<u32> {
        let start = u64::from(index) * u64::from(self.tile);
        let end = start + u64::from(self.tile) + u64::from(self.overlap);
        let within = |pixel: u64| pixel.min(u64::from(self.side)) as u32;
        within(start.saturating_sub(u64::from(self.overlap)))..within(end)
    }

    /// The tiles that contain any of these pixels. The range must lie within the level and not be empty.
    pub fn touching(&self, pixels: &Range<u32>) -> Range<u32> {
        let first = pixels.start.saturating_sub(self.overlap) / self.tile;
        let end = (u64::from(pixels.end) + u64::from(self.overlap)).div_ceil(u64::from(self.tile));
        first..end.min(u64::from(self.count())) as u32
    }
}

/// The levels of a pyramid, from 0 to the full picture.
pub fn levels(dzi: &Dzi, layout: Layout) -> Vec<Level> {
    let axis = |side| Axis { side, tile: dzi.tile_size, overlap: dzi.tile_overlap };
    (0..=dzi.max_level())
        .map(|number| {
            let size = dzi.level_size(number);
            let row_bytes = layout.row_bytes(size.width);
            Level { number, size, columns: axis(size.width), rows: axis(size.height), row_bytes }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tile_carries_pixels_of_the_neighbours_that_it_has() {
        let axis = Axis { side: 600, tile: 254, overlap: 1 };
        assert_eq!(axis.count(), 3);
        assert_eq!(axis.span(0), 0..255);
        assert_eq!(axis.span(1), 253..509);
        assert_eq!(axis.span(2), 507..600);
    }

    proptest! {
        #[test]
        fn touching_names_exactly_the_tiles_whose_span_meets_the_pixels(
            side in 1u32..3000, tile in 1u32..600, overlap in 0u32..40, start in 0u32..3000, length in 1u32..70,
        ) {
            let axis = Axis { side, tile, overlap: overlap.min(tile) };
            let start = start % side;
            let pixels = start..(start + length).min(side);
            let touching = axis.touching(&pixels);
            for index in 0..axis.count() {
                let span = axis.span(index);
                let meets = span.start < pixels.end && pixels.start < span.end;
                prop_assert_eq!(meets, touching.contains(&index), "{:?} {:?} tile {}", axis, pixels, index);
            }
        }

        #[test]
        fn tiles_without_their_overlap_cover_the_axis_once(side in 1u32..5000, tile in 1u32..600) {
            let axis = Axis { side, tile, overlap: 0 };
            let mut next = 0;
            for index in 0..axis.count() {
                prop_assert_eq!(axis.span(index).start, next);
                next = axis.span(index).end;
            }
            prop_assert_eq!(next, side);
        }
    }
}
