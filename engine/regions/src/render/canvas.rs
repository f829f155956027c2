//! The planes of a row of tiles, and of the rows above it that a filter still needs.

use std::ops::Range;

use edgezoom_geometry::Dzi;
use edgezoom_jpeg::decoder::frame::{self, Colours};

use crate::plan::Plan;
use crate::rendering::Region;

use super::resample::{BLOCK, PADDING};

/// The planes of a canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Luma.
    Grey,
    /// Luma, and Cb and Cr halved both ways.
    YCbCr420,
    /// Red, green and blue. Transparent pixels are on white.
    Rgb,
    /// Red, green and blue, multiplied with alpha, and alpha.
    Rgba,
}

/// Planes of a part of a level.
pub struct Canvas {
    /// Kind of the planes.
    pub kind: Kind,
    /// The planes. Without chroma if only luma is asked for.
    pub planes: Vec<Plane>,
    /// All pixels of the level that are drawn.
    crop: Region,
}

/// Rows of samples.
pub struct Plane {
    samples: Vec<[u8; BLOCK]>,
    /// Blocks of a row: zeros follow its samples, as a filter reads whole vectors.
    blocks: usize,
    /// 1 if a sample is two pixels wide and high, or 0.
    pub halvings: u32,
    /// Columns of the level's plane.
    pub columns: Range<u32>,
    /// Rows of the level's plane that have been decoded, from the first that is stored.
    pub rows: Range<u32>,
}

/// A tile's part of a canvas.
pub struct Tile<'a> {
    pub canvas: &'a mut Canvas,
    /// The pixels of the level that the tile has.
    pub region: Region,
    /// Columns and rows of these that it draws.
    pub columns: Range<u32>,
    pub rows: Range<u32>,
}

impl Kind {
    /// Returns the kind of canvas for JPEG tiles like this one.
    pub fn of_jpeg(dzi: &Dzi, tile: &[u8]) -> Self {
        // Samples of chroma are shared by tiles that begin at an odd pixel.
        let is_even = dzi.tile_size.is_multiple_of(2) && dzi.tile_overlap.is_multiple_of(2);
        match frame::read(&mut &*tile) {
            Ok(Some(frame)) if frame.colours == Colours::Grey => Self::Grey,
            Ok(Some(frame)) if frame.is_ycbcr420() && is_even => Self::YCbCr420,
            _ => Self::Rgb,
        }
    }

    /// Returns the number of times that each plane is halved.
    fn halvings(self) -> &'static [u32] {
        match self {
            Self::Grey => &[0],
            Self::YCbCr420 => &[0, 1, 1],
            Self::Rgb => &[0, 0, 0],
            Self::Rgba => &[0, 0, 0, 0],
        }
    }
}

impl Canvas {
    /// Makes an empty canvas for a plan. `is_grey`: chroma that is a plane of its own is not needed.
    pub fn new(plan: &Plan, kind: Kind, is_grey: bool) -> Self {
        let crop = plan.crop;
        let halvings = kind.halvings().iter().take(if is_grey && kind == Kind::YCbCr420 { 1 } else { 4 });
        let plane = |&halvings: &u32| {
            let columns = halved(&(crop.left..crop.left + crop.width), halvings);
            let first_row = crop.top >> halvings;
            let blocks = (columns.len() + PADDING).div_ceil(BLOCK);
            Plane { samples: Vec::new(), blocks, halvings, columns, rows: first_row..first_row }
        };
        Self { kind, planes: halvings.map(plane).collect(), crop }
    }

    /// Makes room for a row of tiles below the rows that are stored.
    pub fn begin_row_of_tiles(&mut self, dzi: &Dzi, plan: &Plan, row: u32) {
        let rows = self.rows_of(dzi, plan, row);
        for plane in &mut self.planes {
            plane.rows.end = halved(&rows, plane.halvings).end;
            plane.samples.resize(plane.rows.len() * plane.blocks, [0; BLOCK]);
        }
    }

    /// Returns a tile's part.
    pub fn tile(&mut self, dzi: &Dzi, plan: &Plan, column: u32, row: u32) -> Tile<'_> {
        let columns = drawn(dzi, column, plan.columns.end, self.crop.left, self.crop.width);
        let rows = self.rows_of(dzi, plan, row);
        Tile { region: plan.tile_region(dzi, column, row), canvas: self, columns, rows }
    }

    /// Returns the pixels' rows that a row of tiles draws.
    fn rows_of(&self, dzi: &Dzi, plan: &Plan, row: u32) -> Range<u32> {
        drawn(dzi, row, plan.rows.end, self.crop.top, self.crop.height)
    }
}

impl Plane {
    /// Returns a row of the level's plane, with the zeros behind it.
    pub fn row(&self, row: u32) -> &[[u8; BLOCK]] {
        let start = (row - self.rows.start) as usize * self.blocks;
        &self.samples[start..start + self.blocks]
    }

    /// Returns part of a row of the level's plane.
    pub fn part_mut(&mut self, row: u32, columns: Range<u32>) -> &mut [u8] {
        let start = (row - self.rows.start) as usize * self.blocks * BLOCK;
        let place = |column: u32| start + (column - self.columns.start) as usize;
        &mut self.samples.as_flattened_mut()[place(columns.start)..place(columns.end)]
    }

    /// Drops rows above this one.
    pub fn drop_rows_above(&mut self, row: u32) {
        let row = row.clamp(self.rows.start, self.rows.end);
        self.samples.drain(..(row - self.rows.start) as usize * self.blocks);
        self.rows.start = row;
    }
}

/// Returns the samples that cover these pixels in a plane.
pub fn halved(pixels: &Range<u32>, halvings: u32) -> Range<u32> {
    pixels.start >> halvings..pixels.end.div_ceil(1 << halvings)
}

/// Returns the pixels that a column or row of tiles draws: its own, without overlap, as far as they are in the crop.
/// The end of the last one is the crop's.
fn drawn(dzi: &Dzi, tile: u32, end: u32, from: u32, length: u32) -> Range<u32> {
    let start = tile.saturating_mul(dzi.tile_size).max(from);
    let next = tile.saturating_add(1);
    start..if next >= end { from + length } else { next.saturating_mul(dzi.tile_size) }
}
