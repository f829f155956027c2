//! Reads any even number of rows of planes from a decoder that returns bands of [`ROWS`]. Strips that are counted from
//! a picture's last row begin in the middle of a band.

use edgezoom_codecs::{Layout, RowReader, SourceError};
use edgezoom_jpeg::ycbcr420::ROWS;

/// A row reader, and a band that has been decoded but not read.
pub struct RowPairs<'a> {
    reader: &'a mut dyn RowReader,
    /// Number of bytes in a band, or in a row if the layout is not planes.
    unit: usize,
    band: Vec<u8>,
    /// Offset of the next row in the band.
    next: usize,
}

impl<'a> RowPairs<'a> {
    pub fn new(reader: &'a mut dyn RowReader) -> Self {
        let row_bytes = reader.layout().row_bytes(reader.size().width);
        let rows = if reader.layout() == Layout::YCbCr420 { ROWS as usize } else { 1 };
        Self { reader, unit: rows * row_bytes, band: Vec::new(), next: 0 }
    }

    /// Fills `into` with the next rows, or pairs of rows of planes.
    pub fn read(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let left = self.take(into);
        let into = &mut into[left..];
        let (whole, rest) = into.split_at_mut(into.len() / self.unit * self.unit);
        if !whole.is_empty() {
            self.reader.read_rows(whole)?;
        }
        if !rest.is_empty() {
            self.band.resize(self.unit, 0);
            self.reader.read_rows(&mut self.band)?;
            self.next = 0;
            self.take(rest);
        }
        Ok(())
    }

    /// Copies the rest of the band. Returns the number of bytes copied.
    fn take(&mut self, into: &mut [u8]) -> usize {
        let left = &self.band[self.next..];
        let bytes = left.len().min(into.len());
        into[..bytes].copy_from_slice(&left[..bytes]);
        self.next += bytes;
        bytes
    }
}
