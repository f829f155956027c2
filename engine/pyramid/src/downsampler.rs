//! Reads a picture from top to bottom and halves it, strip by strip, into all levels of the pyramid at once.
//!
//! ```text
//! level n    (the picture)  ████████████████  a strip is read, passed on,
//! level n-1                 ████████          and halved into half a strip of the level below;
//! level n-2                 ████              a strip that is full is passed on and halved in turn
//! ```
//! If the upright picture begins with the last stored row, strips are counted from there: the first strip of each level
//! may be short, and rows are paired from the end ([`crate::geometry`]).

use std::mem;
use std::sync::Arc;

use edgezoom_codecs::{Layout, Orientation, RowReader, ycbcr420};
use edgezoom_jpeg::decoder::requantise::{SampleTiler, TileBlocks};
use edgezoom_jpeg::ycbcr420::ROWS;

use crate::choose::choose_rows;
use crate::geometry::Level;
use crate::row_pairs::RowPairs;
use crate::shrink::{halve_rows, halve_ycbcr420};
use crate::strip::{Pool, Rows, Strip, mcu_side};
use crate::{BuildError, RegionShrink};

/// Size of a strip in bytes. A strip should still be in a core's cache when its tiles are encoded. Measured at a width
/// of 18,000 pixels with 2 MiB of cache per core: strips of 3.4 MB cost 15 % more than strips of 0.9 MB, and smaller
/// ones save nothing.
const STRIP_BYTES: usize = 512 << 10;
/// Largest number of rows in a strip, for narrow pictures.
const MAX_ROWS: u32 = 64;
/// Strips of a level that may exist at once: one being filled, one being encoded, and slack for a thread that falls
/// behind.
const STRIPS_PER_LEVEL: usize = 8;

/// All levels of a pyramid while they are being filled.
pub struct Downsampler<'a> {
    layout: Layout,
    /// Tiles that consist of the source's blocks.
    tiles: Option<TileBlocks>,
    /// From level 0 to the full picture.
    levels: Vec<LevelBuffer<'a>>,
}

/// A level with the strip that is being filled.
struct LevelBuffer<'a> {
    level: &'a Level,
    pool: Arc<Pool>,
    strip: Option<Rows>,
    /// First row of the next strip.
    next_row: u32,
    /// Rows of a full strip.
    strip_rows: u32,
    /// Level above; `None` for the full picture.
    above: Option<&'a Level>,
    shrink: RegionShrink,
}

impl<'a> Downsampler<'a> {
    /// With `tiles`, rows of the full picture are read as blocks as far as that goes.
    pub fn new(levels: &'a [Level], layout: Layout, shrink: RegionShrink, tiles: Option<TileBlocks>) -> Self {
        let widest = levels.iter().map(|level| level.row_bytes).max().unwrap_or(1);
        // Rows that a decoder returns at once and that are halved without another strip's rows.
        let unit = if tiles.is_some() { ROWS } else { layout.rows_read(2) };
        let rows = u32::try_from(STRIP_BYTES / widest.max(1)).unwrap_or(MAX_ROWS);
        let strip_rows = rows.clamp(unit, MAX_ROWS) / unit * unit;
        let above = levels.iter().skip(1).map(Some).chain([None]);
        let levels = levels
            .iter()
            .zip(above)
            .map(|(level, above)| {
                let pool = Pool::new(STRIPS_PER_LEVEL, strip_rows as usize * level.row_bytes);
                LevelBuffer { level, pool, strip: None, next_row: 0, strip_rows, above, shrink }
            })
            .collect();
        Self { layout, tiles, levels }
    }

    /// Reads the whole picture and passes the strips of all levels to `cut`, each level's in order. Passes the number
    /// of rows read to `progress` after each strip of the full picture.
    pub fn run(
        mut self,
        reader: &mut dyn RowReader,
        mut progress: impl FnMut(u32) -> Result<(), BuildError>,
        mut cut: impl FnMut(Strip) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        self.run_blocks(reader, &mut progress, &mut cut)?;
        let Some((full, lower)) = self.levels.split_last_mut() else { return Ok(()) };
        // A tile that has to be turned consists of blocks only.
        let width = full.level.columns.side;
        let turned = self.tiles.as_ref().filter(|tiles| tiles.orientation != Orientation::UPRIGHT);
        let mut tiler = turned.map(|tiles| SampleTiler::new(tiles, width, self.layout == Layout::Grey));
        let mut pairs = RowPairs::new(reader);
        while full.next_row < full.level.rows.positions() {
            let mut strip = full.empty_strip();
            let rows = full.rows_of_strip();
            let room = if self.layout == Layout::YCbCr420 { rows.next_multiple_of(2) } else { rows };
            pairs.read(strip.extend(rows, room))?;
            full.next_row += rows;
            if let (Some(tiler), Some((below, lowest))) = (&mut tiler, lower.split_last_mut()) {
                cut(Strip::Blocks(Arc::new(strip.to_blocks(full.level, self.layout, tiler))))?;
                if let Some(filled) = below.take_halved(self.layout, &strip) {
                    pass_on(self.layout, lowest, filled, &mut cut)?;
                }
            } else {
                pass_on(self.layout, lower, strip, &mut cut)?;
            }
            progress(full.next_row)?;
        }
        Ok(())
    }

    /// Reads rows of blocks, with the rows of the level below, until the reader has no more.
    fn run_blocks(
        &mut self,
        reader: &mut dyn RowReader,
        progress: &mut impl FnMut(u32) -> Result<(), BuildError>,
        cut: &mut impl FnMut(Strip) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let mcu_side = mcu_side(self.layout);
        let [lower @ .., below, full] = self.levels.as_mut_slice() else { return Ok(()) };
        let Some(jpeg) = reader.as_jpeg().filter(|_| self.tiles.is_some()) else { return Ok(()) };
        let mut has_more = true;
        while has_more && full.next_row < full.level.rows.positions() {
            let mut blocks = full.pool.blocks(full.level.number, full.next_row, mcu_side);
            let end = full.next_row + full.rows_of_strip();
            while full.next_row < end {
                let rows = mcu_side.min(end - full.next_row);
                let halved = rows.div_ceil(2);
                let mut strip = below.strip.take().unwrap_or_else(|| below.empty_strip());
                let pieces = jpeg.blocks.read_blocks(strip.extend(halved, mcu_side / 2))?;
                has_more = pieces.is_some();
                match pieces {
                    Some(pieces) => blocks.push(rows, pieces),
                    None => strip.retract(halved),
                }
                below.next_row = strip.rows().end;
                if strip.is_full() {
                    pass_on(self.layout, lower, strip, cut)?;
                } else {
                    below.strip = Some(strip);
                }
                if !has_more {
                    break;
                }
                full.next_row += rows;
            }
            if !blocks.rows().is_empty() {
                cut(Strip::Blocks(Arc::new(blocks)))?;
                progress(full.next_row)?;
            }
        }
        Ok(())
    }
}

/// Passes a full strip to `cut` and halves it into the level below. Repeats that with each strip that becomes full.
fn pass_on(
    layout: Layout,
    mut levels: &mut [LevelBuffer<'_>],
    strip: Rows,
    cut: &mut impl FnMut(Strip) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let mut strip = Arc::new(strip);
    loop {
        cut(Strip::Rows(Arc::clone(&strip)))?;
        let Some((level, lower)) = levels.split_last_mut() else { return Ok(()) };
        let Some(filled) = level.take_halved(layout, &strip) else { return Ok(()) };
        strip = Arc::new(filled);
        levels = lower;
    }
}

impl LevelBuffer<'_> {
    /// Returns the number of rows of the next strip.
    fn rows_of_strip(&self) -> u32 {
        // Behind blocks, the first strip of pixels may be short.
        let begun = if self.level.rows.from_end { 0 } else { self.next_row % self.strip_rows };
        self.level.rows.part(self.next_row, self.strip_rows - begun)
    }

    fn empty_strip(&self) -> Rows {
        let rows = self.rows_of_strip();
        self.pool.rows(self.level.number, self.next_row, rows, self.level.row_bytes)
    }

    /// Halves a strip of the level above into this level's strip. Returns this level's strip once it is full.
    fn take_halved(&mut self, layout: Layout, strip_above: &Rows) -> Option<Rows> {
        let above = self.above?;
        let mut strip = self.strip.take().unwrap_or_else(|| self.empty_strip());
        let rows = strip_above.rows();
        let halved = rows.len().div_ceil(2) as u32;
        // At an odd edge, one row or one pair of rows is halved alone.
        let from_end = self.level.rows.from_end;
        if layout == Layout::YCbCr420 {
            let mut is_first_alone = from_end && halved % 2 == 1;
            let room = halved.next_multiple_of(2);
            let out = strip.extend(if from_end { room } else { halved }, room);
            let mut pairs = strip_above.pairs(above);
            for out in ycbcr420::pairs_mut(out, self.level.columns.positions()) {
                let first = if mem::take(&mut is_first_alone) { None } else { pairs.next() };
                halve_ycbcr420(&above.columns, &self.level.columns, [first, pairs.next()], out);
            }
        } else {
            let out = strip.extend(halved, halved).chunks_mut(self.level.row_bytes);
            let alone = if from_end { rows.len() % 2 } else { 0 };
            let (alone, rest) = strip_above.pixels_of(&rows).split_at(alone * above.row_bytes);
            let pairs = alone.chunks(2 * above.row_bytes).chain(rest.chunks(2 * above.row_bytes));
            for (pair, out) in pairs.zip(out) {
                let (upper, lower) = pair.split_at(above.row_bytes);
                let lower = if lower.is_empty() { upper } else { lower };
                match self.shrink {
                    RegionShrink::Mean => {
                        halve_rows(layout, self.level.columns.from_end, upper, lower, out);
                    }
                    shrink => choose_rows(layout, shrink, self.level, [upper, lower], out),
                }
            }
        }
        self.next_row = strip.rows().end;
        if strip.is_full() {
            return Some(strip);
        }
        self.strip = Some(strip);
        None
    }
}
