//! Areas of tiles that overlap, as one picture. Of an area the tiles of a row are read row by row; what the next tile
//! covers is left out.

use edgezoom_geometry::Size;

use super::FORMAT;
use super::bif::Area;
use crate::format::Decoded;
use crate::{Layout, RowReader, SourceError};

/// The sample of what no tile covers.
const BLANK: u8 = 255;

/// An area.
pub struct Part {
    /// Its tiles, without overlap.
    reader: Box<dyn RowReader>,
    tile: Size,
    /// Where each column of tiles begins in the picture, and each row.
    columns: Vec<u32>,
    rows: Vec<u32>,
    /// The row that was read last, and how many have been read.
    row: Vec<u8>,
    read: u32,
}

/// Opens the whole picture. All parts have the same layout.
pub fn open(size: Size, mut parts: Vec<Part>) -> Result<Decoded, SourceError> {
    let layout = parts.first().ok_or(SourceError::Empty)?.reader.layout();
    if layout == Layout::YCbCr420 || parts.iter().any(|part| part.reader.layout() != layout) {
        return Err(FORMAT.unsupported("its areas differ"));
    }
    let mut y = 0;
    Ok(Decoded::rows(size, layout, move |row: &mut [u8]| {
        row.fill(BLANK);
        parts.iter_mut().try_for_each(|part| part.paint(y, row))?;
        y += 1;
        Ok(())
    }))
}

impl Part {
    /// The tiles of an area, which `reader` reads as if they did not overlap.
    pub fn new(reader: Box<dyn RowReader>, tile: Size, area: &Area) -> Self {
        let row = vec![0; reader.layout().row_bytes(reader.size().width)];
        Self { reader, tile, columns: area.columns.clone(), rows: area.rows.clone(), row, read: 0 }
    }

    /// Puts what it has of a row into the picture.
    fn paint(&mut self, y: u32, out: &mut [u8]) -> Result<(), SourceError> {
        // The lowest tile that begins above.
        let Some(index) = self.rows.partition_point(|&top| top <= y).checked_sub(1) else { return Ok(()) };
        let below = y - self.rows[index];
        if below >= self.tile.height {
            return Ok(());
        }
        let wanted = index as u32 * self.tile.height + below;
        while self.read <= wanted {
            self.reader.read_rows(&mut self.row)?;
            self.read += 1;
        }
        let bytes = self.reader.layout().channels();
        let tiles = self.row.chunks_exact(self.tile.width as usize * bytes);
        for ((index, &left), tile) in self.columns.iter().enumerate().zip(tiles) {
            let next = self.columns.get(index + 1).map_or(self.tile.width, |next| next - left);
            let seen = next.min(self.tile.width) as usize * bytes;
            let start = left as usize * bytes;
            let out = out.get_mut(start..).unwrap_or_default();
            let seen = seen.min(out.len());
            out[..seen].copy_from_slice(&tile[..seen]);
        }
        Ok(())
    }
}
