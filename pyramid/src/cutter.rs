//! Cuts tiles from strips: the work of one thread. It owns every n-th column of each level, so no tile is ever touched by
//! two threads, and nothing needs a lock.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use crate::encode::{Encoding, TileEncoder};
use crate::geometry::Level;
use crate::strip::Strip;
use crate::{Output, Place};
use edgezoom_codecs::Layout;

pub struct Cutter<'a> {
    levels: &'a [Level],
    encoding: Encoding,
    output: &'a dyn Output,
    /// Which of the threads this is, and of how many.
    share: Share,
    open: HashMap<Place, TileEncoder>,
    /// Encoders that are between two tiles.
    spare: Vec<TileEncoder>,
}

/// The columns that a thread owns.
#[derive(Clone, Copy)]
pub struct Share {
    pub index: u32,
    pub of: u32,
}

impl Share {
    /// The columns of a level. They begin elsewhere on each level, so that the small levels at the bottom, with a column
    /// or two, do not all fall to one thread.
    fn columns(self, level: &Level) -> impl Iterator<Item = u32> {
        let first = (self.index + level.number) % self.of;
        (first..level.columns.count()).step_by(self.of as usize)
    }
}

impl<'a> Cutter<'a> {
    pub fn new(levels: &'a [Level], encoding: Encoding, output: &'a dyn Output, share: Share) -> Self {
        Self { levels, encoding, output, share, open: HashMap::new(), spare: Vec::new() }
    }

    /// Gives the rows of a strip to the tiles that want them. The strips of a level must come in order.
    pub fn cut(&mut self, strip: &Arc<Strip>) -> io::Result<()> {
        let levels = self.levels;
        let Some(level) = levels.get(strip.level as usize) else { return Ok(()) };
        let tile_rows = level.rows.touching(&strip.rows());
        for column in self.share.columns(level) {
            for row in tile_rows.clone() {
                self.cut_tile(level, strip, column, row)?;
            }
        }
        Ok(())
    }

    fn cut_tile(&mut self, level: &Level, strip: &Strip, column: u32, row: u32) -> io::Result<()> {
        let place = Place { level: level.number, column, row };
        let columns = level.columns.span(column);
        let rows = level.rows.span(row);
        let mut encoder = match self.open.remove(&place) {
            Some(encoder) => encoder,
            None => {
                let mut encoder = self.spare.pop().unwrap_or_else(|| TileEncoder::new(self.encoding));
                encoder.begin(columns.end - columns.start, rows.end - rows.start)?;
                encoder
            }
        };
        let here = strip.rows();
        let shared = rows.start.max(here.start)..rows.end.min(here.end);
        if self.encoding.layout == Layout::YCbCr420 {
            let first = shared.start - here.start;
            let pairs = strip.pairs(level.size.width).skip(first as usize / 2);
            let rows = pairs.flat_map(|pair| [(pair, false), (pair, true)]).skip(first as usize % 2);
            for (pair, is_lower) in rows.take(shared.len()) {
                encoder.planar_row(&pair, is_lower, &columns);
            }
        } else {
            let channels = self.encoding.layout.channels();
            let bytes = columns.start as usize * channels..columns.end as usize * channels;
            for pixels in strip.pixels_of(&shared).chunks_exact(level.row_bytes) {
                encoder.row(&pixels[bytes.clone()])?;
            }
        }
        if shared.end < rows.end {
            self.open.insert(place, encoder);
            return Ok(());
        }
        encoder.finish(|tile| self.output.tile(place, tile))?;
        self.spare.push(encoder);
        Ok(())
    }
}
