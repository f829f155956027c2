//! JPEG with 4:2:0 chroma subsampling, read as the stored planes. Tiles in JPEG are encoded from planes again, so no colour
//! is converted.

use std::rc::Rc;

use edgezoom_geometry::Size;
use mozjpeg::{ColorSpace, Decompress};

use super::coefficients::{Coefficients, kept_in};
use super::decompressor::Decompressor;
use super::error_manager::{catch_damage, catch_errors};
use super::losses::Losses;
use super::{FORMAT, header};
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

/// Decodes a 4:2:0 JPEG of this width in memory into pairs of rows. They may cover less than its width and height: the
/// rest is cropped.
pub fn decode_into(file: &[u8], width: u32, pairs: Vec<PairMut<'_>>) -> Result<(), SourceError> {
    header::admit_scans_of(file)?;
    let mut decompressor = Decompressor::new(file, file.len().clamp(1, READ_BYTES));
    let (found, height) = catch_errors(|| decompressor.start())?;
    if found != width || (height.div_ceil(ROWS) * ROWS / 2) < pairs.len() as u32 {
        return Err(FORMAT.corrupt("a strip or tile does not have the size that the file states"));
    }
    let mut pairs = pairs.into_iter();
    let mut full = Vec::new();
    loop {
        let band: Vec<_> = pairs.by_ref().take(ROWS as usize / 2).collect();
        match band.first() {
            None => return Ok(()),
            Some(pair) if pair.luma[0].len() >= ycbcr420::stride(width) => {
                catch_errors(|| decompressor.read_band(band))?;
            }
            Some(_) => {
                full.resize(Layout::YCbCr420.row_bytes(width) * ROWS as usize, 0);
                catch_errors(|| decompressor.read_band(ycbcr420::pairs_mut(&mut full, width).collect()))?;
                band.into_iter()
                    .zip(ycbcr420::pairs(&full, width))
                    .for_each(|(part, pair)| part.copy_from(&pair));
            }
        }
    }
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
