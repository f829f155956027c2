//! YCbCr read as planes with 4:2:0 chroma subsampling by libjpeg: as stored, or averaged. Tiles in JPEG are encoded from planes again, so
//! no colour is converted.

use std::io::BufReader;
use std::rc::Rc;

use edgezoom_geometry::Size;
use mozjpeg::{ColorSpace, Decompress};

use super::coefficients::{Coefficients, kept_in};
use super::decompressor::Decompressor;
use super::error_manager::catch_damage;
use super::losses::Losses;
use super::{Rows, read_header, start};
use crate::format::READ_BYTES;
use crate::{Damage, Layout, RowReader, SourceError, SourceFile};
use edgezoom_jpeg::ycbcr420::{self, PairMut, ROWS};

/// A JPEG that is read as planes.
pub struct YCbCr420Reader {
    size: Size,
    decompressor: Decompressor<'static>,
    /// Must outlive the decoder.
    _coefficients: Option<Rc<Coefficients>>,
    losses: Losses,
}

/// Returns true for YCbCr with 4:2:0 chroma subsampling.
pub fn is_ycbcr420<R>(header: &Decompress<R>) -> bool {
    let sampling =
        header.components().iter().map(|component| (component.h_samp_factor, component.v_samp_factor));
    header.color_space() == ColorSpace::JCS_YCbCr && sampling.eq([(2, 2), (1, 1), (1, 1)])
}

impl YCbCr420Reader {
    /// Opens a 4:2:0 JPEG of this size, whose file is at its start.
    pub fn open(
        file: SourceFile,
        size: Size,
        coefficients: Option<Rc<Coefficients>>,
    ) -> Result<Self, SourceError> {
        let mut decompressor = Decompressor::new(file, READ_BYTES);
        let mut losses = Losses::default();
        kept_in(coefficients.as_ref(), || catch_damage(&mut losses, || decompressor.start()))?;
        Ok(Self { size, decompressor, _coefficients: coefficients, losses })
    }
}

impl RowReader for YCbCr420Reader {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::YCbCr420
    }

    fn damage(&self) -> Option<Damage> {
        self.losses.damage()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let mut pairs = ycbcr420::pairs_mut(into, self.size.width);
        loop {
            let band: Vec<_> = pairs.by_ref().take(ROWS as usize / 2).collect();
            if band.is_empty() {
                return Ok(());
            }
            catch_damage(&mut self.losses, || self.decompressor.read_band(band))?;
        }
    }
}

/// A JPEG with more chroma, of which each 2×2 samples are averaged. libjpeg goes on here where `edgezoom_jpeg` stops.
pub struct AveragedReader {
    /// Its pixels are YCbCr.
    rows: Rows<BufReader<SourceFile>>,
    /// Rows of pixels that have been read.
    read: u32,
    pixels: [Vec<u8>; 2],
}

impl AveragedReader {
    /// Opens a JPEG of this size, whose file is at its start.
    pub fn open(
        file: SourceFile,
        size: Size,
        coefficients: Option<Rc<Coefficients>>,
    ) -> Result<Self, SourceError> {
        let mut header = read_header(BufReader::with_capacity(READ_BYTES, file))?;
        // Samples of halved chroma are repeated, so that their mean is themselves.
        header.do_fancy_upsampling(false);
        let mut losses = Losses::default();
        let decoder =
            start(&mut losses, coefficients.as_ref(), || header.to_colorspace(ColorSpace::JCS_YCbCr))?;
        let layout = Layout::Rgb;
        let rows = Rows { size, layout, decoder, _coefficients: coefficients, losses, cmyk: None };
        let row = || vec![0; layout.row_bytes(size.width)];
        Ok(Self { rows, read: 0, pixels: [row(), row()] })
    }
}

impl RowReader for AveragedReader {
    fn size(&self) -> Size {
        self.rows.size
    }

    fn layout(&self) -> Layout {
        Layout::YCbCr420
    }

    fn damage(&self) -> Option<Damage> {
        self.rows.damage()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let Size { width, height } = self.rows.size;
        for pair in ycbcr420::pairs_mut(into, width) {
            let left = (height - self.read).min(2);
            for row in self.pixels.iter_mut().take(left as usize) {
                self.rows.read_rows(row)?;
                self.read += 1;
            }
            let [upper, lower] = &mut self.pixels;
            if left == 1 {
                lower.copy_from_slice(upper);
            }
            average([upper, lower], pair);
        }
        Ok(())
    }
}

/// Fills a pair of rows, which may be narrower, with two rows of YCbCr pixels.
pub fn average(rows: [&[u8]; 2], pair: PairMut<'_>) {
    let rows = rows.map(|row| row.as_chunks::<3>().0);
    for (row, to) in rows.iter().zip(pair.luma) {
        row.iter().zip(to).for_each(|([luma, ..], to)| *to = *luma);
    }
    for (plane, to) in (1..).zip(pair.chroma) {
        for ((upper, lower), to) in rows[0].chunks(2).zip(rows[1].chunks(2)).zip(to) {
            // At an odd right edge the last sample is repeated.
            let ends = [upper.first(), upper.last(), lower.first(), lower.last()];
            let sum: u16 = ends.into_iter().flatten().map(|pixel| u16::from(pixel[plane])).sum();
            *to = ((sum + 2) / 4) as u8;
        }
    }
}
