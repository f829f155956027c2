//! Cuts strips into tiles: the work of one encoder thread.
//!
//! A thread owns every n-th column of tiles of each level. So no tile is touched by two threads, and nothing needs a
//! lock. For each tile that has begun, the thread keeps an encoder and passes it the tile's part of each row straight
//! from the strip: a tile's pixels are not collected first.
//!
//! They are collected only if the picture has to be turned ([`StoredTile`]). Then a whole row of tiles completes at once. The
//! thread encodes it while it collects the next row of tiles, a few tiles for each strip, so reader and encoders work side by
//! side in the memory of one row of tiles.

use std::collections::{HashMap, VecDeque};
use std::io;

use edgezoom_codecs::{Layout, Orientation};
use edgezoom_jpeg::quantisation::Quantisation;

use crate::background::Background;
use crate::geometry::Level;
use crate::prefetch::{fetch, fetch_pair, fetched_ahead};
use crate::stored_tile::{Buffers, StoredTile};
use crate::strip::Strip;
use crate::tile_encoder::{Encoding, TileEncoder};
use crate::{TileCoord, TileOutput};

/// Number of a tile's rows that are prefetched before they are encoded.
const ROWS_AHEAD: usize = 2;
/// Memory for unfinished tiles of all threads, in bytes.
const UNFINISHED_BYTES: usize = 24 << 20;

/// Cuts strips into the tiles of one thread.
pub struct Cutter<'a> {
    levels: &'a [Level],
    encoding: Encoding,
    background: Background,
    output: &'a dyn TileOutput,
    partition: Partition,
    /// Encoders of the tiles that have begun.
    open: HashMap<TileCoord, OpenTile>,
    /// Encoders of reduced levels and of the full level.
    encoders: [Encoders; 2],
    /// Tiles that are being collected.
    collected: HashMap<TileCoord, StoredTile>,
    /// For each level, the collected tiles that wait to be encoded.
    complete: Vec<Complete>,
    buffers: Buffers,
}

/// A tile that has begun.
struct OpenTile {
    encoder: TileEncoder,
    /// True if it shows only background so far. False unless blank tiles are left out.
    is_blank: bool,
}

/// Encoders of one kind.
struct Encoders {
    /// Template of further ones.
    first: TileEncoder,
    /// Encoders without a tile.
    spare: Vec<TileEncoder>,
}

impl Encoders {
    fn new(first: TileEncoder) -> Self {
        Self { first, spare: Vec::new() }
    }

    fn take(&mut self) -> TileEncoder {
        self.spare.pop().unwrap_or_else(|| self.first.another())
    }
}

/// Collected tiles of a level that wait to be encoded.
#[derive(Default)]
struct Complete {
    tiles: VecDeque<StoredTile>,
    /// Rows received times the thread's columns, minus those that encoded tiles account for.
    due: u64,
}

/// A thread's share of the columns of tiles: it is number `index` of `count` threads.
#[derive(Clone, Copy)]
pub struct Partition {
    pub index: u32,
    pub count: u32,
}

impl Partition {
    /// Returns the thread's columns of a level. The first column is assigned to another thread on each level, which spreads
    /// the small levels of one or two columns over the threads.
    fn columns(self, level: &Level) -> impl Iterator<Item = u32> {
        let first = (self.index + level.number) % self.count;
        (first..level.columns.count()).step_by(self.count as usize)
    }
}

impl<'a> Cutter<'a> {
    /// Makes the cutter of one thread. Tiles of the full level that consist of the source's blocks have a quantisation of their own.
    pub fn new(
        levels: &'a [Level],
        encoding: Encoding,
        of_blocks: Option<&Quantisation>,
        background: Background,
        output: &'a dyn TileOutput,
        partition: Partition,
    ) -> Self {
        let reduced =
            TileEncoder::new(encoding).with_memory(UNFINISHED_BYTES / partition.count.max(1) as usize);
        let full = of_blocks.map_or_else(|| reduced.another(), |other| reduced.with_quantisation(other));
        Self {
            levels,
            encoding,
            background,
            output,
            partition,
            open: HashMap::new(),
            encoders: [reduced, full].map(Encoders::new),
            collected: HashMap::new(),
            complete: levels.iter().map(|_| Complete::default()).collect(),
            buffers: Buffers::default(),
        }
    }

    /// Passes the rows of a strip to the encoders of the thread's tiles. A level's strips must be passed in order.
    pub fn cut(&mut self, strip: &Strip) -> io::Result<()> {
        let levels = self.levels;
        let Some(level) = levels.get(self.index(strip.level())) else { return Ok(()) };
        let tile_rows = level.rows.touching(&strip.rows());
        let is_upright = self.encoding.orientation == Orientation::UPRIGHT;
        for column in self.partition.columns(level) {
            for row in tile_rows.clone() {
                if is_upright {
                    self.cut_tile(level, strip, column, row)?;
                } else {
                    self.collect_tile(level, strip, column, row);
                }
            }
        }
        if is_upright { Ok(()) } else { self.encode_complete(level, strip) }
    }

    fn collect_tile(&mut self, level: &Level, strip: &Strip, column: u32, row: u32) {
        let (coord, index) = (level.coord(column, row), self.index(level.number));
        let mut tile = self
            .collected
            .remove(&coord)
            .unwrap_or_else(|| StoredTile::new(level, column, row, self.encoding));
        if !tile.collect(level, strip, self.encoding.layout, &mut self.buffers) {
            self.collected.insert(coord, tile);
        } else if let Some(complete) = self.complete.get_mut(index) {
            complete.tiles.push_back(tile);
        }
    }

    /// Encodes the level's collected tiles that are due with this strip. They are spread evenly over the rows, so none is left
    /// when the next row of tiles is complete.
    fn encode_complete(&mut self, level: &Level, strip: &Strip) -> io::Result<()> {
        let (is_full, index) = (self.is_full(level), self.index(level.number));
        let Some(complete) = self.complete.get_mut(index) else { return Ok(()) };
        let rows = strip.rows();
        let columns = self.partition.columns(level).count() as u64;
        complete.due += rows.len() as u64 * columns;
        let is_last = rows.end == level.rows.positions();
        while is_last || complete.due >= u64::from(level.rows.tile) {
            let Some(tile) = complete.tiles.pop_front() else {
                complete.due = 0;
                break;
            };
            complete.due = complete.due.saturating_sub(u64::from(level.rows.tile));
            let coord = tile.coord;
            let encoders = &mut self.encoders[usize::from(is_full)];
            let mut encoder = encoders.take();
            let is_blank = tile.encode(
                self.encoding,
                &mut encoder,
                &self.background,
                level.rows.tile,
                &mut self.buffers,
            )?;
            encoder.finish(|bytes| if is_blank { Ok(()) } else { self.output.tile(coord, bytes) })?;
            encoders.spare.push(encoder);
        }
        Ok(())
    }

    fn cut_tile(&mut self, level: &Level, strip: &Strip, column: u32, row: u32) -> io::Result<()> {
        let coord = TileCoord { level: level.number, column, row };
        let columns = level.columns.pixels(column);
        let rows = level.rows.pixels(row);
        let is_full = self.is_full(level);
        let (background, tile) = (self.background, level.rows.tile);
        let OpenTile { mut encoder, mut is_blank } = match self.open.remove(&coord) {
            Some(open) => open,
            None => {
                let mut encoder = self.encoders[usize::from(is_full)].take();
                background.begin(&mut encoder, [columns.end - columns.start, rows.end - rows.start], tile)?;
                OpenTile { encoder, is_blank: background.skips() }
            }
        };
        let strip_rows = strip.rows();
        let common = rows.start.max(strip_rows.start)..rows.end.min(strip_rows.end);
        match strip {
            Strip::Blocks(blocks) => {
                for pieces in blocks.mcus(&common) {
                    let of_tile = pieces.iter().filter(|piece| blocks.is_in(piece, &columns));
                    encoder.mcus(of_tile.flat_map(|piece| piece.runs()));
                }
            }
            Strip::Rows(strip) if self.encoding.layout == Layout::YCbCr420 => {
                let first = common.start - strip_rows.start;
                let pairs = strip.pairs(level).skip(first as usize / 2);
                let pairs = fetched_ahead(pairs, ROWS_AHEAD / 2, |pair| fetch_pair(pair, &columns));
                let rows = pairs.flat_map(|pair| [(pair, false), (pair, true)]).skip(first as usize % 2);
                for (pair, is_lower) in rows.take(common.len()) {
                    encoder.ycbcr420_row(&pair, is_lower, &columns);
                }
            }
            Strip::Rows(strip) => {
                let channels = self.encoding.layout.channels();
                let bytes = columns.start as usize * channels..columns.end as usize * channels;
                let rows =
                    strip.pixels_of(&common).chunks_exact(level.row_bytes).map(|row| &row[bytes.clone()]);
                let rows = fetched_ahead(rows, ROWS_AHEAD, |row| fetch(row));
                if background.is_used() {
                    for row in rows {
                        is_blank &= background.row(&mut encoder, row, tile)?;
                    }
                } else {
                    for row in rows {
                        encoder.row(row)?;
                    }
                }
            }
        }
        if common.end < rows.end {
            self.open.insert(coord, OpenTile { encoder, is_blank });
            return Ok(());
        }
        background.end(&mut encoder, rows.end - rows.start, tile)?;
        encoder.finish(|bytes| if is_blank { Ok(()) } else { self.output.tile(coord, bytes) })?;
        self.encoders[usize::from(is_full)].spare.push(encoder);
        Ok(())
    }

    fn is_full(&self, level: &Level) -> bool {
        self.index(level.number) + 1 == self.levels.len()
    }

    /// Returns the place of a level in the list.
    fn index(&self, number: u32) -> usize {
        let first = self.levels.first().map_or(0, |level| level.number);
        number.saturating_sub(first) as usize
    }
}
