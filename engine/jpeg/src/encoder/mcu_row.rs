//! Collects samples until a row of MCUs is full (ITU-T T.81, section A.2.3).
//!
//! ```text
//! MCU    16×16 of luma   8×8 of Cb   8×8 of Cr      MCU row    16 rows of luma, 8 of Cb, 8 of Cr if chroma is halved,
//!        ┌─────┬─────┐   ┌─────┐     ┌─────┐                   else 8 of each,
//!        │ 8×8 │ 8×8 │   │ 8×8 │     │ 8×8 │                   each padded by its last sample,
//!        ├─────┼─────┤   └─────┘     └─────┘                   as section A.2.4 recommends
//!        │ 8×8 │ 8×8 │
//!        └─────┴─────┘
//! ```
//!
//! Rows in YCbCr 4:2:0 have halved chroma already. A file that begins at an odd column or row of them, as tiles that overlap do,
//! needs chroma samples halfway between the given ones: each is the mean of its neighbours. Upsampling the chroma as decoders do
//! and halving it again at the file's own pixels gives the same result.

use std::ops::Range;

use crate::ycbcr420::Pair;

use super::colours::{PIXELS, halve, split, to_ycbcr};
use super::transform::{Rows, SAMPLES};
use super::{Input, Sampling};
use crate::vectors::with_vectors;

/// The row of MCUs that is being filled.
pub struct McuRow {
    input: Input,
    sampling: Sampling,
    /// Width in pixels.
    width: usize,
    /// Bytes of a row of luma: whole groups of blocks.
    stride: usize,
    /// Luma, Cb and Cr, row after row. A row of halved chroma has half the stride.
    planes: [Vec<u8>; 3],
    /// Cb and Cr of an upper and a lower row, before they are halved or mixed.
    chroma: [Vec<u8>; 2],
    /// Number of given chroma samples in a row of [`Input::YCbCr420`], and whether the row begins in the middle of the first.
    given_samples: (usize, bool),
    /// Number of rows of pixels added so far.
    rows: usize,
    /// Buffer for a row of three bytes a pixel, in whole vectors, if the given row is not.
    pixels: Vec<u8>,
}

impl McuRow {
    pub fn new(input: Input, sampling: Sampling) -> Self {
        Self {
            input,
            sampling,
            width: 0,
            stride: 0,
            planes: Default::default(),
            chroma: Default::default(),
            given_samples: (0, false),
            rows: 0,
            pixels: Vec::new(),
        }
    }

    /// Begins a file of this width in pixels.
    pub fn begin(&mut self, width: u32) {
        self.width = width as usize;
        self.stride = self.width.next_multiple_of(SAMPLES);
        self.rows = 0;
        let [luma, chroma, unhalved] = match self.sampling {
            Sampling::Grey => [8, 0, 0],
            Sampling::Full => [8, 8, 0],
            Sampling::Halved => [16, 4, 2],
        };
        for (plane, rows) in self.planes.iter_mut().zip([luma, chroma, chroma]) {
            plane.resize(rows * self.stride, 0);
        }
        self.chroma.iter_mut().for_each(|rows| rows.resize(unhalved * self.stride, 0));
    }

    /// Returns the width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the width in blocks of luma, counting a partial one at the edge.
    pub fn blocks_across(&self) -> usize {
        self.width.div_ceil(8)
    }

    /// Returns the number of groups of blocks in a row.
    pub fn groups(&self) -> usize {
        self.stride / SAMPLES
    }

    /// Returns the number of rows of pixels added so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns true if all rows have been added.
    pub fn is_full(&self) -> bool {
        self.rows == self.sampling.mcu_rows()
    }

    /// Begins the next row of MCUs.
    pub fn clear(&mut self) {
        self.rows = 0;
    }

    /// Adds a row of pixels.
    pub fn add_pixels(&mut self, pixels: &[u8]) {
        let Self { width, stride, rows, planes: [luma, cb, cr], chroma, .. } = self;
        let (width, stride, row) = (*width, *stride, *rows);
        let luma = &mut luma[row * stride..][..stride];
        let [cb, cr] = match (self.sampling, chroma) {
            (Sampling::Halved, [cb, cr]) => [cb, cr].map(|plane| &mut plane[row % 2 * stride..][..stride]),
            _ => [cb, cr].map(|plane| plane.chunks_exact_mut(stride).nth(row).unwrap_or_default()),
        };
        let mut planes = [luma, cb, cr];
        if self.input == Input::Grey {
            planes[0][..width].copy_from_slice(pixels);
        } else {
            let is_rgb = self.input != Input::YCbCr;
            let pixels = if self.input != Input::Rgba && width.is_multiple_of(PIXELS) {
                pixels
            } else {
                self.pixels.clear();
                match self.input {
                    Input::Rgba => {
                        self.pixels.extend(pixels.as_chunks().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]))
                    }
                    _ => self.pixels.extend_from_slice(pixels),
                }
                self.pixels.resize(3 * width.next_multiple_of(PIXELS), 0);
                &self.pixels
            };
            with_vectors!(simd => split(simd, pixels, &mut planes));
            if is_rgb {
                with_vectors!(simd => to_ycbcr(simd, &mut planes));
            }
        }
        for plane in planes.into_iter().filter(|plane| !plane.is_empty()) {
            pad_row(plane, width);
        }
        self.count_row();
    }

    /// Adds some columns of the upper or the lower row of a pair.
    pub fn add_pair(&mut self, pair: &Pair<'_>, is_lower: bool, columns: &Range<u32>) {
        let (left, right) = (columns.start as usize, columns.end as usize);
        let luma = &mut self.planes[0][self.rows * self.stride..][..self.stride];
        luma[..self.width].copy_from_slice(&pair.luma[usize::from(is_lower)][left..right]);
        pad_row(luma, self.width);
        let samples = left / 2..right.div_ceil(2);
        self.given_samples = (samples.len(), left % 2 == 1);
        for (rows, row) in self.chroma.iter_mut().zip(pair.chroma) {
            let (upper, lower) = rows.split_at_mut(self.stride);
            let to = if self.rows.is_multiple_of(2) { upper } else { lower };
            to[..samples.len()].copy_from_slice(&row[samples.clone()]);
        }
        self.count_row();
    }

    fn count_row(&mut self) {
        self.rows += 1;
        if self.sampling == Sampling::Halved && self.rows.is_multiple_of(2) {
            self.halve_chroma();
        }
    }

    /// Makes the row of halved chroma from the last two rows.
    fn halve_chroma(&mut self) {
        let (stride, width) = (self.stride, self.width);
        let row = (self.rows - 1) / 2;
        for (plane, rows) in self.planes[1..].iter_mut().zip(&self.chroma) {
            let (upper, lower) = rows.split_at(stride);
            let out = &mut plane[row * stride / 2..][..stride / 2];
            if self.input == Input::YCbCr420 {
                let (samples, is_shifted) = self.given_samples;
                let width = width.div_ceil(2);
                mix(usize::from(is_shifted), &upper[..samples], &lower[..samples], &mut out[..width]);
                pad_row(out, width);
            } else {
                with_vectors!(simd => halve(simd, upper, lower, out));
            }
        }
    }

    /// Pads the row of MCUs with its last row of samples.
    pub fn pad(&mut self) {
        let (mut stride, mut rows) = (self.stride, self.rows);
        pad_rows(&mut self.planes[0], stride, rows);
        if self.sampling == Sampling::Halved {
            if rows % 2 == 1 {
                // Repeat the last row.
                self.chroma.iter_mut().for_each(|rows| rows.copy_within(..stride, stride));
                self.halve_chroma();
            }
            stride /= 2;
            rows = rows.div_ceil(2);
        }
        self.planes[1..]
            .iter_mut()
            .filter(|plane| !plane.is_empty())
            .for_each(|plane| pad_rows(plane, stride, rows));
    }

    /// Returns a group of blocks of a plane.
    pub fn group(&self, plane: usize, row_of_blocks: usize, group: usize) -> Rows<'_> {
        let mut rows = [&[0; SAMPLES]; 8];
        let stored = self.planes[plane].chunks_exact(self.stride).skip(8 * row_of_blocks);
        for (row, stored) in rows.iter_mut().zip(stored) {
            if let Some(samples) = stored.as_chunks().0.get(group) {
                *row = samples;
            }
        }
        rows
    }

    /// Returns a group of blocks of halved chroma: one half from Cb, the other from Cr.
    pub fn chroma_group(&self, group: usize) -> [[u8; SAMPLES]; 8] {
        let mut rows = [[0; SAMPLES]; 8];
        let [_, cb, cr] = &self.planes;
        let stored = cb.chunks_exact(self.stride / 2).zip(cr.chunks_exact(self.stride / 2));
        for (row, (cb, cr)) in rows.iter_mut().zip(stored) {
            let (left, right) = row.split_at_mut(SAMPLES / 2);
            let samples = group * SAMPLES / 2..(group + 1) * SAMPLES / 2;
            left.copy_from_slice(&cb[samples.clone()]);
            right.copy_from_slice(&cr[samples]);
        }
        rows
    }
}

/// Repeats the last sample of a row.
fn pad_row(row: &mut [u8], width: usize) {
    let (samples, padding) = row.split_at_mut(width);
    padding.fill(samples.last().copied().unwrap_or_default());
}

/// Repeats the last row of a plane.
fn pad_rows(plane: &mut [u8], stride: usize, rows: usize) {
    let (filled, padding) = plane.split_at_mut(rows * stride);
    let last = &filled[filled.len() - stride..];
    padding.chunks_exact_mut(stride).for_each(|row| row.copy_from_slice(last));
}

/// Makes a row of chroma from two rows of given samples. If `shift` is 1, the row begins in the middle of the first sample.
fn mix(shift: usize, upper: &[u8], lower: &[u8], out: &mut [u8]) {
    // At an odd right edge the last sample has no right neighbour.
    let inner = out.len().min(upper.len() - shift);
    let pairs = upper[..inner].iter().zip(&upper[shift..]).zip(lower.iter().zip(&lower[shift..]));
    with_vectors!(_simd => {
        for (out, ((&a, &b), (&c, &d))) in out.iter_mut().zip(pairs) {
            *out = ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d) + 2) / 4) as u8;
        }
    });
    if inner < out.len() {
        out[inner] = (u16::from(upper[inner]) + u16::from(lower[inner])).div_ceil(2) as u8;
    }
}
