//! A JPEG whose chroma has half the resolution both ways, in the planes that it is stored in.

use std::fs::File;

use edgezoom_content::Size;
use mozjpeg::{ColorSpace, Decompress};

use super::decompressor::Decompressor;
use super::guarded;
use crate::source::planes::{self, ROWS};
use crate::source::{Layout, SourceError, Strips};

/// A JPEG whose planes libjpeg gives as they are wanted.
pub struct Planes {
    size: Size,
    decompressor: Decompressor,
}

/// Whether a picture is of this kind.
pub fn suit<R>(header: &Decompress<R>) -> bool {
    let sampling =
        header.components().iter().map(|component| (component.h_samp_factor, component.v_samp_factor));
    header.color_space() == ColorSpace::JCS_YCbCr && sampling.eq([(2, 2), (1, 1), (1, 1)])
}

impl Planes {
    /// Opens the JPEG that a file stands at, which must suit and have this size.
    pub fn open(file: File, size: Size) -> Result<Self, SourceError> {
        let mut decompressor = Decompressor::new(file);
        guarded(|| decompressor.start())?;
        Ok(Self { size, decompressor })
    }
}

impl Strips for Planes {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::YCbCr420
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let mut pairs = planes::pairs_mut(into, self.size.width);
        loop {
            let band: Vec<_> = pairs.by_ref().take(ROWS as usize / 2).collect();
            if band.is_empty() {
                return Ok(());
            }
            guarded(|| self.decompressor.read_band(band))?;
        }
    }
}
