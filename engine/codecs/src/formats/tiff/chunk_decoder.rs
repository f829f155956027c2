//! Reads and decodes a strip or tile: its planes, the predictor, its colours.

use std::sync::Arc;

use edgezoom_geometry::Size;

use super::compression::{Codec, Tools};
use super::directory::Tiff;
use super::picture::{Picture, Shape};
use super::pixels::{Pixels, Rows};
use super::{FORMAT, too_large};
use crate::SourceError;
use crate::parallel::{Budget, Failure};

/// Maximum number of bytes of a chunk that is decoded as a whole although its lower rows are not needed.
const WHOLE_BYTES: usize = 16 << 20;

/// The decoder of all chunks, which threads share.
pub struct ChunkDecoder {
    pub tiff: Tiff,
    pub codec: Codec,
    pub pixels: Pixels,
    /// Value of all channels of pixels in strips and tiles that are not stored.
    pub blank: u8,
    /// Maximum number of bytes of a chunk.
    pub memory: u64,
}

/// The buffers and decoders that a thread keeps from one chunk to the next.
pub struct Thread {
    tools: Tools,
    rows: Rows,
    chunk: Chunk,
}

impl Thread {
    /// Returns a thread whose decoders share a budget with those of others.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self { tools: Tools::new(budget), rows: Rows::default(), chunk: Chunk::default() }
    }
}

/// A chunk's bytes.
#[derive(Default)]
struct Chunk {
    /// Compressed bytes of each plane, as far as the file has them.
    stored: Vec<Vec<u8>>,
    /// Decoded rows of each plane.
    planes: Vec<Vec<u8>>,
    /// True for each plane that the file leaves out: its samples are zero.
    is_left_out: Vec<bool>,
}

impl Chunk {
    /// Returns true if no plane is in the file.
    fn is_left_out(&self) -> bool {
        self.is_left_out.iter().all(|&is_left_out| is_left_out)
    }
}

/// A chunk to decode.
pub struct Work<'a> {
    /// Its first row in the band.
    pub top: u32,
    /// Its row among chunks.
    pub row: u32,
    /// Its column among chunks.
    pub column: u32,
    /// Its part of each row of the band. A strip that is decoded directly has all its rows in one part.
    pub rows: Vec<&'a mut [u8]>,
}

impl ChunkDecoder {
    fn picture(&self) -> &Picture {
        &self.pixels.picture
    }

    /// Returns true if chunks are decoded directly into the band: strips whose rows are pixels once they are restored.
    pub fn is_direct(&self) -> bool {
        self.picture().chunk.width == self.picture().size.width && self.pixels.is_final_once_restored()
    }

    /// Returns the number of bytes in a row of a chunk.
    fn row_bytes(&self) -> usize {
        self.picture().row_bytes(self.picture().chunk.width as usize)
    }

    /// Returns the number of rows of a chunk that are in the picture.
    fn rows_of(&self, row: u32) -> u32 {
        let Picture { size, chunk, .. } = self.picture();
        chunk.height.min(size.height.saturating_sub(row.saturating_mul(chunk.height)))
    }

    /// Reads the chunk of each plane, as far as the file has it.
    fn read(&self, row: u32, column: u32, chunk: &mut Chunk) -> Result<(), SourceError> {
        let stored = &mut chunk.stored;
        stored.resize_with(self.picture().planes(), Vec::new);
        chunk.is_left_out.resize(self.picture().planes(), false);
        let mut total = 0;
        for (plane, into) in stored.iter_mut().enumerate() {
            let (offset, length) = self.picture().place(plane, row, column)?;
            let is_stored = length > 0;
            let length = match self.codec {
                // Some programs write wrong lengths.
                Codec::Stored if length > 0 || offset > 0 => {
                    let rows = self.rows_of(row).div_ceil(self.picture().subsampling.1);
                    u64::from(rows) * self.row_bytes() as u64
                }
                _ => length.min(self.tiff.length.saturating_sub(offset)),
            };
            chunk.is_left_out[plane] = length == 0 && self.picture().is_sparse;
            total += length;
            if total > self.memory {
                return Err(too_large());
            }
            into.resize(length as usize, 0);
            let read = self.tiff.read_up_to_apart(offset, into)?;
            into.truncate(read);
            if is_stored && read == 0 {
                return Err(FORMAT.ends_early());
            }
        }
        Ok(())
    }

    /// Reads a chunk and decodes it into its part of the band, from the top as far as possible.
    pub fn decode(&self, thread: &mut Thread, work: Work<'_>) -> Result<(), Failure> {
        let Thread { tools, rows: converted, chunk } = thread;
        let Work { top, row, column, mut rows } = work;
        self.read(row, column, chunk).map_err(|error| (top, error))?;
        if chunk.is_left_out() {
            rows.into_iter().for_each(|row| row.fill(self.blank));
            return Ok(());
        }
        if self.is_direct() {
            let [out] = rows.as_mut_slice() else { return Err((top, FORMAT.ends_early())) };
            return self.decode_into(tools, converted, chunk, out).map_err(|(row, error)| (top + row, error));
        }
        let count = rows.len();
        let (complete, error) = self.decode_planes(tools, converted, chunk, count);
        let row_bytes = self.row_bytes();
        let down = self.picture().subsampling.1 as usize;
        for (index, out) in rows.into_iter().take(complete).enumerate() {
            let start = index / down * row_bytes;
            let place = start..start + row_bytes;
            self.pixels.convert(&chunk.planes, place, index % down, converted, out);
        }
        if complete < count {
            return Err((top + complete as u32, error.unwrap_or_else(|| FORMAT.ends_early())));
        }
        Ok(())
    }

    /// Decodes a strip directly into the band.
    fn decode_into(
        &self,
        tools: &mut Tools,
        converted: &mut Rows,
        chunk: &mut Chunk,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let [stored] = chunk.stored.as_mut_slice() else { return Err((0, FORMAT.ends_early())) };
        let row_bytes = self.row_bytes();
        let decoded = self.decode_chunk(tools, stored, out);
        let complete = decoded.as_ref().map_or(0, |bytes| bytes / row_bytes);
        let rows = out.chunks_exact_mut(row_bytes).take(complete);
        rows.for_each(|row| self.pixels.restore(row, converted));
        if complete < out.len() / row_bytes {
            return Err((complete as u32, decoded.err().unwrap_or_else(|| FORMAT.ends_early())));
        }
        Ok(())
    }

    /// Fills `out` with the first rows of a chunk. Returns the number of bytes decoded.
    fn decode_chunk(
        &self,
        tools: &mut Tools,
        stored: &mut [u8],
        out: &mut [u8],
    ) -> Result<usize, SourceError> {
        let Picture { chunk: Size { width: columns, height: rows }, together, .. } = *self.picture();
        let shape = Shape { columns, rows, row_bytes: self.row_bytes(), together };
        if self.picture().is_reversed {
            stored.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        self.codec.decode(tools, stored, shape, out)
    }

    /// Reads a chunk. Returns its restored planes, and the number of rows that are complete.
    pub fn planes<'a>(&self, thread: &'a mut Thread, row: u32, column: u32) -> (&'a [Vec<u8>], usize) {
        let Thread { tools, rows, chunk } = thread;
        let complete = match self.read(row, column, chunk) {
            Ok(()) if !chunk.is_left_out() => {
                self.decode_planes(tools, rows, chunk, self.rows_of(row) as usize).0
            }
            _ => 0,
        };
        (&chunk.planes, complete)
    }

    /// Decodes and restores the rows of all planes. Returns the number of rows of pixels that are complete.
    fn decode_planes(
        &self,
        tools: &mut Tools,
        converted: &mut Rows,
        chunk: &mut Chunk,
        rows: usize,
    ) -> (usize, Option<SourceError>) {
        let down = self.picture().subsampling.1 as usize;
        let row_bytes = self.row_bytes();
        let wanted = rows.div_ceil(down) * row_bytes;
        let whole = row_bytes.saturating_mul(self.picture().chunk.height as usize);
        let is_whole = self.codec.is_whole() && whole <= WHOLE_BYTES && !self.is_direct();
        let bytes = if is_whole { whole.max(wanted) } else { wanted };
        chunk.planes.resize_with(chunk.stored.len(), Vec::new);
        let (mut complete, mut error) = (rows, None);
        let stored = chunk.stored.iter_mut().zip(&chunk.is_left_out);
        for ((stored, &is_left_out), plane) in stored.zip(&mut chunk.planes) {
            plane.resize(bytes, 0);
            if is_left_out {
                plane.fill(0);
                continue;
            }
            let decoded = match self.decode_chunk(tools, stored, plane) {
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
                self.pixels.restore(row, converted);
            }
        }
        (complete, error)
    }
}
