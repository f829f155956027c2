//! Collects a tile's part of planes until there is enough for the encoder.
//!
//! Tiles begin where overlap has them begin, mostly at an odd pixel: their chroma then lies between the chroma of the
//! level and is the mean of its neighbours. That is also what comes out when chroma is enlarged, as decoders do it, and
//! then made smaller again at the tile's own pixels.

use std::ops::Range;

use crate::compressor::Compressor;
use edgezoom_codecs::ycbcr420::{self, Pair, ROWS};

/// The rows of chroma in a band.
const CHROMA_ROWS: usize = ROWS as usize / 2;

/// The band of a tile that is being filled.
#[derive(Default)]
pub struct Band {
    /// The tile's width.
    width: usize,
    /// Lightness and both chromas, row after row.
    planes: [Vec<u8>; 3],
    /// The bytes of their rows.
    strides: [usize; 3],
    /// The rows that are filled.
    rows: usize,
    /// 1 where the tile's chroma lies between that of the level's columns.
    shift: usize,
    /// The level's chroma at an upper row, until the lower one has come.
    upper: [Vec<u8>; 2],
}

impl Band {
    /// Begins a tile.
    pub fn begin(&mut self, width: u32) {
        let stride = ycbcr420::stride(width);
        self.width = width as usize;
        self.strides = [stride, stride / 2, stride / 2];
        for (plane, (stride, rows)) in
            self.planes.iter_mut().zip(self.strides.iter().zip([ROWS as usize, CHROMA_ROWS, CHROMA_ROWS]))
        {
            plane.resize(stride * rows, 0);
        }
        self.rows = 0;
    }

    /// Takes a row of a level of which the tile has these columns: the upper or the lower row of a pair.
    pub fn row(&mut self, pair: &Pair<'_>, is_lower: bool, columns: &Range<u32>, to: &mut Compressor) {
        let (left, right) = (columns.start as usize, columns.end as usize);
        let stride = self.strides[0];
        let row = &mut self.planes[0][self.rows * stride..][..stride];
        let (pixels, padding) = row.split_at_mut(self.width);
        pixels.copy_from_slice(&pair.luma[usize::from(is_lower)][left..right]);
        padding.fill(pixels.last().copied().unwrap_or_default());

        self.shift = left % 2;
        let chroma = left / 2..right.div_ceil(2);
        let here = pair.chroma.map(|row| &row[chroma.clone()]);
        if self.rows.is_multiple_of(2) {
            for (upper, here) in self.upper.iter_mut().zip(here) {
                upper.clear();
                upper.extend_from_slice(here);
            }
        } else {
            self.mix(here);
        }
        self.rows += 1;
        if self.rows == ROWS as usize {
            self.flush(to);
        }
    }

    /// Completes the tile.
    pub fn finish(&mut self, to: &mut Compressor) {
        if self.rows == 0 {
            return;
        }
        if self.rows % 2 == 1 {
            let [blue, red] = self.upper.clone();
            self.mix([&blue, &red]);
        }
        let filled = [self.rows, self.rows.div_ceil(2), self.rows.div_ceil(2)];
        for ((plane, &stride), filled) in self.planes.iter_mut().zip(&self.strides).zip(filled) {
            let (filled, padding) = plane.split_at_mut(filled * stride);
            let last = &filled[filled.len() - stride..];
            padding.chunks_exact_mut(stride).for_each(|row| row.copy_from_slice(last));
        }
        self.flush(to);
    }

    /// Makes the row of chroma between the upper row and this one.
    fn mix(&mut self, lower: [&[u8]; 2]) {
        let shift = self.shift;
        let samples = self.width.div_ceil(2);
        let row = self.rows / 2;
        for ((plane, upper), lower) in self.planes[1..].iter_mut().zip(&self.upper).zip(lower) {
            let stride = self.strides[1];
            let out = &mut plane[row * stride..][..stride];
            let (out, padding) = out.split_at_mut(samples);
            // At an odd right edge the last one has no right neighbour.
            let inner = samples.min(upper.len() - shift);
            let pairs = upper[..inner].iter().zip(&upper[shift..]).zip(lower.iter().zip(&lower[shift..]));
            for (out, ((&a, &b), (&c, &d))) in out.iter_mut().zip(pairs) {
                *out = ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d) + 2) / 4) as u8;
            }
            if inner < samples {
                out[inner] = (u16::from(upper[inner]) + u16::from(lower[inner])).div_ceil(2) as u8;
            }
            padding.fill(out.last().copied().unwrap_or_default());
        }
    }

    fn flush(&mut self, to: &mut Compressor) {
        let [luma, blue, red] = &self.planes;
        to.band([luma, blue, red]);
        self.rows = 0;
    }
}
