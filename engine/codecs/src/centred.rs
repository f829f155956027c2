//! Puts a picture into the middle of a square of one colour.

use edgezoom_geometry::Size;

use crate::row_reader::Wrapper;
use crate::{RowReader, SourceError};

/// A source in the middle of a square. If a margin is odd, the larger half is to the right of the upright picture, and below.
pub struct Centred {
    source: Box<dyn RowReader>,
    side: u32,
    /// Stored columns and rows before the picture.
    before: [u32; 2],
    /// Row of the square that is read next.
    next: u32,
    /// A row without any of the picture.
    empty: Vec<u8>,
    rows: Vec<u8>,
}

impl Centred {
    /// Centres a source in a square of at least its size. The source must have pixels, no planes, and `pixel` as many samples as
    /// each of them.
    #[must_use]
    pub fn new(source: Box<dyn RowReader>, side: u32, pixel: &[u8]) -> Self {
        let (Size { width, height }, orientation) = (source.size(), source.orientation());
        let before = |length: u32, from_end| {
            let margin = side - length;
            if from_end { margin.div_ceil(2) } else { margin / 2 }
        };
        let before = [before(width, orientation.from_right), before(height, orientation.from_bottom)];
        Self { source, side, before, next: 0, empty: pixel.repeat(side as usize), rows: Vec::new() }
    }
}

impl Wrapper for Centred {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn size(&self) -> Size {
        Size { width: self.side, height: self.side }
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let Size { width, height } = self.source.size();
        let channels = self.source.layout().channels();
        let length = width as usize * channels;
        into.chunks_exact_mut(self.empty.len()).for_each(|row| row.copy_from_slice(&self.empty));
        let count = (into.len() / self.empty.len()) as u32;
        let [left, top] = self.before;
        let rows = self.next.max(top)..(self.next + count).min(top + height);
        if !rows.is_empty() {
            self.rows.resize(length * rows.len(), 0);
            self.source.read_rows(&mut self.rows)?;
            let of_picture = into.chunks_exact_mut(self.empty.len()).skip((rows.start - self.next) as usize);
            for (row, pixels) in of_picture.zip(self.rows.chunks_exact(length)) {
                row[left as usize * channels..][..length].copy_from_slice(pixels);
            }
        }
        self.next += count;
        Ok(())
    }
}
