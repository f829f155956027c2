//! Strips: a few rows of a level in its full width, in reused buffers.
//!
//! Each level has a fixed number of buffers. If all are in use, the next strip waits until all threads have encoded and dropped
//! one. This bounds the memory and slows the decoder down if encoding is slower.

use std::io;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use edgezoom_codecs::Layout;
use edgezoom_jpeg::decoder::requantise::SampleTiler;
use edgezoom_jpeg::encoder::Piece;
use edgezoom_jpeg::ycbcr420::{self, Pair, ROWS};

use crate::geometry::Level;

/// Returns the width and height in pixels of an MCU of a picture in grey or YCbCr 4:2:0.
pub fn mcu_side(layout: Layout) -> u32 {
    if layout == Layout::YCbCr420 { ROWS } else { ROWS / 2 }
}

/// Buffers of one level.
pub struct Pool {
    free: Mutex<Vec<Vec<u8>>>,
    returned: Condvar,
    bytes: usize,
}

/// A buffer of a pool. Dropping it returns it.
struct Buffer {
    bytes: Vec<u8>,
    pool: Arc<Pool>,
}

/// Consecutive rows of a level.
#[derive(Clone)]
pub enum Strip {
    /// As pixels.
    Rows(Arc<Rows>),
    /// As blocks of a JPEG.
    Blocks(Arc<Blocks>),
}

/// Rows of a level without gaps between them, as pixels or as pairs of rows in [`ycbcr420`].
pub struct Rows {
    /// Number of the level.
    pub level: u32,
    /// First row.
    first: u32,
    /// Number of rows that fit.
    capacity: u32,
    /// Number of rows that it holds.
    filled: u32,
    row_bytes: usize,
    buffer: Buffer,
}

/// Rows of blocks, quantised for tiles.
pub struct Blocks {
    /// Number of the level.
    pub level: u32,
    /// Width and height of an MCU in pixels.
    mcu_side: u32,
    /// First row of pixels.
    first: u32,
    /// Number of rows of pixels that it holds.
    filled: u32,
    rows: Vec<Vec<Arc<Piece>>>,
    /// Limits the number of strips.
    _buffer: Buffer,
}

impl Strip {
    /// Returns the number of its level.
    pub fn level(&self) -> u32 {
        match self {
            Self::Rows(rows) => rows.level,
            Self::Blocks(blocks) => blocks.level,
        }
    }

    /// Returns the rows that it holds, by their positions in the level.
    pub fn rows(&self) -> Range<u32> {
        match self {
            Self::Rows(rows) => rows.rows(),
            Self::Blocks(blocks) => blocks.rows(),
        }
    }
}

impl Pool {
    /// Makes a pool of `count` buffers of `bytes` bytes. A buffer is allocated when it is first used.
    pub fn new(count: usize, bytes: usize) -> Arc<Self> {
        let free = Mutex::new(vec![Vec::new(); count]);
        Arc::new(Self { free, returned: Condvar::new(), bytes })
    }

    /// Waits until a buffer is free.
    fn buffer(self: &Arc<Self>) -> Buffer {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = loop {
            match free.pop() {
                Some(buffer) => break buffer,
                None => free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        };
        Buffer { bytes, pool: Arc::clone(self) }
    }

    /// Returns an empty strip of pixels. Waits until a buffer is free.
    pub fn rows(self: &Arc<Self>, level: u32, first: u32, capacity: u32, row_bytes: usize) -> Rows {
        let mut buffer = self.buffer();
        buffer.bytes.resize(self.bytes, 0);
        Rows { level, first, capacity, filled: 0, row_bytes, buffer }
    }

    /// Returns an empty strip of blocks. Waits until a buffer is free.
    pub fn blocks(self: &Arc<Self>, level: u32, first: u32, mcu_side: u32) -> Blocks {
        Blocks { level, mcu_side, first, filled: 0, rows: Vec::new(), _buffer: self.buffer() }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = mem::take(&mut self.bytes);
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        self.pool.returned.notify_one();
    }
}

impl Blocks {
    /// Adds a row of MCUs, which has this number of rows of pixels.
    pub fn push(&mut self, rows: u32, pieces: Vec<Piece>) {
        self.rows.push(pieces.into_iter().map(Arc::new).collect());
        self.filled += rows;
    }

    /// Returns the rows of pixels that it holds, by their positions in the level.
    pub fn rows(&self) -> Range<u32> {
        self.first..self.first + self.filled
    }

    /// Returns the rows of MCUs at these rows of pixels, which begin with an MCU.
    pub fn mcus(&self, pixels: &Range<u32>) -> &[Vec<Arc<Piece>>] {
        let row = |pixel: u32| ((pixel - self.first).div_ceil(self.mcu_side) as usize).min(self.rows.len());
        &self.rows[row(pixels.start)..row(pixels.end)]
    }

    /// Returns true if a piece has blocks at these columns of pixels.
    pub fn is_in(&self, piece: &Piece, pixels: &Range<u32>) -> bool {
        pixels.contains(&(piece.mcus.start * self.mcu_side))
    }
}

impl Rows {
    /// Marks the next `rows` rows as filled and returns their bytes for writing. If `room`, also in rows, is larger, the slice
    /// is longer: pairs are written as a whole, past the last row.
    pub fn extend(&mut self, rows: u32, room: u32) -> &mut [u8] {
        let start = self.filled as usize * self.row_bytes;
        self.filled += rows;
        &mut self.buffer.bytes[start..start + room.max(rows) as usize * self.row_bytes]
    }

    /// Makes blocks of its pixels, whose rows begin with an MCU.
    pub fn to_blocks(&self, level: &Level, layout: Layout, tiler: &mut SampleTiler) -> Blocks {
        let mcu_side = mcu_side(layout);
        let mut blocks = self.buffer.pool.blocks(self.level, self.first, mcu_side);
        let planes: [Vec<&[u8]>; 3] = match layout {
            Layout::YCbCr420 => [
                self.pairs(level).flat_map(|pair| pair.luma).collect(),
                self.pairs(level).map(|pair| pair.chroma[0]).collect(),
                self.pairs(level).map(|pair| pair.chroma[1]).collect(),
            ],
            _ => {
                let rows = self.pixels_of(&self.rows()).chunks_exact(level.row_bytes);
                [rows.collect(), Vec::new(), Vec::new()]
            }
        };
        for first in (0..self.filled).step_by(mcu_side as usize) {
            let pieces = tiler.pieces(|component, row| {
                let above = first as usize / if component == 0 { 1 } else { 2 };
                let rows = &planes[component];
                rows.get(above + row).or(rows.last()).copied().unwrap_or_default()
            });
            blocks.push(mcu_side.min(self.filled - first), pieces);
        }
        blocks
    }

    /// Takes back the last rows.
    pub fn retract(&mut self, rows: u32) {
        self.filled -= rows;
    }

    /// Returns the rows that it holds, by their positions in the level.
    pub fn rows(&self) -> Range<u32> {
        self.first..self.first + self.filled
    }

    /// Returns true if no other row fits.
    pub fn is_full(&self) -> bool {
        self.filled == self.capacity
    }

    /// Returns its pairs of rows, if the layout is `YCbCr420`. A pair at the level's edge may have only one row of pixels, which
    /// is returned twice.
    pub fn pairs(&self, level: &Level) -> impl Iterator<Item = Pair<'_>> + Clone {
        let pixels = &self.buffer.bytes[..self.filled.next_multiple_of(2) as usize * self.row_bytes];
        let (lead, end) = (level.rows.lead, self.first + self.filled);
        let pairs = ycbcr420::pairs(pixels, level.columns.positions());
        (self.first..).step_by(2).zip(pairs).map(move |(row, pair)| {
            let [upper, lower] = pair.luma;
            let luma = match (row < lead, row + 1 < end) {
                (false, true) => [upper, lower],
                (true, _) => [lower; 2],
                (_, false) => [upper; 2],
            };
            Pair { luma, ..pair }
        })
    }

    /// Calls `take` with the pixels of each row, without the lead. Rows of planes have luma, Cb and Cr for each pixel.
    pub fn for_each_row(
        &self,
        layout: Layout,
        level: &Level,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if layout != Layout::YCbCr420 {
            return self.pixels_of(&self.rows()).chunks_exact(level.row_bytes).try_for_each(take);
        }
        let lead = level.columns.lead as usize;
        let mut pixels = vec![0; 3 * level.columns.side as usize];
        let rows = self
            .pairs(level)
            .flat_map(|Pair { luma: [upper, lower], chroma }| [(upper, chroma), (lower, chroma)]);
        // The strip may have only one row of a pair: the upper row is the lead, or the lower one lies past the end.
        let skipped = level.rows.lead.saturating_sub(self.first) as usize;
        for (luma, [blue, red]) in rows.take(self.filled as usize).skip(skipped) {
            for (at, pixel) in pixels.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let at = at + lead;
                *pixel = [luma[at], blue[at / 2], red[at / 2]];
            }
            take(&pixels)?;
        }
        Ok(())
    }

    /// Returns the pixels of some rows, by their positions in the level.
    pub fn pixels_of(&self, rows: &Range<u32>) -> &[u8] {
        let offset = |row: u32| (row - self.first) as usize * self.row_bytes;
        &self.buffer.bytes[offset(rows.start)..offset(rows.end)]
    }
}
