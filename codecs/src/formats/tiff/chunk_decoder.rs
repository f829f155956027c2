//! Reads and decodes a strip or tile: its planes, what the predictor did, its colours.

use std::sync::atomic::{AtomicBool, Ordering};

use edgezoom_geometry::Size;

use super::compression::{Codec, Tools};
use super::directory::Tiff;
use super::error::{NAME, too_early};
use super::inflate::TwoInflater;
use super::parallel::{Failure, higher};
use super::picture::Picture;
use super::pixels::{Pixels, Rows};
use super::shape::Shape;
use crate::SourceError;

/// The chunks that a thread decodes beside each other, at most.
pub const AT_ONCE: usize = 2;
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
    /// Whether chunks were faster, or better, decoded one after the other.
    pub has_not_gained: AtomicBool,
}

/// What a thread keeps.
#[derive(Default)]
pub struct Thread {
    tools: Tools,
    rows: Rows,
    /// Those that are decoded beside each other.
    chunks: [Chunk; AT_ONCE],
}

/// A chunk's bytes.
#[derive(Default)]
struct Chunk {
    /// Those of each plane, as far as the file has them.
    stored: Vec<Vec<u8>>,
    /// The decoded rows of each plane.
    planes: Vec<Vec<u8>>,
    /// Whether the planes are decoded, and only have to be restored.
    is_decoded: bool,
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

    /// Whether a chunk may be decoded beside another one, in less time than after it.
    pub fn may_gain_beside(&self, row: u32, column: u32) -> bool {
        if !matches!(self.codec, Codec::Deflate) || self.picture.planes() > 1 || self.picture.is_reversed {
            return false;
        }
        let Ok((_, stored)) = self.picture.place(0, row, column) else { return false };
        TwoInflater::may_gain(stored as usize, self.plane_bytes(self.rows_of(row)))
    }

    /// The rows of a chunk that are in the picture.
    fn rows_of(&self, row: u32) -> usize {
        let height = self.picture.chunk.height;
        height.min(self.picture.size.height.saturating_sub(row.saturating_mul(height))) as usize
    }

    /// Reads the chunk of each plane from the file, as far as it is there.
    fn read(&self, row: u32, column: u32, chunk: &mut Chunk) -> Result<(), SourceError> {
        let Chunk { stored, is_decoded, .. } = chunk;
        *is_decoded = false;
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

    /// Reads chunks, at most [`AT_ONCE`], and decodes each into its part of the band, from the top as far as it goes.
    pub fn decode(&self, thread: &mut Thread, mut works: Vec<Work<'_>>) -> Result<(), Failure> {
        let Thread { tools, rows, chunks } = thread;
        let read: Vec<_> = works
            .iter()
            .zip(&mut *chunks)
            .map(|(work, chunk)| self.read(work.row, work.column, chunk))
            .collect();
        if let (Ok(works), true) = (works.as_mut_slice().try_into(), read.iter().all(Result::is_ok)) {
            self.inflate_two(tools, chunks, works);
        }
        let decoded = works.into_iter().zip(chunks).zip(read).map(|((work, chunk), read)| {
            read.map_err(|error| (work.top, error))?;
            self.decode_read(tools, rows, chunk, work)
        });
        // All of them, even after a failure: rows above it may be in a later one.
        decoded.map(Result::err).fold(None, higher).map_or(Ok(()), Err)
    }

    /// Decodes two chunks of one plane beside each other, unless something is wrong with one of them.
    fn inflate_two(&self, tools: &mut Tools, [one, other]: &mut [Chunk; AT_ONCE], works: &mut [Work<'_>; 2]) {
        let [one_work, other_work] = works;
        let one_out = self.place_of_plane(&mut one.planes, one_work);
        let other_out = self.place_of_plane(&mut other.planes, other_work);
        if let ([one_stored], [other_stored]) = (one.stored.as_slice(), other.stored.as_slice())
            && let (Some(one_out), Some(other_out)) = (one_out, other_out)
        {
            let has_gained = tools.two.decode([one_stored, other_stored], [one_out, other_out]).is_some();
            (one.is_decoded, other.is_decoded) = (has_gained, has_gained);
            self.has_not_gained.fetch_or(!has_gained, Ordering::Relaxed);
        }
    }

    /// Where the rows of a chunk of one plane are decoded.
    fn place_of_plane<'a>(
        &self,
        planes: &'a mut Vec<Vec<u8>>,
        work: &'a mut Work<'_>,
    ) -> Option<&'a mut [u8]> {
        if self.is_direct() {
            return work.rows.first_mut().map(|rows| &mut **rows);
        }
        planes.resize_with(1, Vec::new);
        let plane = planes.first_mut()?;
        plane.resize(self.plane_bytes(work.rows.len()), 0);
        Some(plane)
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
        let decoded = self.decode_chunk(tools, chunk.is_decoded, stored, out);
        let complete = decoded.as_ref().map_or(0, |bytes| bytes / row_bytes);
        let rows = out.chunks_exact_mut(row_bytes).take(complete);
        rows.for_each(|row| self.pixels.restore(row, converted));
        match complete < out.len() / row_bytes {
            true => Err((complete as u32, decoded.err().unwrap_or_else(too_early))),
            false => Ok(()),
        }
    }

    /// Decodes the first rows of a chunk, as many as fill `out`, unless they are decoded. Returns how many bytes of them
    /// there are.
    fn decode_chunk(
        &self,
        tools: &mut Tools,
        is_decoded: bool,
        stored: &mut [u8],
        out: &mut [u8],
    ) -> Result<usize, SourceError> {
        if is_decoded {
            return Ok(out.len());
        }
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
        let Thread { tools, rows, chunks: [chunk, ..] } = thread;
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
            let decoded = match self.decode_chunk(tools, chunk.is_decoded, stored, plane) {
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
