//! JPEG with 4:2:0 chroma subsampling, read as the stored planes. Tiles in JPEG are encoded from planes again, so no colour
//! is converted.

use std::rc::Rc;

use edgezoom_geometry::Size;
use mozjpeg::{ColorSpace, Decompress};

use super::coefficients::{Coefficients, kept_in};
use super::decompressor::Decompressor;
use super::error_manager::catch_damage;
use super::losses::Losses;
use crate::format::READ_BYTES;
use crate::{Damage, Layout, RowReader, SourceError, SourceFile};
use edgezoom_jpeg::ycbcr420::{self, ROWS};

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
