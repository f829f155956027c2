//! Plans of renderings: the tiles that one needs, and the part of the level that it shows.
//!
//! The tiles are those of the smallest level that is at least as large as the rendering, so that a filter halves at
//! most. A rendering that is distorted, or a pyramid of small tiles, may need very many of those; then a smaller level
//! is enlarged.

use std::ops::Range;

use edgezoom_geometry::{Dzi, Size};

use crate::rendering::{Region, Rendering};

/// Maximum number of tiles of a plan. With tiles of 512 pixels only a rendering of 2 megapixels may need one more, if
/// the next smaller level is nearly as large as asked for.
pub const MAX_TILES: u64 = 48;
/// Maximum number of pixels of a rendering.
pub const MAX_PIXELS: u64 = 2_000_000;
/// Maximum number of pixels in a plan's tiles, which bounds time and memory for tiles of any size.
const MAX_TILE_PIXELS: u64 = MAX_TILES * 516 * 516;

/// The reason why a rendering cannot be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The picture, the region or the rendering has no pixels.
    #[error("a side is 0")]
    Empty,
    /// The region is not within the picture.
    #[error("the region is not within the picture")]
    Outside,
    /// The rendering has more than [`MAX_PIXELS`] pixels.
    #[error("the size has more than {MAX_PIXELS} pixels")]
    TooLarge,
}

/// The tiles of a rendering.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The tiles' level.
    pub level: u32,
    /// The tiles' columns.
    pub columns: Range<u32>,
    /// The tiles' rows.
    pub rows: Range<u32>,
    /// The region in pixels of the level, without rounding.
    pub window: Window,
    /// All pixels of the level that the region touches.
    pub crop: Region,
}

/// A rectangle in fractions of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Pixels to its left.
    pub left: f64,
    /// Pixels above it.
    pub top: f64,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
}

impl Plan {
    /// Plans a rendering of a pyramid.
    ///
    /// # Errors
    /// If the region is empty or not within the picture, or the size is 0 or too large.
    pub fn new(dzi: &Dzi, rendering: &Rendering) -> Result<Self, PlanError> {
        let Rendering { region, size, .. } = *rendering;
        let sides = [
            dzi.size.width,
            dzi.size.height,
            dzi.tile_size,
            region.width,
            region.height,
            size.width,
            size.height,
        ];
        if sides.contains(&0) {
            return Err(PlanError::Empty);
        }
        let is_within =
            |from: u32, length: u32, side: u32| from.checked_add(length).is_some_and(|end| end <= side);
        if !is_within(region.left, region.width, dzi.size.width)
            || !is_within(region.top, region.height, dzi.size.height)
        {
            return Err(PlanError::Outside);
        }
        if size.pixels() > MAX_PIXELS {
            return Err(PlanError::TooLarge);
        }
        let halvings = (1..=dzi.max_level())
            .take_while(|&halvings| {
                is_enough(region.width, dzi.size.width, size.width, halvings)
                    && is_enough(region.height, dzi.size.height, size.height, halvings)
            })
            .last()
            .unwrap_or(0);
        let mut plan = Self::at(dzi, region, halvings);
        while plan.level > 0 && (plan.tile_count() > MAX_TILES || plan.tile_pixels(dzi) > MAX_TILE_PIXELS) {
            plan = Self::at(dzi, region, dzi.max_level() - plan.level + 1);
        }
        Ok(plan)
    }

    /// Plans a region in the level that is halved this many times.
    fn at(dzi: &Dzi, region: Region, halvings: u32) -> Self {
        let (left, width) = across(region.left, region.width, halvings);
        let (top, height) = across(region.top, region.height, halvings);
        let scale = 2f64.powi(-(halvings as i32));
        let window = Window {
            left: f64::from(region.left) * scale,
            top: f64::from(region.top) * scale,
            width: f64::from(region.width) * scale,
            height: f64::from(region.height) * scale,
        };
        let tiles = |from: u32, length: u32| from / dzi.tile_size..(from + length).div_ceil(dzi.tile_size);
        Self {
            level: dzi.max_level() - halvings,
            columns: tiles(left, width),
            rows: tiles(top, height),
            window,
            crop: Region { left, top, width, height },
        }
    }

    /// Returns the number of tiles.
    #[must_use]
    pub fn tile_count(&self) -> u64 {
        self.columns.len() as u64 * self.rows.len() as u64
    }

    /// Returns the columns and rows of the tiles, row by row: the order in which they are rendered.
    pub fn tiles(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let columns = self.columns.clone();
        self.rows.clone().flat_map(move |row| columns.clone().map(move |column| (column, row)))
    }

    /// Returns the pixels of the level that a tile has, its overlap included.
    #[must_use]
    pub fn tile_region(&self, dzi: &Dzi, column: u32, row: u32) -> Region {
        let Size { width, height } = dzi.level_size(self.level);
        let (left, width) = tile_side(dzi, column, width);
        let (top, height) = tile_side(dzi, row, height);
        Region { left, top, width, height }
    }

    /// Returns the number of pixels in all tiles, without their overlap. May overestimate, never underestimate.
    fn tile_pixels(&self, dzi: &Dzi) -> u64 {
        let Size { width, height } = dzi.level_size(self.level);
        let covered =
            |tiles: &Range<u32>, side: u32| (tiles.len() as u64 * u64::from(dzi.tile_size)).min(side.into());
        covered(&self.columns, width) * covered(&self.rows, height)
    }
}

/// Returns true if a region has as many pixels as asked for in the level that is halved this many times. A level's last
/// pixel counts if the region is the whole side, so that the size of a level gives that level.
fn is_enough(region: u32, side: u32, size: u32, halvings: u32) -> bool {
    let asked = u64::from(size) << halvings;
    let rounding = if region == side { (1 << halvings) - 1 } else { 0 };
    asked <= u64::from(region) + rounding
}

/// Returns the first pixel that a region touches in a level, and the number of pixels.
fn across(from: u32, length: u32, halvings: u32) -> (u32, u32) {
    let first = u64::from(from) >> halvings;
    let end = (u64::from(from) + u64::from(length)).div_ceil(1 << halvings);
    (first as u32, (end - first) as u32)
}

/// Returns the first pixel of a tile's column or row, and the number of pixels, in a level with sides of this length.
fn tile_side(dzi: &Dzi, tile: u32, side: u32) -> (u32, u32) {
    let Dzi { tile_size, tile_overlap, .. } = *dzi;
    let from = tile.saturating_mul(tile_size);
    let end = from.saturating_add(tile_size).saturating_add(tile_overlap).min(side);
    let from = if tile == 0 { 0 } else { from.saturating_sub(tile_overlap) };
    (from, end.saturating_sub(from))
}

#[cfg(test)]
mod tests {
    use edgezoom_geometry::TileFormat;
    use proptest::prelude::*;

    use super::*;
    use crate::{Colours, Format, Turn};

    fn dzi(width: u32, height: u32) -> Dzi {
        Dzi { size: Size { width, height }, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg }
    }

    fn rendering([left, top, width, height]: [u32; 4], [w, h]: [u32; 2]) -> Rendering {
        Rendering {
            region: Region { left, top, width, height },
            size: Size { width: w, height: h },
            turn: Turn::None,
            mirrored: false,
            colours: Colours::Colour,
            format: Format::Jpg,
        }
    }

    fn plan(dzi: &Dzi, region: [u32; 4], size: [u32; 2]) -> Plan {
        Plan::new(dzi, &rendering(region, size)).unwrap()
    }

    #[test]
    fn the_level_is_the_next_larger_one() {
        let dzi = dzi(8192, 6144);
        for (region, size, level) in [
            ([0, 0, 1024, 1024], [1024, 1024], 13),
            ([0, 0, 1024, 1024], [513, 513], 13),
            ([0, 0, 1024, 1024], [512, 512], 12),
            ([0, 0, 1024, 1024], [512, 513], 13),
            ([0, 0, 8192, 6144], [1200, 900], 11),
            ([100, 100, 10, 10], [1000, 1000], 13),
            ([0, 0, 8192, 6144], [1, 1], 0),
        ] {
            assert_eq!(plan(&dzi, region, size).level, level, "{region:?} {size:?}");
        }
    }

    #[test]
    fn the_size_of_a_level_gives_that_level() {
        let dzi = dzi(8191, 101);
        for level in 1..=13 {
            let Size { width, height } = dzi.level_size(level);
            assert_eq!(plan(&dzi, [0, 0, 8191, 101], [width, height]).level, level);
        }
    }

    #[test]
    fn a_distorted_rendering_takes_a_smaller_level_than_the_next_larger_one() {
        let plan = plan(&dzi(1_000_000, 1_000_000), [0, 0, 1_000_000, 1_000_000], [2000, 1]);
        assert_eq!((plan.level, plan.tile_count()), (11, 16));
    }

    #[test]
    fn small_and_large_tiles_have_the_same_bounds() {
        let small = Dzi { tile_size: 64, tile_overlap: 1, ..dzi(8000, 8000) };
        let large = Dzi { tile_size: 8000, ..small };
        let many = plan(&small, [0, 0, 1400, 1400], [1400, 1400]);
        let one = plan(&large, [0, 0, 1000, 1000], [1000, 1000]);
        assert_eq!((many.level, many.tile_count()), (11, 36));
        assert_eq!((one.level, one.tile_count()), (11, 1));
    }

    #[test]
    fn what_cannot_be_rendered_is_refused() {
        let dzi = dzi(800, 600);
        for (region, size, error) in [
            ([0, 0, 0, 600], [1, 1], PlanError::Empty),
            ([0, 0, 800, 600], [1, 0], PlanError::Empty),
            ([1, 0, 800, 600], [1, 1], PlanError::Outside),
            ([0, u32::MAX, 800, 600], [1, 1], PlanError::Outside),
            ([0, 0, 800, 600], [2000, 1001], PlanError::TooLarge),
            ([0, 0, 800, 600], [u32::MAX, u32::MAX], PlanError::TooLarge),
        ] {
            assert_eq!(Plan::new(&dzi, &rendering(region, size)), Err(error));
        }
    }

    #[test]
    fn words_give_the_same_rendering() {
        for (number, turn) in Turn::ALL.into_iter().enumerate() {
            let mirrored = number % 2 == 1;
            let (colours, format) = (Colours::Bitonal, Format::WebP);
            let one = Rendering { turn, mirrored, colours, format, ..rendering([1, 2, 3, 4], [5, 6]) };
            let dzi = Dzi { tile_format: TileFormat::Png, ..dzi(7, 8) };
            assert_eq!(Rendering::from_words(&one.to_words(&dzi)), Some((dzi, one)));
        }
        assert_eq!(Rendering::from_words(&[0; 14]), None);
        assert_eq!(Rendering::from_words(&[9; 15]), None);
    }

    proptest! {
        #[test]
        fn tiles_cover_the_region_and_are_few(
            (width, height) in (1..3_000_000_u32, 1..3_000_000_u32),
            place in (0.0..1.0, 0.0..1.0, 0.0..1.0, 0.0..1.0),
            (across, down) in (1..1414_u32, 1..1414_u32),
            (tile_size, tile_overlap) in prop_oneof![Just((512, 0)), Just((254, 1)), (1..5000_u32, 0..9_u32)],
        ) {
            let dzi = Dzi { tile_size, tile_overlap, ..dzi(width, height) };
            let part = |side: u32, from: f64, length: f64| {
                let from = (f64::from(side) * from) as u32;
                (from, ((f64::from(side - from) * length) as u32).max(1))
            };
            let ((left, w), (top, h)) = (part(width, place.0, place.2), part(height, place.1, place.3));
            let plan = plan(&dzi, [left, top, w, h], [across, down]);
            prop_assert!(plan.tile_count() <= MAX_TILES && plan.tile_pixels(&dzi) <= MAX_TILE_PIXELS);
            let (columns, rows) = dzi.grid(plan.level);
            prop_assert!(plan.columns.end <= columns && plan.rows.end <= rows);
            let Region { left, top, width, height } = plan.crop;
            let Window { left: l, top: t, width: w, height: h } = plan.window;
            prop_assert!(f64::from(left) <= l && l + w <= f64::from(left + width));
            prop_assert!(f64::from(top) <= t && t + h <= f64::from(top + height));
            let tiles: Vec<_> = plan.tiles().map(|(column, row)| plan.tile_region(&dzi, column, row)).collect();
            let (first, last) = (tiles[0], tiles[tiles.len() - 1]);
            prop_assert!(first.left <= left && first.top <= top);
            prop_assert!(last.left + last.width >= left + width && last.top + last.height >= top + height);
        }
    }
}
