//! Cuts strips into tiles: the work of one encoder thread.
//!
//! A thread owns every n-th column of tiles of each level. So no tile is touched by two threads, and nothing needs a
//! lock. For each tile that has begun, the thread keeps an encoder and gives it the tile's part of each row straight
//! from the strip: a tile's pixels are never collected first.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use edgezoom_codecs::Layout;

use crate::geometry::Level;
use crate::strip::Strip;
use crate::tile_encoder::{Encoding, TileEncoder};
use crate::{TileCoord, TileOutput};

pub struct Cutter<'a> {
    levels: &'a [Level],
    encoding: Encoding,
    output: &'a dyn TileOutput,
    partition: Partition,
    /// The encoders of the tiles that have begun.
    open: HashMap<TileCoord, TileEncoder>,
    /// Encoders without a tile, for the next tiles.
    spare: Vec<TileEncoder>,
}

/// Which columns of tiles a thread owns: it is number `index` of `count` threads.
#[derive(Clone, Copy)]
pub struct Partition {
    pub index: u32,
    pub count: u32,
}

impl Partition {
    /// The columns of a level. The first thread's columns begin elsewhere on each level, so that the smallest levels,
    /// which have one column or two, are spread over the threads.
    fn columns(self, level: &Level) -> impl Iterator<Item = u32> {
        let first = (self.index + level.number) % self.count;
        (first..level.columns.count()).step_by(self.count as usize)
    }
}

impl<'a> Cutter<'a> {
    pub fn new(
        levels: &'a [Level],
        encoding: Encoding,
        output: &'a dyn TileOutput,
        partition: Partition,
    ) -> Self {
        Self { levels, encoding, output, partition, open: HashMap::new(), spare: Vec::new() }
    }

    /// Gives the rows of a strip to the encoders of all tiles that they belong to. The strips of a level must come in
    /// order.
    pub fn cut(&mut self, strip: &Arc<Strip>) -> io::Result<()> {
        let levels = self.levels;
        let Some(level) = levels.get(strip.level as usize) else { return Ok(()) };
        let tile_rows = level.rows.touching(&strip.rows());
        for column in self.partition.columns(level) {
            for row in tile_rows.clone() {
                self.cut_tile(level, strip, column, row)?;
            }
        }
        Ok(())
    }

    fn cut_tile(&mut self, level: &Level, strip: &Strip, column: u32, row: u32) -> io::Result<()> {
        let coord = TileCoord { level: level.number, column, row };
        let columns = level.columns.span(column);
        let rows = level.rows.span(row);
        let mut encoder = match self.open.remove(&coord) {
            Some(encoder) => encoder,
            None => {
                let mut encoder = self.spare.pop().unwrap_or_else(|| TileEncoder::new(self.encoding));
                encoder.begin(columns.end - columns.start, rows.end - rows.start)?;
                encoder
            }
        };
        let strip_rows = strip.rows();
        let common = rows.start.max(strip_rows.start)..rows.end.min(strip_rows.end);
        if self.encoding.layout == Layout::YCbCr420 {
            let first = common.start - strip_rows.start;
            let pairs = strip.pairs(level.size.width).skip(first as usize / 2);
            let rows = pairs.flat_map(|pair| [(pair, false), (pair, true)]).skip(first as usize % 2);
            for (pair, is_lower) in rows.take(common.len()) {
                encoder.ycbcr420_row(&pair, is_lower, &columns);
            }
        } else {
            let channels = self.encoding.layout.channels();
            let bytes = columns.start as usize * channels..columns.end as usize * channels;
            for pixels in strip.pixels_of(&common).chunks_exact(level.row_bytes) {
                encoder.row(&pixels[bytes.clone()])?;
            }
        }
        if common.end < rows.end {
            self.open.insert(coord, encoder);
            return Ok(());
        }
        encoder.finish(|bytes| self.output.tile(coord, bytes))?;
        self.spare.push(encoder);
        Ok(())
    }
}
