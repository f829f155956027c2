//! Decodes a strip or tile: its planes, what the predictor did, its colours.

use edgezoom_content::Size;

use super::compression::{Codec, Tools};
use super::error::too_early;
use super::parallel::Failure;
use super::pixels::{Pixels, Rows};
use super::shape::Shape;
use crate::SourceError;

/// The bytes of a chunk that is decoded as a whole although its lower rows are not needed.
const WHOLE_BYTES: usize = 16 << 20;

/// What a thread needs, beside its work.
pub struct ChunkDecoder {
    pub codec: Codec,
    pub pixels: Pixels,
    pub size: Size,
    pub chunk: Size,
    pub is_reversed: bool,
    /// The value of pixels in tiles that are not stored.
    pub blank: u8,
}

/// What a thread keeps.
#[derive(Default)]
pub struct Thread {
    tools: Tools,
    rows: Rows,
    /// The decoded rows of each plane.
    pub planes: Vec<Vec<u8>>,
}

/// A chunk that is to be decoded.
pub struct Work<'a> {
    /// The band's row that it begins with.
    pub top: u32,
    /// The chunk of each plane.
    pub stored: &'a mut [Vec<u8>],
    /// Its part of each row; of a strip that is decoded into the band, all of them in one.
    pub rows: Vec<&'a mut [u8]>,
}

impl ChunkDecoder {
    /// The rows of a chunk that lie in the picture.
    pub fn rows_of_chunk(&self, row: u32) -> u32 {
        self.chunk.height.min(self.size.height.saturating_sub(row.saturating_mul(self.chunk.height)))
    }

    /// Whether a chunk is decoded where its pixels belong: a strip whose rows are pixels once they are restored.
    pub fn is_direct(&self) -> bool {
        self.chunk.width == self.size.width && self.pixels.is_final_once_restored()
    }

    /// Decodes a chunk into its part of the band, from the top as far as it goes.
    pub fn decode(&self, thread: &mut Thread, work: Work<'_>) -> Result<(), Failure> {
        let Work { top, stored, mut rows } = work;
        if self.is_direct() {
            let ([stored], [out]) = (stored, rows.as_mut_slice()) else { return Err((top, too_early())) };
            return self.decode_into(thread, stored, out).map_err(|(row, error)| (top + row, error));
        }
        if stored.iter().all(Vec::is_empty) && self.chunk.width < self.size.width {
            // A tile that is not stored is one without content.
            rows.into_iter().for_each(|row| row.fill(self.blank));
            return Ok(());
        }
        let count = rows.len();
        let (complete, error) = self.decode_planes(thread, stored, count);
        let row_bytes = self.pixels.row_bytes(self.chunk.width as usize);
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
    fn decode_into(&self, thread: &mut Thread, stored: &mut [u8], out: &mut [u8]) -> Result<(), Failure> {
        let row_bytes = self.pixels.row_bytes(self.chunk.width as usize);
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
        let Size { width: columns, height: rows } = self.chunk;
        let row_bytes = self.pixels.row_bytes(columns as usize);
        let shape = Shape { columns, rows, row_bytes, together: self.pixels.together };
        if self.is_reversed {
            stored.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        self.codec.decode(tools, stored, shape, out)
    }

    /// Decodes and restores the rows of all planes. Returns how many rows of pixels are complete.
    pub fn decode_planes(
        &self,
        thread: &mut Thread,
        stored: &mut [Vec<u8>],
        rows: usize,
    ) -> (usize, Option<SourceError>) {
        let down = self.pixels.subsampling.1 as usize;
        let row_bytes = self.pixels.row_bytes(self.chunk.width as usize);
        let wanted = rows.div_ceil(down) * row_bytes;
        let whole = row_bytes.saturating_mul(self.chunk.height as usize);
        let bytes = if self.codec.is_whole() && whole <= WHOLE_BYTES { whole.max(wanted) } else { wanted };
        thread.planes.resize_with(stored.len(), Vec::new);
        let (mut complete, mut error) = (rows, None);
        for (stored, plane) in stored.iter_mut().zip(&mut thread.planes) {
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
