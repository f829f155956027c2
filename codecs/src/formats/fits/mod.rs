//! FITS, the pictures of astronomy, row by row: the first picture that has pixels, as it is or in compressed tiles, in
//! a file as it is or gzipped.
//!
//! Values have no white and no black: they are counts or fluxes. They are stretched linearly between two percentiles of
//! the picture, found in a bounded sample of it. Bytes that are not scaled are shown as they are, as pictures saved by
//! ordinary programs have them. What has no value (NaN, BLANK) is black. Three planes are red, green and blue and are
//! stretched alike; of other cubes the first plane is shown.
//!
//! The first row is at the bottom. Rows are found from the end, but for gzipped files, which are turned upside down.
//!
//! Source: FITS Standard 4.0 (IAU FITS Working Group, 2016; 2018): 3 for the structure, 4.4 for the keywords, 5 for
//! numbers, 10 for compressed tiles.

mod cards;
mod compressed;
mod error;
mod header;
mod rice;
mod samples;
mod source;
mod stretch;
mod tiles;

use std::io::Read;

use edgezoom_geometry::Size;
use flate2::bufread::MultiGzDecoder;

use crate::format::{Decoded, Input, Open};
use crate::formats::section::{self, Section};
use crate::{Format, Layout, Orientation, Reading, RowReader, SourceError};
use samples::Samples;
use source::Source;
use stretch::Stretch;

pub(crate) static FORMAT: Format = Format {
    name: error::NAME.0,
    media_types: &["image/fits", "application/fits"],
    endings: &["fits", "fit", "fts", "fz"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| head.starts_with(MAGIC) || is_gzipped_fits(head),
    open: Open::Directly(open),
};

const MAGIC: &[u8] = b"SIMPLE  =";
const GZIP: &[u8] = &[0x1f, 0x8b, 8];

/// Whether the first bytes of a gzipped file are those of a FITS. Other gzipped files are SVGs.
fn is_gzipped_fits(head: &[u8]) -> bool {
    let mut first = [0; MAGIC.len()];
    head.starts_with(GZIP) && MultiGzDecoder::new(head).read_exact(&mut first).is_ok() && first == *MAGIC
}

struct Rows {
    size: Size,
    layout: Layout,
    samples: Samples,
    stretch: Stretch,
    /// Whether rows are read from the last to the first.
    is_backwards: bool,
    /// How many rows have been read.
    read: u32,
    values: Vec<f64>,
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = section::share(file);
    let mut first = [0; GZIP.len()];
    let is_gzipped = Section::all(&file).read_exact(&mut first).is_ok() && first == *GZIP;
    let source = Source { file, is_gzipped };
    let picture = header::find(&source, bounds)?;
    let size = bounds.admit(picture.width, picture.height)?;
    bounds.admit_memory(u64::from(size.width) * 16 + stretch::SAMPLE_BYTES, "stretching a FITS")?;
    let stretch = match picture.is_plain_bytes() {
        true => Stretch::BYTES,
        false => Stretch::of(Samples::open(&source, &picture, bounds)?.some(stretch::SAMPLES)?),
    };
    let samples = Samples::open(&source, &picture, bounds)?;
    let layout = if picture.planes == 3 { Layout::Rgb } else { Layout::Grey };
    let is_backwards = !is_gzipped;
    let orientation = if is_backwards { Orientation::UPRIGHT } else { Orientation::from_exif(UPSIDE_DOWN) };
    let values = vec![0.0; size.width as usize];
    let rows = Rows { size, layout, samples, stretch, is_backwards, read: 0, values };
    Ok(Decoded { orientation, ..Decoded::plain(rows) })
}

/// EXIF's number for pictures whose first row is at the bottom.
const UPSIDE_DOWN: u32 = 4;

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let channels = self.layout.channels();
        for out in into.chunks_exact_mut(self.layout.row_bytes(self.size.width)) {
            let row = if self.is_backwards { self.size.height - 1 - self.read } else { self.read };
            for plane in 0..channels {
                self.samples.read(plane, row, 0, &mut self.values)?;
                for (out, &value) in out.iter_mut().skip(plane).step_by(channels).zip(&self.values) {
                    *out = self.stretch.apply(value);
                }
            }
            self.read += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
