//! The rows of a band: those of one row of code blocks are in memory.

use super::geometry::Band;
use super::lifting::Sample;

/// A band that is read row by row.
pub struct BandRows {
    pub band: Band,
    /// Where its code blocks are found: component, resolution, band.
    pub place: [usize; 3],
    /// Its bit planes, and the size of its steps.
    pub planes: u32,
    step: f32,
    /// The next row of code blocks.
    next_blocks: u32,
    /// The row after the last one that is in memory, and the next one that is taken.
    bottom: u32,
    next: u32,
    top: u32,
    /// The code blocks in memory. One without a coefficient is empty.
    blocks: Vec<Vec<i32>>,
}

impl BandRows {
    pub fn new(band: Band, place: [usize; 3], planes: u32, step: f32) -> Self {
        let top = band.area.start[1];
        Self { band, place, planes, step, next_blocks: 0, bottom: top, next: top, top, blocks: Vec::new() }
    }

    /// Whether the next row is in memory.
    pub fn has_next(&self) -> bool {
        self.next < self.bottom || self.band.area.width() == 0
    }

    /// The row of code blocks that has to be decoded next, if no row in memory is left to be taken.
    pub fn wanted(&self) -> Option<u32> {
        let is_left = self.next >= self.bottom && self.next_blocks < self.band.blocks[1];
        is_left.then_some(self.next_blocks)
    }

    /// Takes a row of code blocks.
    pub fn put(&mut self, blocks: Vec<Vec<i32>>) {
        (self.top, self.bottom) = self.band.range(1, self.next_blocks);
        self.next_blocks += 1;
        self.blocks = blocks;
    }

    /// Frees the code blocks when all their rows have been taken.
    pub fn free(&mut self) {
        if self.next >= self.bottom {
            self.blocks = Vec::new();
        }
    }

    /// Copies the next row.
    pub fn take<T: Sample>(&mut self, out: &mut [T]) {
        let row = self.next.saturating_sub(self.top) as usize;
        self.next += 1;
        let mut rest = out;
        for (column, block) in (0..self.band.blocks[0]).zip(&self.blocks) {
            let (left, right) = self.band.range(0, column);
            let width = ((right - left) as usize).min(rest.len());
            let (to, later) = rest.split_at_mut(width);
            match block.get(row * width..(row + 1) * width) {
                Some(values) => {
                    let values = to.iter_mut().zip(values);
                    values.for_each(|(to, &value)| *to = T::of_coefficient(value, self.step));
                }
                None => to.fill(T::default()),
            }
            rest = later;
        }
    }
}
