//! Interlaced PNG, by rows. The picture has seven passes, of which the last has every second row and half of all
//! pixels. The first six are [stored](Scratch) as they are decoded; then rows are assembled, those of the last pass as
//! they are decoded.
//!
//! ```text
//! 1 6 4 6 2 6 4 6      the pass of each pixel, in each 8×8 pixels
//! 7 7 7 7 7 7 7 7
//! 5 6 5 6 5 6 5 6
//! 7 7 7 7 7 7 7 7
//! 3 6 4 6 3 6 4 6
//! 7 7 7 7 7 7 7 7
//! 5 6 5 6 5 6 5 6
//! 7 7 7 7 7 7 7 7
//! ```
//! Source: PNG Specification (Third Edition), section 8.

use std::io::{BufRead, Seek};

use edgezoom_geometry::Size;

use super::pixels::RowDecoder;
use crate::scratch::{Scratch, ScratchReader, ScratchWriter, TemporaryFile};
use crate::{Bounds, Layout, RowReader, SourceError};

/// The passes that are stored: first column, distance of columns, first row, distance of rows.
const STORED: [(u32, u32, u32, u32); 6] =
    [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2)];

/// An interlaced PNG.
pub struct Interlaced<R: BufRead + Seek> {
    size: Size,
    decoder: RowDecoder<R>,
    scratch: Scratch,
    /// The rows that are left of each stored pass.
    passes: [ScratchReader; STORED.len()],
    /// True if a stored pass has a pixel that is not opaque.
    needs_opacity: bool,
    next: u32,
}

/// A stored pass.
struct Pass {
    width: u32,
    height: u32,
}

impl<R: BufRead + Seek> Interlaced<R> {
    /// Reads the first six passes.
    pub fn open(
        mut decoder: RowDecoder<R>,
        size: Size,
        bounds: Bounds,
        file: Option<&TemporaryFile>,
    ) -> Result<Self, SourceError> {
        let layout = decoder.kind.layout();
        let passes = STORED.map(|(left, across, top, down)| Pass {
            width: size.width.saturating_sub(left).div_ceil(across),
            height: size.height.saturating_sub(top).div_ceil(down),
        });
        let bytes =
            passes.each_ref().map(|pass| layout.row_bytes(pass.width) as u64 * u64::from(pass.height));
        let mut scratch = Scratch::new(bytes.iter().sum(), "decoding an interlaced PNG", bounds, file)?;
        let mut writer = ScratchWriter::new(0);
        let mut row = vec![0; layout.row_bytes(size.width)];
        let mut needs_opacity = false;
        for pass in passes.iter().filter(|pass| pass.width > 0) {
            let row = &mut row[..layout.row_bytes(pass.width)];
            for _ in 0..pass.height {
                decoder.read_row(row)?;
                needs_opacity = needs_opacity
                    || layout == Layout::Rgba && row.as_chunks::<4>().0.iter().any(|pixel| pixel[3] != 255);
                writer.write(&mut scratch, row)?;
            }
        }
        writer.flush(&mut scratch)?;
        let mut offset = 0;
        let passes = bytes.map(|bytes| {
            offset += bytes;
            ScratchReader::new(offset - bytes, bytes)
        });
        Ok(Self { size, decoder, scratch, passes, needs_opacity, next: 0 })
    }

    fn read_row(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        let row = self.next;
        self.next += 1;
        if row % 2 == 1 {
            return self.decoder.read_row(out);
        }
        for (&(left, across, top, down), pass) in STORED.iter().zip(&mut self.passes) {
            if row < top || !(row - top).is_multiple_of(down) || self.size.width <= left {
                continue;
            }
            let layout = self.decoder.kind.layout();
            let width = (self.size.width - left).div_ceil(across);
            let pixels = pass.read(&self.scratch, layout.row_bytes(width))?;
            let (left, across) = (left as usize, across as usize);
            match layout {
                Layout::Grey => spread::<1>(pixels, left, across, out),
                Layout::Rgba => spread::<4>(pixels, left, across, out),
                _ => spread::<3>(pixels, left, across, out),
            }
        }
        Ok(())
    }
}

/// Copies the pixels of a pass to their columns.
fn spread<const N: usize>(pixels: &[u8], left: usize, across: usize, out: &mut [u8]) {
    let columns = out.as_chunks_mut::<N>().0.iter_mut().skip(left).step_by(across);
    columns.zip(pixels.as_chunks::<N>().0).for_each(|(out, pixel)| *out = *pixel);
}

impl<R: BufRead + Seek> RowReader for Interlaced<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.decoder.kind.layout()
    }

    fn needs_opacity(&self) -> bool {
        self.needs_opacity
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.decoder.kind.layout().row_bytes(self.size.width);
        into.chunks_exact_mut(row_bytes).try_for_each(|row| self.read_row(row))
    }
}
