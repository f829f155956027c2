//! FITS, the pictures of astronomy, row by row: the first picture that has pixels, plain or in compressed tiles. The
//! file may be gzipped.
//!
//! Values are counts or fluxes, without a white and a black. They are stretched linearly between two percentiles of the
//! picture, which are found in a bounded sample. Bytes without scaling are shown as they are, because ordinary programs
//! save pictures that way. Pixels without a value (NaN, BLANK) are black. Three planes are red, green and blue, with
//! one stretch for all. Of other cubes, the first plane is shown.
//!
//! The first row is at the bottom, so rows are read from the end of the file. A gzipped file is read in order and
//! flipped.
//!
//! Source: FITS Standard 4.0 (IAU FITS Working Group, 2016; 2018): 3 for the structure, 4.4 for the keywords, 5 for
//! numbers, 10 for compressed tiles.

mod cards;
mod header;
mod rice;
mod sky;
mod stretch;
mod tiles;
mod values;

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

use crate::format::{Decoded, Input, Open};
use crate::formats::section::{self, Section};
use crate::{Format, Layout, Orientation, Reading, SourceError, SourceFile};
use stretch::Stretch;
use values::Values;

pub(crate) static FORMAT: Format = Format {
    name: "FITS",
    media_types: &["image/fits", "application/fits"],
    endings: &["fits", "fit", "fts", "fz"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| head.starts_with(MAGIC) || is_gzipped_fits(head),
    open: Open::Directly(open),
};

const MAGIC: &[u8] = b"SIMPLE  =";
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const BUFFER_BYTES: usize = 64 << 10;
/// The EXIF orientation of pictures whose first row is at the bottom.
const FLIPPED: u32 = 4;

/// Returns true for a gzipped FITS. Other gzipped files are SVGs.
fn is_gzipped_fits(head: &[u8]) -> bool {
    let mut first = [0; MAGIC.len()];
    head.starts_with(GZIP) && MultiGzDecoder::new(head).read_exact(&mut first).is_ok() && first == *MAGIC
}

/// A file, which may be gzipped.
#[derive(Clone)]
struct Source {
    file: Arc<SourceFile>,
    is_gzipped: bool,
}

impl Source {
    /// Returns the bytes from an offset on. A gzipped file is decompressed up to it.
    fn from(&self, offset: u64) -> Result<Box<dyn Read>, SourceError> {
        if !self.is_gzipped {
            return Ok(Box::new(Section::new(&self.file, offset, u64::MAX).buffered(BUFFER_BYTES)));
        }
        let mut unpacked = MultiGzDecoder::new(Section::all(&self.file).buffered(BUFFER_BYTES));
        match io::copy(&mut unpacked.by_ref().take(offset), &mut io::sink()) {
            Ok(skipped) if skipped == offset => {}
            _ => return Err(FORMAT.ends_early()),
        }
        Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)))
    }
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = section::share(file);
    let mut first = [0; GZIP.len()];
    let is_gzipped = Section::all(&file).read_exact(&mut first).is_ok() && first == *GZIP;
    let source = Source { file, is_gzipped };
    let picture = header::find(&source, bounds)?;
    let size = bounds.admit(picture.width, picture.height)?;
    bounds.admit_memory(u64::from(size.width) * 16 + stretch::SAMPLE_BYTES, "stretching a FITS")?;
    let stretch = if picture.is_plain_bytes() {
        Stretch::BYTES
    } else {
        Stretch::of(Values::open(&source, &picture, bounds)?.sample(stretch::SAMPLES)?)
    };
    let mut values = Values::open(&source, &picture, bounds)?;
    let layout = if picture.planes == 3 { Layout::Rgb } else { Layout::Grey };
    let orientation = if is_gzipped { Orientation::from_exif(FLIPPED) } else { Orientation::UPRIGHT };
    let mut row = vec![0.0; size.width as usize];
    let mut read = 0;
    let decoded = Decoded::rows(size, layout, move |out| {
        let number = if is_gzipped { read } else { size.height - 1 - read };
        for plane in 0..layout.channels() {
            values.read(plane, number, 0, &mut row)?;
            for (out, &value) in out.iter_mut().skip(plane).step_by(layout.channels()).zip(&row) {
                *out = stretch.apply(value);
            }
        }
        read += 1;
        Ok(())
    });
    Ok(Decoded { orientation, scale: picture.sky, ..decoded })
}

#[cfg(test)]
mod tests;
