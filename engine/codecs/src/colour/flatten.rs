//! Flattens pictures with an alpha channel onto a colour, for tiles of a format without alpha, and finds out whether a
//! picture is opaque.

use std::array;

use edgezoom_geometry::Size;

use crate::row_reader::{Jpeg, Wrapper};
use crate::{Layout, RowReader, SourceError};

/// Bytes of rows that are read at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Returns true if all pixels of a source are opaque. Reads up to the first that is not.
///
/// # Errors
/// If the source cannot be read.
pub fn is_opaque(source: &mut dyn RowReader) -> Result<bool, SourceError> {
    if source.layout() != Layout::Rgba {
        return Ok(true);
    }
    let Size { width, height } = source.size();
    let row_bytes = width as usize * 4;
    let rows = u32::try_from(BLOCK_BYTES / row_bytes.max(1)).unwrap_or(1).max(1);
    let mut pixels = vec![0; row_bytes * rows.min(height) as usize];
    let mut next = 0;
    while next < height {
        let count = rows.min(height - next);
        let pixels = &mut pixels[..row_bytes * count as usize];
        source.read_rows(pixels)?;
        if pixels.as_chunks::<4>().0.iter().any(|pixel| pixel[3] != 255) {
            return Ok(false);
        }
        next += count;
    }
    Ok(true)
}

/// A source on a background. Sources without an alpha channel pass unchanged.
pub struct Flattened {
    source: Box<dyn RowReader>,
    background: [u8; 3],
    rows: Vec<u8>,
}

impl Flattened {
    /// Flattens a source onto a colour.
    #[must_use]
    pub fn onto(background: [u8; 3], source: Box<dyn RowReader>) -> Self {
        Self { source, background, rows: Vec::new() }
    }
}

impl Wrapper for Flattened {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn layout(&self) -> Layout {
        match self.source.layout() {
            Layout::Rgba => Layout::Rgb,
            opaque => opaque,
        }
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        self.source.as_jpeg()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        if self.source.layout() != Layout::Rgba {
            return self.source.read_rows(into);
        }
        self.rows.resize(into.len() / 3 * 4, 0);
        self.source.read_rows(&mut self.rows)?;
        let (from, _) = self.rows.as_chunks::<4>();
        let (to, _) = into.as_chunks_mut::<3>();
        for (to, &[red, green, blue, alpha]) in to.iter_mut().zip(from) {
            *to = array::from_fn(|channel| {
                let colour = u32::from([red, green, blue][channel]);
                let (background, alpha) = (u32::from(self.background[channel]), u32::from(alpha));
                ((colour * alpha + background * (255 - alpha) + 127) / 255) as u8
            });
        }
        Ok(())
    }
}
