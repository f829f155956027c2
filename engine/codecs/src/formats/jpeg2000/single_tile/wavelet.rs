//! The inverse wavelet transform, row by row: each level takes rows from the level below and from its three bands, and
//! keeps only the rows that its lifting steps reach.
//!
//! Source: ITU-T T.800, F.3 (2D_SR), with the vertical steps interleaved with the horizontal ones. The symmetric
//! extension of F.3.7 amounts to using the neighbour on the other side.

use std::collections::VecDeque;

use super::geometry::{Area, Band};

/// A component that is synthesised row by row.
pub struct Component<T> {
    lowest: BandRows,
    levels: Vec<Level<T>>,
}

/// A level of the transform: makes a resolution from the one below and three bands. Its sides have at least two
/// samples.
pub struct Level<T> {
    area: Area,
    /// HL, LH, HH.
    bands: [BandRows; 3],
    /// Rows that are transformed horizontally, and vertically as far as possible.
    rows: VecDeque<Vec<T>>,
    spare: Vec<Vec<T>>,
    /// The first row in memory.
    first: u32,
    /// The first row that lacks a lifting step.
    unready: u32,
    /// The next row to come.
    next: u32,
    /// A row's low and high samples, padded by one at both ends.
    low: Vec<T>,
    high: Vec<T>,
}

impl<T: Sample> Component<T> {
    pub fn new(lowest: BandRows, levels: impl Iterator<Item = (Area, [BandRows; 3])>) -> Self {
        Self { lowest, levels: levels.map(|(area, bands)| Level::new(area, bands)).collect() }
    }

    /// Returns all bands.
    pub fn bands(&mut self) -> impl Iterator<Item = &mut BandRows> {
        self.levels.iter_mut().flat_map(|level| &mut level.bands).chain([&mut self.lowest])
    }

    /// Writes the next row. Returns false if code blocks have to be decoded first.
    pub fn next_row(&mut self, out: &mut [T]) -> bool {
        next_row(&mut self.levels, &mut self.lowest, out)
    }
}

fn next_row<T: Sample>(levels: &mut [Level<T>], lowest: &mut BandRows, out: &mut [T]) -> bool {
    let Some((level, below)) = levels.split_last_mut() else {
        let has_next = lowest.has_next();
        if has_next {
            lowest.take(out);
        }
        return has_next;
    };
    while !level.take(out) {
        if level.next < level.area.end[1] {
            if !level.add(&mut |low| next_row(below, lowest, low)) {
                return false;
            }
        } else {
            level.finish();
        }
    }
    true
}

impl<T: Sample> Level<T> {
    fn new(area: Area, bands: [BandRows; 3]) -> Self {
        let [start, end] = [area.start[0], area.end[0]];
        let low = end.div_ceil(2) - start.div_ceil(2);
        let high = end / 2 - start / 2;
        let padded = |length: u32| vec![T::default(); length as usize + 2];
        Self {
            area,
            bands,
            rows: VecDeque::new(),
            spare: Vec::new(),
            first: area.start[1],
            unready: area.start[1],
            next: area.start[1],
            low: padded(low),
            high: padded(high),
        }
    }

    /// Copies the next row, if it is ready.
    fn take(&mut self, out: &mut [T]) -> bool {
        if self.first >= self.unready {
            return false;
        }
        let Some(row) = self.rows.pop_front() else { return false };
        out.iter_mut().zip(&row).for_each(|(to, &from)| *to = from);
        self.spare.push(row);
        self.first += 1;
        true
    }

    /// Adds a row, unless a row that it is made from is missing.
    fn add(&mut self, below: &mut dyn FnMut(&mut [T]) -> bool) -> bool {
        let [across, down, both] = &mut self.bands;
        let (low, high) = (self.low.len() - 1, self.high.len() - 1);
        let is_low = self.next.is_multiple_of(2);
        if is_low {
            if !across.has_next() || !below(&mut self.low[1..low]) {
                return false;
            }
            T::scale_low(&mut self.low[1..low]);
            across.take(&mut self.high[1..high]);
        } else {
            if !down.has_next() || !both.has_next() {
                return false;
            }
            down.take(&mut self.low[1..low]);
            both.take(&mut self.high[1..high]);
        }
        let width = self.area.width() as usize;
        let mut row = self.spare.pop().unwrap_or_else(|| vec![T::default(); width]);
        self.transform_across(&mut row);
        self.rows.push_back(row);
        self.transform_down(self.next);
        self.next += 1;
        true
    }

    /// Does the remaining steps after the last row.
    fn finish(&mut self) {
        for row in self.next..self.next + T::STEPS {
            self.transform_down(row);
        }
        self.unready = self.area.end[1];
    }

    /// Transforms a row of low and one of high samples horizontally and interleaves them.
    fn transform_across(&mut self, row: &mut [T]) {
        let begins_low = self.area.start[0].is_multiple_of(2);
        let (low, high) = (self.low.len() - 2, self.high.len() - 2);
        for step in 0..T::STEPS {
            // The neighbours have the sample's own number and the number before, or the number after.
            let (samples, others, is_first) = match step % 2 {
                0 => (&mut self.low[1..=low], &mut self.high, begins_low),
                _ => (&mut self.high[1..=high], &mut self.low, !begins_low),
            };
            let count = others.len() - 2;
            others[0] = others[1];
            others[count + 1] = others[count];
            let before = usize::from(!is_first);
            T::lift(step, samples, &others[before..], &others[before + 1..]);
        }
        let [low, high] = [&self.low[1..=low], &self.high[1..=high]];
        let [first, second] = if begins_low { [low, high] } else { [high, low] };
        let (pairs, last) = row.as_chunks_mut::<2>();
        pairs.iter_mut().zip(first).zip(second).for_each(|((pair, &first), &second)| *pair = [first, second]);
        if let ([last], Some(&sample)) = (last, first.last()) {
            *last = sample;
        }
    }

    /// Does the vertical steps that a new row makes possible. A step changes every other row; each further step
    /// concerns the row above.
    fn transform_down(&mut self, new: u32) {
        let (start, end) = (self.area.start[1], self.area.end[1]);
        if new.is_multiple_of(2) {
            return;
        }
        for step in 0..T::STEPS {
            let Some(row) = new.checked_sub(1 + step).filter(|row| (start..end).contains(row)) else {
                continue;
            };
            let above = if row > start { row - 1 } else { row + 1 };
            let below = if row + 1 < end { row + 1 } else { row - 1 };
            let index = |row: u32| row.checked_sub(self.first).map(|index| index as usize);
            let (Some(row), Some(above), Some(below)) = (index(row), index(above), index(below)) else {
                continue;
            };
            let Some(mut samples) = self.rows.get_mut(row).map(std::mem::take) else { continue };
            if let (Some(above), Some(below)) = (self.rows.get(above), self.rows.get(below)) {
                T::lift(step, &mut samples, above, below);
            }
            self.rows[row] = samples;
        }
        self.unready = (new + 1).saturating_sub(T::STEPS).clamp(start, end);
    }
}

/// A sample of a wavelet transform: `i32` for the 5/3 wavelet (ITU-T T.800, F.3.8.1), `f32` for the 9/7 wavelet
/// (F.3.8.2, table F.4). Both are lifting steps: each changes every other sample by its two neighbours.
pub trait Sample: Copy + Default + Send + 'static {
    /// Number of steps of the inverse transform. Steps 0 and 2 change low samples, 1 and 3 high ones.
    const STEPS: u32;

    /// Returns the sample for twice a coefficient. `step` is the step size of its band.
    fn of_coefficient(twice: i32, step: f32) -> Self;

    /// Returns the factor of a band's step size that stands for the scaling of its samples. In HL and LH the scales of
    /// low and high samples cancel out.
    fn band_scale(band: u8) -> f32;

    /// Scales the samples of the level below, which are low in both directions.
    fn scale_low(samples: &mut [Self]);

    /// Applies a lifting step to each sample, with the samples before and after it.
    fn lift(step: u32, samples: &mut [Self], before: &[Self], after: &[Self]);

    /// Converts luma and chroma to red, green and blue (annex G).
    fn colours(planes: [&mut [Self]; 3]);

    fn to_f32(self) -> f32;
}

/// Calls a function for each sample with its neighbours.
#[inline(always)]
fn for_each<T: Copy>(samples: &mut [T], before: &[T], after: &[T], change: impl Fn(&mut T, T, T)) {
    for ((sample, &before), &after) in samples.iter_mut().zip(before).zip(after) {
        change(sample, before, after);
    }
}

impl Sample for i32 {
    const STEPS: u32 = 2;

    fn of_coefficient(twice: i32, _: f32) -> Self {
        twice / 2
    }

    fn band_scale(_: u8) -> f32 {
        1.0
    }

    fn scale_low(_: &mut [Self]) {}

    fn lift(step: u32, samples: &mut [Self], before: &[Self], after: &[Self]) {
        match step {
            0 => for_each(samples, before, after, |sample, before, after| {
                *sample = sample.wrapping_sub(before.wrapping_add(after).wrapping_add(2) >> 2);
            }),
            _ => for_each(samples, before, after, |sample, before, after| {
                *sample = sample.wrapping_add(before.wrapping_add(after) >> 1);
            }),
        }
    }

    fn colours([red, green, blue]: [&mut [Self]; 3]) {
        for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
            let (luma, first, second) = (*red, *green, *blue);
            *green = luma.wrapping_sub(first.wrapping_add(second) >> 2);
            *red = second.wrapping_add(*green);
            *blue = first.wrapping_add(*green);
        }
    }

    fn to_f32(self) -> f32 {
        self as f32
    }
}

/// The scale of low samples. High samples are scaled by its inverse.
const SCALE: f32 = 1.230_174_1;
/// The factors of the steps, beginning with the last step of the forward transform.
const FACTORS: [f32; 4] = [-0.443_506_85, -0.882_911_1, 0.052_980_12, 1.586_134_3];

impl Sample for f32 {
    const STEPS: u32 = 4;

    fn of_coefficient(twice: i32, step: f32) -> Self {
        twice as f32 * 0.5 * step
    }

    fn band_scale(band: u8) -> f32 {
        if band == 3 { 1.0 / (SCALE * SCALE) } else { 1.0 }
    }

    fn scale_low(samples: &mut [Self]) {
        samples.iter_mut().for_each(|sample| *sample *= SCALE * SCALE);
    }

    fn lift(step: u32, samples: &mut [Self], before: &[Self], after: &[Self]) {
        let factor = FACTORS[step as usize & 3];
        for_each(samples, before, after, |sample, before, after| *sample += factor * (before + after));
    }

    fn colours([red, green, blue]: [&mut [Self]; 3]) {
        for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
            let (luma, first, second) = (*red, *green, *blue);
            *red = luma + 1.402 * second;
            *green = luma - 0.344_13 * first - 0.714_14 * second;
            *blue = luma + 1.772 * first;
        }
    }

    fn to_f32(self) -> f32 {
        self
    }
}

/// A band that is read row by row. The code blocks of one row of them are in memory.
pub struct BandRows {
    pub band: Band,
    /// Component, resolution and band number of its code blocks.
    pub place: [usize; 3],
    /// Number of bit planes.
    pub planes: u32,
    /// Step size.
    step: f32,
    /// The next row of code blocks to decode.
    next_blocks: u32,
    /// The rows of the code blocks in memory: the first, and the one after the last.
    top: u32,
    bottom: u32,
    /// The next row to take.
    next: u32,
    /// The code blocks in memory. A block without coefficients is empty.
    blocks: Vec<Vec<i32>>,
}

impl BandRows {
    pub fn new(band: Band, place: [usize; 3], planes: u32, step: f32) -> Self {
        let top = band.area.start[1];
        Self { band, place, planes, step, next_blocks: 0, bottom: top, next: top, top, blocks: Vec::new() }
    }

    /// Returns the number of columns of code blocks.
    pub fn columns(&self) -> u32 {
        self.band.blocks.count[0]
    }

    /// Returns true if the next row is in memory.
    pub fn has_next(&self) -> bool {
        self.next < self.bottom || self.band.area.width() == 0
    }

    /// Returns the row of code blocks to decode next, if all rows in memory are taken.
    pub fn wanted(&self) -> Option<u32> {
        let is_left = self.next >= self.bottom && self.next_blocks < self.band.blocks.count[1];
        is_left.then_some(self.next_blocks)
    }

    /// Takes over the next row of decoded code blocks.
    pub fn put(&mut self, blocks: Vec<Vec<i32>>) {
        (self.top, self.bottom) = self.band.range(1, self.next_blocks);
        self.next_blocks += 1;
        self.blocks = blocks;
    }

    /// Frees the code blocks if all their rows are taken.
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
        for (column, block) in (0..self.columns()).zip(&self.blocks) {
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
