//! The filters of a PNG's rows: each byte is stored as the difference to a prediction, from the same byte of the pixel
//! before it (a), above it (b) and above that one (c).
//!
//! Most predictions wait for the pixel before, for about twelve cycles of Paeth's. So four rows are restored side by
//! side in a vector, each two pixels behind the one above it, which then has the pixels that it needs.
//!
//! ```text
//! row 0   · · · · · · x        x: the pixels of one step, with four bytes for each
//! row 1   · · · · x
//! row 2   · · x
//! row 3   x
//! ```
//! Source: PNG Specification (Third Edition), section 9.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch, i16x16, prelude::*, u8x16, u16x16, u32x4};

/// Number of rows that are restored together.
pub const ROWS: usize = 4;
/// Distance in pixels of one of them behind the one above it.
const LAG: usize = 2;
/// Number of pixels that the last of them is behind the first.
const BEHIND: usize = LAG * (ROWS - 1);
/// Number of bytes of a row's pixel in a vector.
const LANE: usize = 4;

/// The filter of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    None,
    Sub,
    Up,
    Average,
    Paeth,
}

impl Filter {
    /// Returns the filter with this number.
    pub fn of(number: u8) -> Option<Self> {
        [Self::None, Self::Sub, Self::Up, Self::Average, Self::Paeth].get(usize::from(number)).copied()
    }

    /// Predicts a byte.
    fn predict(self, a: u8, b: u8, c: u8) -> u8 {
        match self {
            Self::None => 0,
            Self::Sub => a,
            Self::Up => b,
            Self::Average => a.midpoint(b),
            Self::Paeth => {
                let (to_a, to_b) = (b.abs_diff(c), a.abs_diff(c));
                let to_c = (2 * i16::from(c) - i16::from(a) - i16::from(b)).unsigned_abs();
                if to_a <= to_b && u16::from(to_a) <= to_c {
                    a
                } else if u16::from(to_b) <= to_c {
                    b
                } else {
                    c
                }
            }
        }
    }

    /// Returns true if a prediction takes long and waits for the pixel before.
    fn is_slow(self) -> bool {
        matches!(self, Self::Average | Self::Paeth)
    }
}

/// Restores rows below the row `above`. Each is stored behind the number of its filter, one after the other; `out` gets
/// as many without the numbers. A pixel has up to four bytes. Returns the number of rows before one whose filter is
/// unknown.
pub fn undo(stored: &[u8], pixel_bytes: usize, above: &[u8], out: &mut [u8]) -> usize {
    undo_with(Level::new(), stored, pixel_bytes, above, out)
}

fn undo_with(level: Level, stored: &[u8], pixel_bytes: usize, above: &[u8], out: &mut [u8]) -> usize {
    let row_bytes = above.len();
    let rows: Vec<(Filter, &[u8])> = stored
        .chunks_exact(row_bytes + 1)
        .map_while(|row| row.split_first().and_then(|(number, row)| Some((Filter::of(*number)?, row))))
        .collect();
    let (mut done, mut above) = (0, above);
    let mut out = &mut out[..rows.len() * row_bytes];
    while let [first, ..] = rows[done..] {
        let group: Option<[(Filter, &[u8]); ROWS]> = rows[done..].first_chunk().copied();
        let group = group.filter(|group| group.iter().any(|(filter, _)| filter.is_slow()));
        let count = if group.is_some() { ROWS } else { 1 };
        let (restored, rest) = out.split_at_mut(count * row_bytes);
        match group {
            Some(group) => {
                let all_paeth = group.iter().all(|(filter, _)| *filter == Filter::Paeth);
                dispatch!(level, simd => simd.vectorize(#[inline(always)] || match (pixel_bytes, all_paeth) {
                    (1, _) => four_rows::<1, true, _>(simd, group, above, restored),
                    (2, _) => four_rows::<2, true, _>(simd, group, above, restored),
                    (3, true) => four_rows::<3, false, _>(simd, group, above, restored),
                    (3, false) => four_rows::<3, true, _>(simd, group, above, restored),
                    (_, true) => four_rows::<4, false, _>(simd, group, above, restored),
                    (_, false) => four_rows::<4, true, _>(simd, group, above, restored),
                }));
            }
            None => match (first, pixel_bytes) {
                ((Filter::Sub, stored), 1) => add::<1>(stored, restored),
                ((Filter::Sub, stored), 2) => add::<2>(stored, restored),
                ((Filter::Sub, stored), 3) => add::<3>(stored, restored),
                ((Filter::Sub, stored), _) => add::<4>(stored, restored),
                _ => part(first, pixel_bytes, above, restored, 0..row_bytes),
            },
        }
        above = &restored[(count - 1) * row_bytes..];
        out = rest;
        done += count;
    }
    done
}

/// Adds each pixel of `N` bytes to the next one.
fn add<const N: usize>(stored: &[u8], out: &mut [u8]) {
    let mut sum = [0_u8; N];
    for (stored, out) in stored.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<N>().0) {
        sum.iter_mut().zip(stored).for_each(|(sum, byte)| *sum = sum.wrapping_add(*byte));
        *out = sum;
    }
}

/// Restores a part of a row, whose beginning is restored.
fn part(
    (filter, stored): (Filter, &[u8]),
    pixel_bytes: usize,
    above: &[u8],
    out: &mut [u8],
    range: Range<usize>,
) {
    match filter {
        Filter::None => out[range.clone()].copy_from_slice(&stored[range]),
        Filter::Up => {
            let rows = stored[range.clone()].iter().zip(&above[range.clone()]);
            out[range].iter_mut().zip(rows).for_each(|(out, (byte, above))| *out = byte.wrapping_add(*above));
        }
        _ => {
            for at in range {
                let before = at.checked_sub(pixel_bytes);
                let [a, c] = before.map_or([0, 0], |before| [out[before], above[before]]);
                out[at] = stored[at].wrapping_add(filter.predict(a, above[at], c));
            }
        }
    }
}

/// Restores four rows whose pixels have `N` bytes. `MIXED`: not all filters are Paeth's.
#[inline(always)]
fn four_rows<const N: usize, const MIXED: bool, S: Simd>(
    simd: S,
    rows: [(Filter, &[u8]); ROWS],
    above: &[u8],
    out: &mut [u8],
) {
    let row_bytes = above.len();
    let place = |row: usize, step: usize| (step - LAG * row) * N;
    // The first step with a pixel of each row, and the end of the steps whose lanes lie in each row.
    let (first, last) = (BEHIND, (row_bytes.saturating_sub(LANE) / N + 1).max(BEHIND));
    if place(0, first) + LANE > row_bytes {
        return parts(rows, N, above, out, |_| 0..row_bytes);
    }
    parts(rows, N, above, out, |row| 0..place(row, first));
    let (out0, rest) = out.split_at_mut(row_bytes);
    let (out1, rest) = rest.split_at_mut(row_bytes);
    let (out2, out3) = rest.split_at_mut(row_bytes);
    let [row0, row1, row2, row3] = rows.map(|(_, row)| row);
    let mask = |filters: &[Filter]| {
        i16x16::from_fn(simd, |lane| if filters.contains(&rows[lane / LANE].0) { -1 } else { 0 })
    };
    // Without a or without b and c, Paeth's prediction is that of other filters.
    let use_a = mask(&[Filter::Sub, Filter::Average, Filter::Paeth]);
    let use_b = mask(&[Filter::Up, Filter::Average, Filter::Paeth]);
    let use_c = mask(&[Filter::Paeth]);
    let is_average = mask(&[Filter::Average]);

    // The pixels that the two steps before have restored, and those above the last of them. Rows begin with zeros.
    let pixel = |row: &[u8], number: usize, step: usize| match step.checked_sub(LAG * number) {
        Some(pixel) => word(row, pixel * N),
        None => 0,
    };
    let restored = |step| {
        lanes(simd, [pixel(out0, 0, step), pixel(out1, 1, step), pixel(out2, 2, step), pixel(out3, 3, step)])
    };
    let mut before = [restored(first - 2), restored(first - 1)];
    let mut a = wide(before[1]);
    let mut c = wide(lanes(
        simd,
        [
            pixel(above, 0, first - 1),
            pixel(out0, 1, first - 1),
            pixel(out1, 2, first - 1),
            pixel(out2, 3, first - 1),
        ],
    ));
    for step in first..last {
        let [at0, at1, at2, at3] = [place(0, step), place(1, step), place(2, step), place(3, step)];
        let stored = wide(lanes(simd, [word(row0, at0), word(row1, at1), word(row2, at2), word(row3, at3)]));
        let top = u32x4::splat(simd, word(above, at0)).bitcast::<u8x16<S>>();
        let b = wide(top.slide::<12>(before[0]));
        let prediction = if MIXED {
            let average: i16x16<S> = (a + b) >> 1;
            let paeth = paeth(a & use_a, b & use_b & !is_average, c & use_c);
            (paeth & !is_average) | (average & is_average)
        } else {
            paeth(a, b, c)
        };
        (a, c) = ((stored + prediction) & i16x16::splat(simd, 255), b);
        let (low, high) = a.bitcast::<u16x16<S>>().split();
        before = [before[1], low.relaxed_narrow(high)];
        let bytes: [u8; ROWS * LANE] = before[1].into();
        // The bytes of a lane behind its pixel are written again.
        out0[at0..at0 + LANE].copy_from_slice(&bytes[..4]);
        out1[at1..at1 + LANE].copy_from_slice(&bytes[4..8]);
        out2[at2..at2 + LANE].copy_from_slice(&bytes[8..12]);
        out3[at3..at3 + LANE].copy_from_slice(&bytes[12..]);
    }
    parts(rows, N, above, out, |row| place(row, last)..row_bytes);
}

/// Restores a part of each row, from the first row on.
fn parts(
    rows: [(Filter, &[u8]); ROWS],
    pixel_bytes: usize,
    above: &[u8],
    out: &mut [u8],
    range: impl Fn(usize) -> Range<usize>,
) {
    for (number, row) in rows.into_iter().enumerate() {
        let (before, own) = out.split_at_mut(number * above.len());
        let above = number.checked_sub(1).map_or(above, |number| &before[number * above.len()..]);
        part(row, pixel_bytes, above, own, range(number));
    }
}

/// Returns the bytes of a lane.
#[inline(always)]
fn word(row: &[u8], at: usize) -> u32 {
    row.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[inline(always)]
fn lanes<S: Simd>(simd: S, words: [u32; ROWS]) -> u8x16<S> {
    u32x4::simd_from(simd, words).bitcast()
}

#[inline(always)]
fn wide<S: Simd>(bytes: u8x16<S>) -> i16x16<S> {
    let (low, high) = bytes.widen();
    low.combine(high).bitcast()
}

/// Paeth's prediction, in a form of few steps behind a.
///
/// Source: S. Barrett, `stb_image.h`.
#[inline(always)]
fn paeth<S: Simd>(a: i16x16<S>, b: i16x16<S>, c: i16x16<S>) -> i16x16<S> {
    let threshold = c + c + c - b - a;
    let (low, high) = (a.min(b), a.max(b));
    let low_or_c = high.simd_le(threshold).select(low, c);
    threshold.simd_le(low).select(high, low_or_c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Stores rows with these filters.
    fn stored(pixels: &[u8], pixel_bytes: usize, row_bytes: usize, filters: &[u8], above: &[u8]) -> Vec<u8> {
        let rows = [above, pixels].concat();
        let mut stored = Vec::new();
        for (row, &number) in filters.iter().enumerate() {
            stored.push(number);
            for at in 0..row_bytes {
                let byte = |rows_up: usize, bytes_before: usize| {
                    let at = at.checked_sub(bytes_before)?;
                    rows.get((row + 1 - rows_up) * row_bytes + at).copied()
                };
                let [a, b, c] =
                    [byte(0, pixel_bytes), byte(1, 0), byte(1, pixel_bytes)].map(Option::unwrap_or_default);
                let prediction = Filter::of(number).map_or(0, |filter| filter.predict(a, b, c));
                stored.push(byte(0, 0).unwrap().wrapping_sub(prediction));
            }
        }
        stored
    }

    #[test]
    fn predictions_are_those_of_the_specification() {
        for [a, b, c] in (0..1 << 12).map(|bits| [0, 4, 8].map(|shift| (bits >> shift & 15) * 17)) {
            let p = a + b - c;
            let nearest = [a, b, c].into_iter().min_by_key(|value: &i32| (p - value).abs()).unwrap();
            let [a, b, c] = [a, b, c].map(|value| value as u8);
            assert_eq!(i32::from(Filter::Paeth.predict(a, b, c)), nearest, "{a}, {b}, {c}");
        }
        assert_eq!(Filter::Average.predict(255, 254, 0), 254);
    }

    proptest! {
        #[test]
        fn rows_are_restored(
            pixel_bytes in 1..=4_usize,
            width in 1..60_usize,
            filters in proptest::collection::vec(prop_oneof![2 => Just(4_u8), 1 => 0..=4_u8], 1..13),
            random in proptest::collection::vec(any::<u8>(), 60 * 4 * 13),
            is_smooth in any::<bool>(),
        ) {
            let row_bytes = pixel_bytes * width;
            let random: Vec<_> =
                random.into_iter().map(|byte| if is_smooth { 100 + byte % 8 } else { byte }).collect();
            let (above, pixels) = random[..(filters.len() + 1) * row_bytes].split_at(row_bytes);
            let stored = stored(pixels, pixel_bytes, row_bytes, &filters, above);
            for level in [Level::baseline(), Level::new()] {
                let mut out = vec![0; pixels.len()];
                prop_assert_eq!(undo_with(level, &stored, pixel_bytes, above, &mut out), filters.len());
                prop_assert!(out == pixels);
            }
        }
    }

    #[test]
    fn an_unknown_filter_ends_the_rows() {
        let stored = [0, 1, 0, 2, 1, 3, 5, 9];
        let mut out = [0; 4];
        assert_eq!(undo(&stored, 1, &[0], &mut out), 3);
        assert_eq!(out, [1, 2, 3, 0]);
    }
}
