//! JPEGs whose chroma has half the resolution both ways, in the planes that they are stored in.

use std::fs::File;

use edgezoom_content::Size;
use mozjpeg::{ColorSpace, Decompress};

use super::decompressor::Decompressor;
use super::guarded;
use crate::ycbcr420::{self, PairMut, ROWS};
use crate::{Format, Layout, READ_BYTES, RowReader, SourceError};

/// A JPEG whose planes libjpeg gives as they are wanted.
pub struct Planes {
    size: Size,
    decompressor: Decompressor<'static>,
}

/// Whether a picture is of this kind.
pub fn suit<R>(header: &Decompress<R>) -> bool {
    let sampling =
        header.components().iter().map(|component| (component.h_samp_factor, component.v_samp_factor));
    header.color_space() == ColorSpace::JCS_YCbCr && sampling.eq([(2, 2), (1, 1), (1, 1)])
}

/// Decodes a JPEG in memory, which must suit and be so wide, into parts of pairs, which may be less than its width and
/// height.
pub fn decode_into(file: &[u8], width: u32, pairs: Vec<PairMut<'_>>) -> Result<(), SourceError> {
    let mut decompressor = Decompressor::new(file, file.len().clamp(1, READ_BYTES));
    let (found, height) = guarded(|| decompressor.start())?;
    if found != width || (height.div_ceil(ROWS) * ROWS / 2) < pairs.len() as u32 {
        return Err(SourceError::corrupt(Format::Jpeg, "its size is not what is told of it"));
    }
    let mut pairs = pairs.into_iter();
    let mut whole = Vec::new();
    loop {
        let band: Vec<_> = pairs.by_ref().take(ROWS as usize / 2).collect();
        match band.first() {
            None => return Ok(()),
            Some(pair) if pair.luma[0].len() >= ycbcr420::stride(width) => {
                guarded(|| decompressor.read_band(band))?;
            }
            Some(_) => {
                whole.resize(Layout::YCbCr420.row_bytes(width) * ROWS as usize, 0);
                guarded(|| decompressor.read_band(ycbcr420::pairs_mut(&mut whole, width).collect()))?;
                band.into_iter()
                    .zip(ycbcr420::pairs(&whole, width))
                    .for_each(|(part, pair)| part.copy_from(&pair));
            }
        }
    }
}

impl Planes {
    /// Opens the JPEG that a file stands at, which must suit and have this size.
    pub fn open(file: File, size: Size) -> Result<Self, SourceError> {
        let mut decompressor = Decompressor::new(file, READ_BYTES);
        guarded(|| decompressor.start())?;
        Ok(Self { size, decompressor })
    }
}

impl RowReader for Planes {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::YCbCr420
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let mut pairs = ycbcr420::pairs_mut(into, self.size.width);
        loop {
            let band: Vec<_> = pairs.by_ref().take(ROWS as usize / 2).collect();
            if band.is_empty() {
                return Ok(());
            }
            guarded(|| self.decompressor.read_band(band))?;
        }
    }
}
