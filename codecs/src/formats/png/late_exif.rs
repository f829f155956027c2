//! A PNG that is read while it arrives, and may have its orientation behind its pixels. It is read as upright, which
//! most pictures are; if it turns out to be turned, it has to be read again.

use super::exif;
use crate::row_reader::Wrapper;
use crate::{Orientation, RowReader, SourceError, SourceFile};

/// A picture that is looked at again behind its last row.
pub struct LateExif {
    reader: Box<dyn RowReader>,
    source: SourceFile,
    rows_left: u32,
}

impl LateExif {
    pub fn wrap(reader: Box<dyn RowReader>, source: SourceFile) -> Box<dyn RowReader> {
        let rows_left = reader.size().height;
        Box::new(Self { reader, source, rows_left })
    }
}

impl Wrapper for LateExif {
    fn source(&self) -> &dyn RowReader {
        &*self.reader
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.reader.read_rows(into)?;
        let row_bytes = self.reader.layout().row_bytes(self.reader.size().width).max(1);
        let rows = u32::try_from(into.len() / row_bytes).unwrap_or(u32::MAX);
        let is_last = self.rows_left > 0 && self.rows_left <= rows;
        self.rows_left = self.rows_left.saturating_sub(rows);
        if is_last {
            self.source.length_when_complete()?;
            let exif = exif::find(&self.source);
            if exif.is_some_and(|exif| Orientation::of_exif(&exif) != Orientation::UPRIGHT) {
                return Err(SourceError::NeedsWhole);
            }
        }
        Ok(())
    }
}
