//! Uncompressed TIFF whose rows are pixels as they are: they are read from the file directly into the caller's buffer.
//!
//! Source: TIFF 6.0, section 3 (Compression 1), section 8 (StripOffsets, RowsPerStrip).

use edgezoom_geometry::Size;

use super::directory::Tiff;
use super::picture::Picture;
use crate::{Layout, RowReader, SourceError};

pub struct Raw {
    tiff: Tiff,
    picture: Picture,
    layout: Layout,
    next: u32,
}

impl Raw {
    /// A picture in strips of such rows.
    pub fn new(tiff: Tiff, picture: Picture, layout: Layout) -> Self {
        Self { tiff, picture, layout, next: 0 }
    }
}

impl RowReader for Raw {
    fn size(&self) -> Size {
        self.picture.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.layout.row_bytes(self.picture.size.width);
        let strip_rows = self.picture.chunk.height;
        while !into.is_empty() {
            let (strip, above) = (self.next / strip_rows, self.next % strip_rows);
            let wanted = u32::try_from(into.len() / row_bytes).unwrap_or(u32::MAX);
            let rows = wanted.min(strip_rows - above);
            let (now, later) = into.split_at_mut(rows as usize * row_bytes);
            let (begin, _) = self.picture.place(0, strip, 0)?;
            self.tiff.read_at(begin.saturating_add(u64::from(above) * row_bytes as u64), now)?;
            self.next += rows;
            into = later;
        }
        Ok(())
    }
}
