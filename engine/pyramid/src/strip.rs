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

/// Consecutive rows of a level without gaps between them, as pixels, as pairs of rows in [`ycbcr420`], or as blocks of a JPEG.
/// Dropping a strip returns its buffer to the pool.
pub struct Strip {
    /// Number of the level.
    pub level: u32,
    /// First row.
    first: u32,
    /// Number of rows that fit.
    capacity: u32,
    /// Number of rows that it holds.
    filled: u32,
    row_bytes: usize,
    pixels: Vec<u8>,
    blocks: Option<Blocks>,
    pool: Arc<Pool>,
}

/// Rows of blocks, quantised for tiles.
pub struct Blocks {
    /// Width and height of an MCU in pixels.
    pub mcu_side: u32,
    /// First row of pixels.
    first: u32,
    rows: Vec<Vec<Arc<Piece>>>,
}

impl Blocks {
    /// Returns the rows of MCUs at these rows of pixels, which begin with an MCU.
    pub fn rows(&self, pixels: &Range<u32>) -> &[Vec<Arc<Piece>>] {
        let row = |pixel: u32| ((pixel - self.first).div_ceil(self.mcu_side) as usize).min(self.rows.len());
        &self.rows[row(pixels.start)..row(pixels.end)]
    }

    /// Returns true if a piece has blocks at these columns of pixels.
    pub fn is_in(&self, piece: &Piece, pixels: &Range<u32>) -> bool {
        pixels.contains(&(piece.mcus.start * self.mcu_side))
    }
}

impl Pool {
    /// Makes a pool of `count` buffers of `bytes` bytes. A buffer is allocated when it is first used.
    pub fn new(count: usize, bytes: usize) -> Arc<Self> {
        let free = Mutex::new(vec![Vec::new(); count]);
        Arc::new(Self { free, returned: Condvar::new(), bytes })
    }

    /// Returns an empty strip. Waits until a buffer is free.
    pub fn strip(self: &Arc<Self>, level: u32, first: u32, capacity: u32, row_bytes: usize) -> Strip {
        let mut strip = self.strip_of_blocks(level, first, 1);
        strip.pixels.resize(self.bytes, 0);
        (strip.capacity, strip.row_bytes, strip.blocks) = (capacity, row_bytes, None);
        strip
    }

    /// Returns an empty strip of blocks, which has no pixels. Waits until a buffer is free, which limits the number of strips.
    pub fn strip_of_blocks(self: &Arc<Self>, level: u32, first: u32, mcu_side: u32) -> Strip {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let pixels = loop {
            match free.pop() {
                Some(buffer) => break buffer,
                None => free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(free);
        let blocks = Some(Blocks { mcu_side, first, rows: Vec::new() });
        Strip { level, first, capacity: 0, filled: 0, row_bytes: 0, pixels, blocks, pool: Arc::clone(self) }
    }
}

impl Strip {
    /// Marks the next `rows` rows as filled and returns their bytes for writing. If `room`, also in rows, is larger, the slice
    /// is longer: pairs are written as a whole, past the last row.
    pub fn extend(&mut self, rows: u32, room: u32) -> &mut [u8] {
        let start = self.filled as usize * self.row_bytes;
        self.filled += rows;
        &mut self.pixels[start..start + room.max(rows) as usize * self.row_bytes]
    }

    /// Adds a row of MCUs, which has this number of rows of pixels.
    pub fn push_blocks(&mut self, rows: u32, pieces: Vec<Piece>) {
        if let Some(blocks) = &mut self.blocks {
            blocks.rows.push(pieces.into_iter().map(Arc::new).collect());
            self.filled += rows;
        }
    }

    /// Makes blocks of its pixels, whose rows begin with an MCU.
    pub fn to_blocks(&self, level: &Level, layout: Layout, tiler: &mut SampleTiler) -> Self {
        let mcu_side = mcu_side(layout);
        let mut strip = self.pool.strip_of_blocks(self.level, self.first, mcu_side);
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
            strip.push_blocks(mcu_side.min(self.filled - first), pieces);
        }
        strip
    }

    /// Takes back the last rows.
    pub fn retract(&mut self, rows: u32) {
        self.filled -= rows;
    }

    /// Returns its blocks, if it has blocks instead of pixels.
    pub fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_ref()
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
        let pixels = &self.pixels[..self.filled.next_multiple_of(2) as usize * self.row_bytes];
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
        &self.pixels[offset(rows.start)..offset(rows.end)]
    }
}

impl Drop for Strip {
    fn drop(&mut self) {
        let buffer = mem::take(&mut self.pixels);
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        self.pool.returned.notify_one();
    }
}
