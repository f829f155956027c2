//! Assigns pixels to tiles: the arithmetic of one axis, which is the same for columns and rows.
//!
//! ```text
//! tile 0    |<---- tile ---->|overlap|
//! tile 1            |overlap|<---- tile ---->|overlap|
//! tile 2                            |overlap|<- rest ->|
//! ```
//!
//! Tile `i` covers `tile` pixels from `i * tile` on, and `overlap` more on each side, within the level.
//! Source: the Deep Zoom file format,
//! <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>.
//!
//! # Pictures that are stored turned
//! Levels hold the pixels as the picture is stored, and tiles are turned when they are encoded. If the upright picture
//! begins at the stored end of an axis, pixels, tiles and chroma are counted from there:
//!
//! ```text
//! stored positions    0  1  2  3  4  5  6  7
//! pixels              lead  6  5  4  3  2  1  0
//! chroma              └─3─┘ └─2─┘ └─1─┘ └─0─┘    each sample covers two pixels; the last one only pixel 6
//! ```
//! With planes in 4:2:0, an odd axis has one position before its first stored pixel, the lead. It keeps pairs of
//! positions aligned with samples of chroma.

use std::ops::Range;

use edgezoom_codecs::{Layout, Orientation};
use edgezoom_geometry::{Dzi, Size};

use crate::TileCoord;

/// One axis of a level and its division into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Width or height of the level in pixels, at least 1.
    pub side: u32,
    /// Width or height of a tile in pixels without overlap, at least 1.
    pub tile: u32,
    /// Pixels that a tile shares with each neighbour.
    pub overlap: u32,
    /// True if the upright picture begins at the stored end.
    pub from_end: bool,
    /// Positions before the first stored pixel: 0 or 1.
    pub lead: u32,
}

/// A level of a pyramid and its division into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Number of the level: 0 is one pixel.
    pub number: u32,
    /// Stored columns.
    pub columns: Axis,
    /// Stored rows.
    pub rows: Axis,
    /// Bytes of a row in the picture's layout.
    pub row_bytes: usize,
    /// True if a stored row is a column of the upright picture.
    pub is_swapped: bool,
}

impl Axis {
    /// Returns the number of tiles.
    pub fn count(&self) -> u32 {
        self.side.div_ceil(self.tile)
    }

    /// Returns the number of positions: all pixels and the lead.
    pub fn positions(&self) -> u32 {
        self.side + self.lead
    }

    /// Returns the pixels of a tile in the upright picture, overlap included. Empty past the last tile.
    pub fn pixels(&self, index: u32) -> Range<u32> {
        let start = u64::from(index) * u64::from(self.tile);
        let end = start + u64::from(self.tile) + u64::from(self.overlap);
        let within = |pixel: u64| pixel.min(u64::from(self.side)) as u32;
        within(start.saturating_sub(u64::from(self.overlap)))..within(end)
    }

    /// Converts pixels to positions, or positions to pixels.
    pub fn mirrored(&self, Range { start, end }: Range<u32>) -> Range<u32> {
        if self.from_end { self.positions() - end..self.positions() - start } else { start..end }
    }

    /// Returns the tiles that contain any pixel at these positions. The range must lie within the level and not be
    /// empty.
    pub fn touching(&self, positions: &Range<u32>) -> Range<u32> {
        let pixels = self.mirrored(positions.clone());
        let first = pixels.start.saturating_sub(self.overlap) / self.tile;
        let end = (u64::from(pixels.end) + u64::from(self.overlap)).div_ceil(u64::from(self.tile));
        first..end.min(u64::from(self.count())) as u32
    }

    /// Returns the length of the part that begins at `start` when the axis is divided into parts of `length`, an even
    /// number. The upright picture begins with a full part, so a halved part lies in one part of the level below.
    pub fn part(&self, start: u32, length: u32) -> u32 {
        let left = self.positions() - start;
        if self.from_end { (left - 1) % length + 1 } else { left.min(length) }
    }
}

impl Level {
    /// Returns the address of the tile in a stored column and row of tiles, both counted as in the upright picture.
    pub fn coord(&self, column: u32, row: u32) -> TileCoord {
        let (column, row) = if self.is_swapped { (row, column) } else { (column, row) };
        TileCoord { level: self.number, column, row }
    }
}

/// Returns the levels of a pyramid, from the first to the full picture.
pub fn levels(dzi: &Dzi, first: u32, layout: Layout, orientation: Orientation) -> Vec<Level> {
    let axis = |side, from_end| {
        let lead = u32::from(from_end && side % 2 == 1 && layout == Layout::YCbCr420);
        Axis { side, tile: dzi.tile_size, overlap: dzi.tile_overlap, from_end, lead }
    };
    (first..=dzi.max_level())
        .map(|number| {
            let Size { width, height } = orientation.turned(dzi.level_size(number));
            let columns = axis(width, orientation.from_right);
            let rows = axis(height, orientation.from_bottom);
            let row_bytes = layout.row_bytes(columns.positions());
            Level { number, columns, rows, row_bytes, is_swapped: orientation.swapped }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axis(side: u32, tile: u32, overlap: u32) -> Axis {
        Axis { side, tile, overlap, from_end: false, lead: 0 }
    }

    #[test]
    fn a_tile_carries_pixels_of_the_neighbours_that_it_has() {
        let axis = axis(600, 254, 1);
        assert_eq!(axis.count(), 3);
        assert_eq!(axis.pixels(0), 0..255);
        assert_eq!(axis.pixels(1), 253..509);
        assert_eq!(axis.pixels(2), 507..600);
    }

    #[test]
    fn from_the_end_the_first_tile_is_stored_last() {
        let axis = Axis { from_end: true, ..axis(601, 254, 1) };
        assert_eq!(axis.mirrored(axis.pixels(0)), 346..601);
        assert_eq!(axis.touching(&(345..346)), 1..2);
        let with_lead = Axis { lead: 1, ..axis };
        assert_eq!(with_lead.mirrored(with_lead.pixels(0)), 347..602);
        assert_eq!(with_lead.mirrored(with_lead.pixels(2)), 1..95);
    }

    proptest! {
        #[test]
        fn touching_names_exactly_the_tiles_that_have_pixels_there(
            side in 1u32..3000, tile in 1u32..600, overlap in 0u32..40, start in 0u32..3000, length in 1u32..70,
            from_end in any::<bool>(), lead in 0u32..2,
        ) {
            let lead = if from_end { lead } else { 0 };
            let axis = Axis { overlap: overlap.min(tile), from_end, lead, ..axis(side, tile, 0) };
            let start = start % side + lead;
            let positions = start..(start + length).min(axis.positions());
            let touching = axis.touching(&positions);
            for index in 0..axis.count() {
                let span = axis.mirrored(axis.pixels(index));
                let meets = span.start < positions.end && positions.start < span.end;
                prop_assert_eq!(meets, touching.contains(&index), "{:?} {:?} tile {}", axis, positions, index);
            }
        }

        #[test]
        fn tiles_without_their_overlap_cover_the_axis_once(side in 1u32..5000, tile in 1u32..600) {
            let axis = axis(side, tile, 0);
            let mut next = 0;
            for index in 0..axis.count() {
                prop_assert_eq!(axis.pixels(index).start, next);
                next = axis.pixels(index).end;
            }
            prop_assert_eq!(next, side);
        }

        #[test]
        fn the_halves_of_a_part_lie_in_one_part_of_the_level_below(
            side in 1u32..300, half in 1u32..20, from_end in any::<bool>(), is_planes in any::<bool>(),
        ) {
            let lead = |side: u32| u32::from(from_end && is_planes && side % 2 == 1);
            let axis = |side| Axis { from_end, lead: lead(side), ..axis(side, 1, 0) };
            let (above, below) = (axis(side), axis(side.div_ceil(2)));
            let ends = |axis: Axis| {
                let mut ends = vec![0];
                while ends[ends.len() - 1] < axis.positions() {
                    let start = ends[ends.len() - 1];
                    ends.push(start + axis.part(start, 2 * half));
                }
                ends
            };
            // Position of a part's end in the level below.
            let halved = |end: u32| if from_end {
                below.positions() - (above.positions() - end) / 2
            } else {
                end.div_ceil(2)
            };
            let halves: Vec<u32> = ends(above).into_iter().skip(1).map(halved).collect();
            prop_assert!(ends(below).iter().skip(1).all(|end| halves.contains(end)), "{:?} {:?}", ends(below), halves);
        }
    }
}
