//! Collects a tile's samples in YCbCr 4:2:0 until there are enough for libjpeg: a row of MCUs (ITU-T T.81,
//! section A.2.3).
//!
//! ```text
//! MCU    16×16 of luma   8×8 of Cb   8×8 of Cr      MCU row    16 rows of luma, 8 of Cb, 8 of Cr,
//!        ┌─────┬─────┐   ┌─────┐     ┌─────┐                   each padded to whole MCUs by its last sample,
//!        │ 8×8 │ 8×8 │   │ 8×8 │     │ 8×8 │                   as section A.2.4 recommends
//!        ├─────┼─────┤   └─────┘     └─────┘
//!        │ 8×8 │ 8×8 │
//!        └─────┴─────┘
//! ```
//!
//! Because of the overlap most tiles begin at an odd pixel. A chroma sample of such a tile covers halves of two samples
//! of the level, and is their mean. Enlarging the chroma as decoders do, and halving it again at the tile's own pixels,
//! gives the same.

use std::ops::Range;

use edgezoom_codecs::vectorised;
use edgezoom_codecs::ycbcr420::{self, Pair, ROWS};

use crate::jpeg_encoder::JpegEncoder;

/// The rows of each chroma plane in a row of MCUs.
const CHROMA_ROWS: usize = ROWS as usize / 2;

/// The row of MCUs of a tile that is being filled.
#[derive(Default)]
pub struct McuRow {
    /// The tile's width.
    width: usize,
    /// Luma, Cb and Cr, row after row.
    planes: [Vec<u8>; 3],
    /// The bytes of a row of each plane.
    strides: [usize; 3],
    /// The rows of luma that are filled.
    rows: usize,
    /// 1 if the tile begins at an odd column of the level, else 0.
    shift: usize,
    /// The level's chroma at an upper row, until the lower one has come.
    upper: [Vec<u8>; 2],
}

impl McuRow {
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

    /// Takes the tile's next row: these columns of the upper or the lower row of a pair.
    pub fn row(&mut self, pair: &Pair<'_>, is_lower: bool, columns: &Range<u32>, encoder: &mut JpegEncoder) {
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
            self.flush(encoder);
        }
    }

    /// Completes the tile: pads the last row of MCUs by its last row of samples.
    pub fn finish(&mut self, encoder: &mut JpegEncoder) {
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
        self.flush(encoder);
    }

    /// Makes the tile's row of chroma from that of the upper row and that of the lower one.
    fn mix(&mut self, lower: [&[u8]; 2]) {
        let shift = self.shift;
        let samples = self.width.div_ceil(2);
        let row = self.rows / 2;
        for ((plane, upper), lower) in self.planes[1..].iter_mut().zip(&self.upper).zip(lower) {
            let stride = self.strides[1];
            let out = &mut plane[row * stride..][..stride];
            let (out, padding) = out.split_at_mut(samples);
            // At an odd right edge the last sample has no right neighbour.
            let inner = samples.min(upper.len() - shift);
            let pairs = upper[..inner].iter().zip(&upper[shift..]).zip(lower.iter().zip(&lower[shift..]));
            vectorised(
                #[inline(always)]
                || {
                    for (out, ((&a, &b), (&c, &d))) in out.iter_mut().zip(pairs) {
                        *out = ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d) + 2) / 4) as u8;
                    }
                },
            );
            if inner < samples {
                out[inner] = (u16::from(upper[inner]) + u16::from(lower[inner])).div_ceil(2) as u8;
            }
            padding.fill(out.last().copied().unwrap_or_default());
        }
    }

    fn flush(&mut self, encoder: &mut JpegEncoder) {
        let [luma, blue, red] = &self.planes;
        encoder.mcu_row([luma, blue, red]);
        self.rows = 0;
    }
}
