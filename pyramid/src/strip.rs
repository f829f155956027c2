//! RowReader of a level's rows, in buffers that are used again. There are only so many buffers for each level: whoever wants
//! another one waits until a strip is done with. That is what bounds the memory, and what holds the decoder back when
//! encoding is slower.

use std::mem;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use edgezoom_codecs::ycbcr420::{self, Pair};

/// The buffers of one level.
pub struct Pool {
    free: Mutex<Vec<Vec<u8>>>,
    returned: Condvar,
    bytes: usize,
}

/// Some rows of a level, one after the other without gaps, or in planes. Its buffer returns to the pool when it is dropped.
pub struct Strip {
    /// The level's number.
    pub level: u32,
    /// The first row.
    first: u32,
    /// How many rows it can hold.
    capacity: u32,
    /// How many rows it holds.
    filled: u32,
    row_bytes: usize,
    pixels: Vec<u8>,
    pool: Arc<Pool>,
}

impl Pool {
    /// A pool of `count` buffers of `bytes` each, that are allocated when first used.
    pub fn new(count: usize, bytes: usize) -> Arc<Self> {
        let free = Mutex::new(vec![Vec::new(); count]);
        Arc::new(Self { free, returned: Condvar::new(), bytes })
    }

    /// An empty strip of the pool, as soon as one is free.
    pub fn strip(self: &Arc<Self>, level: u32, first: u32, capacity: u32, row_bytes: usize) -> Strip {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pixels = loop {
            match free.pop() {
                Some(buffer) => break buffer,
                None => free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(free);
        pixels.resize(self.bytes, 0);
        Strip { level, first, capacity, filled: 0, row_bytes, pixels, pool: Arc::clone(self) }
    }
}

impl Strip {
    /// Room for `rows` more rows, which count as filled from now on, and behind them for as many as make `room` in all.
    pub fn extend(&mut self, rows: u32, room: u32) -> &mut [u8] {
        let start = self.filled as usize * self.row_bytes;
        self.filled += rows;
        &mut self.pixels[start..start + room.max(rows) as usize * self.row_bytes]
    }

    /// The rows it holds, by their numbers in the level.
    pub fn rows(&self) -> Range<u32> {
        self.first..self.first + self.filled
    }

    /// Whether there is no room for another row.
    pub fn is_full(&self) -> bool {
        self.filled == self.capacity
    }

    /// The pairs of rows that it holds, where they are planes of this width.
    pub fn pairs(&self, width: u32) -> impl Iterator<Item = Pair<'_>> {
        ycbcr420::pairs(&self.pixels[..self.filled.next_multiple_of(2) as usize * self.row_bytes], width)
    }

    /// The pixels of some of its rows.
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
