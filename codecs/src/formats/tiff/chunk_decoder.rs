//! Reads and decodes a strip or tile: its planes, what the predictor did, its colours.

use edgezoom_content::Size;

use super::compression::{Codec, Tools};
use super::directory::Tiff;
use super::error::{NAME, too_early};
use super::parallel::Failure;
use super::picture::Picture;
use super::pixels::{Pixels, Rows};
use super::shape::Shape;
use crate::SourceError;

/// The bytes of a chunk that is decoded as a whole although its lower rows are not needed.
const WHOLE_BYTES: usize = 16 << 20;

/// What a thread needs, beside its work.
pub struct ChunkDecoder {
    pub tiff: Tiff,
    pub picture: Picture,
    pub codec: Codec,
    pub pixels: Pixels,
    /// The value of pixels in tiles that are not stored.
    pub blank: u8,
    /// The bytes that a chunk may have.
    pub memory: u64,
}

/// What a thread keeps.
#[derive(Default)]
pub struct Thread {
    tools: Tools,
    rows: Rows,
    /// The chunk of each plane, as far as the file has it.
    pub stored: Vec<Vec<u8>>,
    /// The decoded rows of each plane.
    pub planes: Vec<Vec<u8>>,
}

/// A chunk that is to be decoded.
pub struct Work<'a> {
    /// The band's row that it begins with.
    pub top: u32,
    /// Its row and column among chunks.
    pub row: u32,
    pub column: u32,
    /// Its part of each row; of a strip that is decoded into the band, all of them in one.
    pub rows: Vec<&'a mut [u8]>,
}

impl ChunkDecoder {
    /// Whether a chunk is decoded where its pixels belong: a strip whose rows are pixels once they are restored.
    pub fn is_direct(&self) -> bool {
        self.picture.chunk.width == self.picture.size.width && self.pixels.is_final_once_restored()
    }

    /// Reads the chunk of each plane from the file, as far as it is there.
    pub fn read(&self, row: u32, column: u32, stored: &mut Vec<Vec<u8>>) -> Result<(), SourceError> {
        stored.resize_with(self.picture.planes(), Vec::new);
        let mut total = 0;
        for (plane, into) in stored.iter_mut().enumerate() {
            let (offset, length) = self.picture.place(plane, row, column)?;
            let is_stored = length > 0;
            let length = match self.codec {
                // Some programs write wrong lengths.
                Codec::Stored if length > 0 || offset > 0 => {
                    let Size { width, height } = self.picture.chunk;
                    let below = self.picture.size.height.saturating_sub(row.saturating_mul(height));
                    let rows = height.min(below).div_ceil(self.pixels.subsampling.1);
                    u64::from(rows) * self.pixels.row_bytes(width as usize) as u64
                }
                _ => length.min(self.tiff.length.saturating_sub(offset)),
            };
            total += length;
            if total > self.memory {
                return Err(SourceError::unsupported(NAME, "its strips, tiles or tables are too large"));
            }
            into.resize(length as usize, 0);
            let read = self.tiff.read_up_to_apart(offset, into)?;
            into.truncate(read);
            if is_stored && read == 0 {
                return Err(too_early());
            }
        }
        Ok(())
    }

    /// Reads a chunk and decodes it into its part of the band, from the top as far as it goes.
    pub fn decode(&self, thread: &mut Thread, work: Work<'_>) -> Result<(), Failure> {
        let Work { top, row, column, mut rows } = work;
        self.read(row, column, &mut thread.stored).map_err(|error| (top, error))?;
        if self.is_direct() {
            let [out] = rows.as_mut_slice() else { return Err((top, too_early())) };
            return self.decode_into(thread, out).map_err(|(row, error)| (top + row, error));
        }
        if thread.stored.iter().all(Vec::is_empty) && self.picture.chunk.width < self.picture.size.width {
            // A tile that is not stored is one without content.
            rows.into_iter().for_each(|row| row.fill(self.blank));
            return Ok(());
        }
        let count = rows.len();
        let (complete, error) = self.decode_planes(thread, count);
        let row_bytes = self.pixels.row_bytes(self.picture.chunk.width as usize);
        let down = self.pixels.subsampling.1 as usize;
        for (index, out) in rows.into_iter().take(complete).enumerate() {
            let start = index / down * row_bytes;
            let place = start..start + row_bytes;
            self.pixels.convert(&thread.planes, place, index % down, &mut thread.rows, out);
        }
        match complete < count {
            true => Err((top + complete as u32, error.unwrap_or_else(too_early))),
            false => Ok(()),
        }
    }

    /// Decodes a strip into its rows of the band.
    fn decode_into(&self, thread: &mut Thread, out: &mut [u8]) -> Result<(), Failure> {
        let [stored] = thread.stored.as_mut_slice() else { return Err((0, too_early())) };
        let row_bytes = self.pixels.row_bytes(self.picture.chunk.width as usize);
        let decoded = self.decode_chunk(&mut thread.tools, stored, out);
        let complete = decoded.as_ref().map_or(0, |bytes| bytes / row_bytes);
        let rows = out.chunks_exact_mut(row_bytes).take(complete);
        rows.for_each(|row| self.pixels.restore(row, &mut thread.rows));
        match complete < out.len() / row_bytes {
            true => Err((complete as u32, decoded.err().unwrap_or_else(too_early))),
            false => Ok(()),
        }
    }

    /// Decodes the first rows of a chunk, as many as fill `out`. Returns how many bytes of them there are.
    fn decode_chunk(
        &self,
        tools: &mut Tools,
        stored: &mut [u8],
        out: &mut [u8],
    ) -> Result<usize, SourceError> {
        let Size { width: columns, height: rows } = self.picture.chunk;
        let row_bytes = self.pixels.row_bytes(columns as usize);
        let shape = Shape { columns, rows, row_bytes, together: self.pixels.together };
        if self.picture.is_reversed {
            stored.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        self.codec.decode(tools, stored, shape, out)
    }

    /// Decodes and restores the rows of all planes. Returns how many rows of pixels are complete.
    pub fn decode_planes(&self, thread: &mut Thread, rows: usize) -> (usize, Option<SourceError>) {
        let down = self.pixels.subsampling.1 as usize;
        let row_bytes = self.pixels.row_bytes(self.picture.chunk.width as usize);
        let wanted = rows.div_ceil(down) * row_bytes;
        let whole = row_bytes.saturating_mul(self.picture.chunk.height as usize);
        let bytes = if self.codec.is_whole() && whole <= WHOLE_BYTES { whole.max(wanted) } else { wanted };
        thread.planes.resize_with(thread.stored.len(), Vec::new);
        let (mut complete, mut error) = (rows, None);
        for (stored, plane) in thread.stored.iter_mut().zip(&mut thread.planes) {
            plane.resize(bytes, 0);
            let decoded = match self.decode_chunk(&mut thread.tools, stored, plane) {
                Ok(decoded) => decoded,
                Err(why) => {
                    error.get_or_insert(why);
                    0
                }
            };
            complete = complete.min(decoded / row_bytes * down);
            if self.pixels.is_final_once_restored() {
                continue;
            }
            for row in plane.chunks_exact_mut(row_bytes).take(decoded.min(wanted) / row_bytes) {
                self.pixels.restore(row, &mut thread.rows);
            }
        }
        (complete, error)
    }
}
