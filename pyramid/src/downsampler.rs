//! Reads a picture from top to bottom and halves it, strip by strip, into all levels of the pyramid at once.
//!
//! ```text
//! level n    (the picture)  ████████████████  a strip is read, passed on,
//! level n-1                 ████████          and halved into half a strip of the level below;
//! level n-2                 ████              a strip that is full is passed on and halved in turn
//! ```

use std::sync::Arc;

use edgezoom_codecs::{Layout, RowReader, ycbcr420};

use crate::geometry::Level;
use crate::shrink::{halve_rows, halve_ycbcr420};
use crate::strip::{Pool, Strip};
use crate::{BuildError, TileOutput};

/// The bytes of a strip. A strip should still be in a core's cache when its tiles are encoded. Measured at 18,000
/// pixels of width on 2 MiB of cache for each core: strips of 3.4 MB cost 15 % more than those of 0.9 MB, and smaller
/// ones save nothing.
const STRIP_BYTES: usize = 512 << 10;
/// The most rows that a strip has, however narrow the picture is.
const MAX_ROWS: u32 = 64;
/// The strips of a level that may exist at once: one being filled, one being encoded, and slack for a thread that is
/// held up.
const STRIPS_PER_LEVEL: usize = 8;

/// All levels of a pyramid while they are being filled.
pub struct Downsampler<'a> {
    layout: Layout,
    /// From level 0 to the full picture.
    levels: Vec<LevelBuffer<'a>>,
}

/// A level and the strip of it that is being filled.
struct LevelBuffer<'a> {
    level: &'a Level,
    pool: Arc<Pool>,
    strip: Option<Strip>,
    /// The row that the next strip begins with.
    next_row: u32,
    /// The rows of a full strip.
    strip_rows: u32,
    /// The width of the level above.
    above_width: u32,
}

impl<'a> Downsampler<'a> {
    pub fn new(levels: &'a [Level], layout: Layout) -> Self {
        let widest = levels.iter().map(|level| level.row_bytes).max().unwrap_or(1);
        // The rows that a decoder gives at once, and that are halved without those of another strip.
        let unit = layout.rows_read(2);
        let rows = u32::try_from(STRIP_BYTES / widest.max(1)).unwrap_or(MAX_ROWS);
        let strip_rows = rows.clamp(unit, MAX_ROWS) / unit * unit;
        let above_widths = levels.iter().skip(1).map(|level| level.size.width).chain([0]);
        let levels = levels
            .iter()
            .zip(above_widths)
            .map(|(level, above_width)| {
                let pool = Pool::new(STRIPS_PER_LEVEL, strip_rows as usize * level.row_bytes);
                LevelBuffer { level, pool, strip: None, next_row: 0, strip_rows, above_width }
            })
            .collect();
        Self { layout, levels }
    }

    /// Reads the picture to its end and passes the strips of all levels to `cut`, those of one level in order.
    pub fn run(
        mut self,
        reader: &mut dyn RowReader,
        output: &dyn TileOutput,
        mut cut: impl FnMut(Arc<Strip>) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let Some((full, lower)) = self.levels.split_last_mut() else { return Ok(()) };
        while full.next_row < full.level.size.height {
            let mut strip = full.empty_strip();
            let rows = full.strip_rows.min(full.level.size.height - full.next_row);
            reader.read_rows(strip.extend(rows, self.layout.rows_read(rows)))?;
            full.next_row += rows;
            pass_on(self.layout, lower, strip, &mut cut)?;
            output.progress(full.next_row)?;
        }
        Ok(())
    }
}

/// Passes a full strip to `cut` and halves it into the level below. If that fills a strip there, does the same with it,
/// and so on down the levels.
fn pass_on(
    layout: Layout,
    mut levels: &mut [LevelBuffer<'_>],
    strip: Strip,
    cut: &mut impl FnMut(Arc<Strip>) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let mut strip = Arc::new(strip);
    loop {
        cut(Arc::clone(&strip))?;
        let Some((level, lower)) = levels.split_last_mut() else { return Ok(()) };
        let Some(filled) = level.take_halved(layout, &strip) else { return Ok(()) };
        strip = Arc::new(filled);
        levels = lower;
    }
}

impl LevelBuffer<'_> {
    fn empty_strip(&self) -> Strip {
        self.pool.strip(self.level.number, self.next_row, self.strip_rows, self.level.row_bytes)
    }

    /// Halves a strip of the level above into this level's strip. Returns this level's strip once it is full, or
    /// complete at the level's lower edge.
    fn take_halved(&mut self, layout: Layout, above: &Strip) -> Option<Strip> {
        let mut strip = self.strip.take().unwrap_or_else(|| self.empty_strip());
        let above_rows = above.rows();
        let rows = above_rows.len() as u32;
        let halved = rows.div_ceil(2);
        if layout == Layout::YCbCr420 {
            let out = strip.extend(halved, halved.next_multiple_of(2));
            let mut pairs = above.pairs(self.above_width);
            for (number, out) in (0..).zip(ycbcr420::pairs_mut(out, self.level.size.width)) {
                if let Some(upper) = pairs.next() {
                    halve_ycbcr420(self.above_width, upper, pairs.next(), rows - 4 * number, out);
                }
            }
        } else {
            let above_bytes = layout.row_bytes(self.above_width);
            let out = strip.extend(halved, halved).chunks_mut(self.level.row_bytes);
            for (pair, out) in above.pixels_of(&above_rows).chunks(2 * above_bytes).zip(out) {
                let (upper, lower) = pair.split_at(above_bytes);
                halve_rows(layout, upper, if lower.is_empty() { upper } else { lower }, out);
            }
        }
        self.next_row = strip.rows().end;
        if strip.is_full() || self.next_row == self.level.size.height {
            return Some(strip);
        }
        self.strip = Some(strip);
        None
    }
}
