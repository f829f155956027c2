//! The inverse wavelet transform, row by row: each level takes rows from the one below and from its bands, and keeps as
//! many as its lifting steps reach.
//!
//! Source: ITU-T T.800, F.3 (2D_SR), with the columns' transform interleaved with the rows'. The symmetric extension of
//! F.3.7 is the neighbour on the other side.

use std::collections::VecDeque;

use super::band_rows::BandRows;
use super::geometry::Area;
use super::lifting::Sample;

/// A component that is read row by row.
pub struct Component<T> {
    lowest: BandRows,
    levels: Vec<Level<T>>,
}

/// What makes a resolution of the one below and three bands. Its sides have two samples at least.
pub struct Level<T> {
    area: Area,
    /// The bands that are high across, down, and both.
    bands: [BandRows; 3],
    /// Rows that are transformed across, and down as far as they can be.
    rows: VecDeque<Vec<T>>,
    spare: Vec<Vec<T>>,
    /// The first row in memory, the first one that lacks a step, the next one that comes.
    first: u32,
    unready: u32,
    next: u32,
    /// A row's low and high samples, with one more on each side.
    low: Vec<T>,
    high: Vec<T>,
}

impl<T: Sample> Component<T> {
    pub fn new(lowest: BandRows, levels: impl Iterator<Item = (Area, [BandRows; 3])>) -> Self {
        Self { lowest, levels: levels.map(|(area, bands)| Level::new(area, bands)).collect() }
    }

    /// All bands.
    pub fn bands(&mut self) -> impl Iterator<Item = &mut BandRows> {
        self.levels.iter_mut().flat_map(|level| &mut level.bands).chain([&mut self.lowest])
    }

    /// The next row, if the code blocks that it needs have been decoded.
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

    /// Copies the next row that is ready.
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

    /// Takes in the next row, unless one that it is made of is not there yet.
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

    /// Takes the last steps, behind the last row.
    fn finish(&mut self) {
        for row in self.next..self.next + T::STEPS {
            self.transform_down(row);
        }
        self.unready = self.area.end[1];
    }

    /// Transforms a row of low and one of high samples, and puts them together.
    fn transform_across(&mut self, row: &mut [T]) {
        let begins_low = self.area.start[0].is_multiple_of(2);
        let (low, high) = (self.low.len() - 2, self.high.len() - 2);
        for step in 0..T::STEPS {
            // A sample's neighbours of the other kind have its number and the one before it, or the one after it.
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
        let (first, second) = match begins_low {
            true => (&self.low[1..=low], &self.high[1..=high]),
            false => (&self.high[1..=high], &self.low[1..=low]),
        };
        let (pairs, last) = row.as_chunks_mut::<2>();
        pairs.iter_mut().zip(first).zip(second).for_each(|((pair, &first), &second)| *pair = [first, second]);
        if let ([last], Some(&sample)) = (last, first.last()) {
            *last = sample;
        }
    }

    /// Takes the steps that a new row makes possible: a step changes every other row, each later one the row above.
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
