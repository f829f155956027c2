//! Reads any even number of rows of planes from a decoder that gives bands of [`ROWS`]. Strips that are counted from a
//! picture's last row begin in the middle of a band.

use edgezoom_codecs::{Layout, RowReader, SourceError};
use edgezoom_jpeg::ycbcr420::ROWS;

/// A row reader, and what has been decoded of it but not been read.
pub struct Bands<'a> {
    reader: &'a mut dyn RowReader,
    /// The bytes of a band; of pixels in any other layout than planes, those of a row.
    unit: usize,
    band: Vec<u8>,
    /// Where in the band the next row begins.
    next: usize,
}

impl<'a> Bands<'a> {
    pub fn new(reader: &'a mut dyn RowReader) -> Self {
        let row_bytes = reader.layout().row_bytes(reader.size().width);
        let rows = if reader.layout() == Layout::YCbCr420 { ROWS as usize } else { 1 };
        Self { reader, unit: rows * row_bytes, band: Vec::new(), next: 0 }
    }

    /// Reads the next rows, as many as fill `into`: in planes, pairs of them.
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

    /// Copies what is left of the band. Returns how many bytes that were.
    fn take(&mut self, into: &mut [u8]) -> usize {
        let left = &self.band[self.next..];
        let bytes = left.len().min(into.len());
        into[..bytes].copy_from_slice(&left[..bytes]);
        self.next += bytes;
        bytes
    }
}
