//! The coefficients of 32 blocks side by side: a row for each place in the order of the file, with that coefficient of
//! all blocks. Transforms load whole rows as vectors, so no block is ever transposed.

/// Blocks of a group.
pub const BLOCKS: usize = 32;
/// The row that takes what a decoder stores behind a block's last coefficient.
const SPILL: usize = 64;

/// The coefficients of 32 blocks.
#[repr(align(64))]
#[derive(Clone)]
pub struct Group {
    rows: [[i16; BLOCKS]; SPILL + 1],
    /// Rows from this one on are zero.
    end: usize,
}

impl Default for Group {
    fn default() -> Self {
        Self { rows: [[0; BLOCKS]; SPILL + 1], end: 0 }
    }
}

impl Group {
    /// Sets all coefficients to zero.
    #[inline]
    pub fn clear(&mut self) {
        self.rows[..self.end].fill([0; BLOCKS]);
        self.end = 0;
    }

    /// Sets the coefficients of a block to zero.
    pub fn clear_block(&mut self, block: usize) {
        self.rows.iter_mut().for_each(|row| row[block % BLOCKS] = 0);
    }

    /// Stores a coefficient. One at a place past the 64th is dropped.
    #[inline(always)]
    pub fn set(&mut self, block: usize, place: usize, value: i16) {
        self.rows[place.min(SPILL)][block % BLOCKS] = value;
    }

    /// Returns a coefficient at a place below 64.
    #[must_use]
    pub fn get(&self, block: usize, place: usize) -> i16 {
        self.rows[place % 64][block % BLOCKS]
    }

    /// Notes that a block has coefficients up to this place, and none behind it.
    #[inline(always)]
    pub fn reach(&mut self, place: usize) {
        self.end = self.end.max(place.min(63) + 1);
    }

    /// Returns the rows, of which those from [`Self::end`] on are zero.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> &[[i16; BLOCKS]; 64] {
        self.rows.first_chunk().unwrap_or(&[[0; BLOCKS]; 64])
    }

    /// Returns the first coefficient of each block.
    #[inline(always)]
    pub fn first_mut(&mut self) -> &mut [i16; BLOCKS] {
        &mut self.rows[0]
    }

    /// Returns the number of rows before the last ones that are zero.
    #[inline(always)]
    #[must_use]
    pub fn end(&self) -> usize {
        self.end
    }
}
