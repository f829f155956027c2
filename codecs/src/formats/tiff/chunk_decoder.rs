//! Reads and decodes a strip or tile: its planes, what the predictor did, its colours.

use edgezoom_geometry::Size;

use super::compression::{Codec, Tools};
use super::directory::Tiff;
use super::picture::Picture;
use super::pixels::{Pixels, Rows};
use super::shape::Shape;
use super::{FORMAT, too_early};
use crate::SourceError;
use crate::parallel::Failure;

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
    chunk: Chunk,
}

/// A chunk's bytes.
#[derive(Default)]
struct Chunk {
    /// Those of each plane, as far as the file has them.
    stored: Vec<Vec<u8>>,
    /// The decoded rows of each plane.
    planes: Vec<Vec<u8>>,
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

    /// The rows of a chunk that are in the picture.
    fn rows_of(&self, row: u32) -> usize {
        let height = self.picture.chunk.height;
        height.min(self.picture.size.height.saturating_sub(row.saturating_mul(height))) as usize
    }

    /// Reads the chunk of each plane from the file, as far as it is there.
    fn read(&self, row: u32, column: u32, chunk: &mut Chunk) -> Result<(), SourceError> {
        let stored = &mut chunk.stored;
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
                return Err(FORMAT.unsupported("its strips, tiles or tables are too large"));
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
        let Thread { tools, rows, chunk } = thread;
        self.read(work.row, work.column, chunk).map_err(|error| (work.top, error))?;
        self.decode_read(tools, rows, chunk, work)
    }

    /// Decodes a chunk that has been read into its part of the band.
    fn decode_read(
        &self,
        tools: &mut Tools,
        converted: &mut Rows,
        chunk: &mut Chunk,
        work: Work<'_>,
    ) -> Result<(), Failure> {
        let Work { top, mut rows, .. } = work;
        if self.is_direct() {
            let [out] = rows.as_mut_slice() else { return Err((top, too_early())) };
            return self.decode_into(tools, converted, chunk, out).map_err(|(row, error)| (top + row, error));
        }
        if chunk.stored.iter().all(Vec::is_empty) && self.picture.chunk.width < self.picture.size.width {
            // A tile that is not stored is one without content.
            rows.into_iter().for_each(|row| row.fill(self.blank));
            return Ok(());
        }
        let count = rows.len();
        let (complete, error) = self.decode_planes(tools, converted, chunk, count);
        let row_bytes = self.pixels.row_bytes(self.picture.chunk.width as usize);
        let down = self.pixels.subsampling.1 as usize;
        for (index, out) in rows.into_iter().take(complete).enumerate() {
            let start = index / down * row_bytes;
            let place = start..start + row_bytes;
            self.pixels.convert(&chunk.planes, place, index % down, converted, out);
        }
        match complete < count {
            true => Err((top + complete as u32, error.unwrap_or_else(too_early))),
            false => Ok(()),
        }
    }

    /// Decodes a strip into its rows of the band.
    fn decode_into(
        &self,
        tools: &mut Tools,
        converted: &mut Rows,
        chunk: &mut Chunk,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let [stored] = chunk.stored.as_mut_slice() else { return Err((0, too_early())) };
        let row_bytes = self.pixels.row_bytes(self.picture.chunk.width as usize);
        let decoded = self.decode_chunk(tools, stored, out);
        let complete = decoded.as_ref().map_or(0, |bytes| bytes / row_bytes);
        let rows = out.chunks_exact_mut(row_bytes).take(complete);
        rows.for_each(|row| self.pixels.restore(row, converted));
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

    /// Reads a chunk. Returns its planes, restored, and how many of its rows are complete.
    pub fn planes<'a>(&self, thread: &'a mut Thread, row: u32, column: u32) -> (&'a [Vec<u8>], usize) {
        let Thread { tools, rows, chunk } = thread;
        let complete = match self.read(row, column, chunk) {
            Ok(()) => self.decode_planes(tools, rows, chunk, self.rows_of(row)).0,
            Err(_) => 0,
        };
        (&chunk.planes, complete)
    }

    /// The bytes that are decoded of a plane for so many of its rows.
    fn plane_bytes(&self, rows: usize) -> usize {
        let row_bytes = self.pixels.row_bytes(self.picture.chunk.width as usize);
        let wanted = rows.div_ceil(self.pixels.subsampling.1 as usize) * row_bytes;
        let whole = row_bytes.saturating_mul(self.picture.chunk.height as usize);
        if self.codec.is_whole() && whole <= WHOLE_BYTES && !self.is_direct() {
            whole.max(wanted)
        } else {
            wanted
        }
    }

    /// Decodes and restores the rows of all planes. Returns how many rows of pixels are complete.
    fn decode_planes(
        &self,
        tools: &mut Tools,
        converted: &mut Rows,
        chunk: &mut Chunk,
        rows: usize,
    ) -> (usize, Option<SourceError>) {
        let down = self.pixels.subsampling.1 as usize;
        let row_bytes = self.pixels.row_bytes(self.picture.chunk.width as usize);
        let wanted = rows.div_ceil(down) * row_bytes;
        let bytes = self.plane_bytes(rows);
        chunk.planes.resize_with(chunk.stored.len(), Vec::new);
        let (mut complete, mut error) = (rows, None);
        for (stored, plane) in chunk.stored.iter_mut().zip(&mut chunk.planes) {
            plane.resize(bytes, 0);
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
