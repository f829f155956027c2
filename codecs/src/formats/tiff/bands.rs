//! Reads strips and tiles in bands: some rows of chunks, enough that all threads have work. The chunks of a band are
//! read from the file one after the other and decoded at the same time, each into its part of the rows.

use edgezoom_content::Size;

use super::chunk_decoder::{ChunkDecoder, Thread, Work};
use super::compression::Codec;
use super::directory::Tiff;
use super::error::{NAME, too_early};
use super::parallel;
use super::picture::Picture;
use super::pixels::Pixels;
use crate::{Bounds, DecodeOptions, Layout, RowReader, SourceError};

/// The bytes of pixels that a thread decodes at least, so that starting it pays.
const BYTES_A_THREAD: usize = 512 << 10;

/// A picture in strips or tiles.
pub struct Bands {
    tiff: Tiff,
    picture: Picture,
    decoder: ChunkDecoder,
    tools: Vec<Thread>,
    memory: u64,
    /// The compressed chunks of a band, and whether the file has all bytes of each.
    stored: Vec<Vec<u8>>,
    /// The rows of chunks in a band.
    band_chunks: u32,
    /// A band of pixels, how many of its bytes are good, and how many have been read.
    band: Vec<u8>,
    good: usize,
    read: usize,
    /// The picture's row that the next band begins with.
    next: u32,
    failure: Option<SourceError>,
}

impl Bands {
    /// A picture whose chunks are read by this codec.
    pub fn new(
        tiff: Tiff,
        picture: Picture,
        codec: Codec,
        pixels: Pixels,
        bounds: Bounds,
        options: &DecodeOptions,
    ) -> Result<Self, SourceError> {
        let (size, chunk) = (picture.size, picture.chunk);
        let rows = u64::from(chunk.height.min(size.height));
        let planes = picture.planes() as u64;
        let chunk_bytes =
            (pixels.row_bytes(chunk.width as usize) as u64).saturating_mul(rows).saturating_mul(planes);
        let samples =
            u64::from(chunk.width).saturating_mul(rows).saturating_mul(pixels.colour.samples() as u64);
        let each = chunk_bytes.saturating_add(codec.memory(samples));
        let row_bytes = pixels.layout().row_bytes(size.width) as u64;
        // Of a chunk, the compressed and the decoded samples exist at the same time, and the band of pixels. Fewer
        // threads need less.
        const REASON: &str = "decoding the strips or tiles of the TIFF";
        let band = row_bytes.saturating_mul(rows);
        bounds.admit_memory(band.saturating_add(each), REASON)?;
        let left = (bounds.memory - band) / 2;
        let threads = (left / each.max(1)).clamp(1, options.threads.get() as u64) as usize;
        let wanted = (BYTES_A_THREAD * threads) as u64 / band.max(1);
        // Large strips, too: one for each thread.
        let enough = (threads as u32).div_ceil(picture.chunks_across().max(1));
        let most = left / band.max(1);
        let band_chunks =
            wanted.max(enough.into()).min(most).clamp(1, u64::from(picture.chunks_down())) as u32;
        let decoder = ChunkDecoder {
            codec,
            pixels,
            size,
            chunk,
            is_reversed: picture.is_reversed,
            blank: if picture.sample.bits == 8 && picture.samples >= 3 { 255 } else { 0 },
        };
        Ok(Self {
            tiff,
            picture,
            decoder,
            tools: (0..threads).map(|_| Thread::default()).collect(),
            memory: bounds.memory - band,
            stored: Vec::new(),
            band_chunks,
            band: Vec::new(),
            good: 0,
            read: 0,
            next: 0,
            failure: None,
        })
    }

    /// Values of each band of colour, from chunks all over the picture: what [`super::stretch`] looks at.
    pub fn sample_values(&mut self, most: usize) -> Vec<Vec<f64>> {
        const MOST_CHUNKS: u32 = 64;
        let (across, down) = (self.picture.chunks_across(), self.picture.chunks_down());
        let colours = self.decoder.pixels.colour.colours();
        let mut values = vec![Vec::new(); colours];
        // Strips are one across, so all of the chunks may lie below each other.
        let columns = (0..across).step_by(across.div_ceil(MOST_CHUNKS.isqrt()).max(1) as usize);
        let most_rows = MOST_CHUNKS / (columns.len() as u32).max(1);
        let places: Vec<(u32, u32)> = (0..down)
            .step_by(down.div_ceil(most_rows).max(1) as usize)
            .flat_map(|row| columns.clone().map(move |column| (row, column)))
            .collect();
        let each = most / places.len().max(1);
        for (row, column) in places {
            let planes = self.picture.planes();
            let mut stored = vec![Vec::new(); planes];
            let is_read =
                (0..planes).all(|plane| self.read_chunk(row, column, plane, &mut stored[plane]).is_ok());
            let Some(thread) = self.tools.first_mut().filter(|_| is_read) else { continue };
            let rows =
                self.decoder.chunk.height.min(self.decoder.size.height - row * self.decoder.chunk.height);
            let columns =
                self.decoder.chunk.width.min(self.decoder.size.width - column * self.decoder.chunk.width);
            let (complete, _) = self.decoder.decode_planes(thread, &mut stored, rows as usize);
            let pixels = complete * columns as usize;
            let row_bytes = self.decoder.pixels.row_bytes(self.decoder.chunk.width as usize);
            for pixel in (0..pixels).step_by((pixels / each.max(1)).max(1)) {
                let (row, column) = (pixel / columns as usize, pixel % columns as usize);
                for (colour, values) in values.iter_mut().enumerate() {
                    let plane = if planes > 1 { colour } else { 0 };
                    let stored = thread.planes.get(plane).and_then(|plane| plane.get(row * row_bytes..));
                    let together = self.decoder.pixels.together;
                    let index = column * together + if planes > 1 { 0 } else { colour };
                    values.push(self.decoder.pixels.sample.value(stored.unwrap_or_default(), index));
                }
            }
        }
        values
    }

    /// Sets how samples are stretched.
    pub fn set_stretch(&mut self, stretch: Option<super::stretch::Stretch>) {
        self.decoder.pixels.stretch = stretch;
    }

    /// Reads a chunk from the file, as far as it is there.
    fn read_chunk(
        &mut self,
        row: u32,
        column: u32,
        plane: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), SourceError> {
        let (offset, length) = self.picture.place(plane, row, column)?;
        let is_stored = length > 0;
        let length = match self.decoder.codec {
            // Some programs write wrong lengths.
            Codec::Stored if length > 0 || offset > 0 => {
                let rows = self.decoder.rows_of_chunk(row) as u64;
                let row_bytes = self.decoder.pixels.row_bytes(self.decoder.chunk.width as usize) as u64;
                rows.div_ceil(u64::from(self.decoder.pixels.subsampling.1)) * row_bytes
            }
            _ => length.min(self.tiff.length.saturating_sub(offset)),
        };
        if length > self.memory {
            return Err(SourceError::unsupported(NAME, "its strips, tiles or tables are too large"));
        }
        into.resize(length as usize, 0);
        let read = self.tiff.read_up_to(offset, into)?;
        into.truncate(read);
        if is_stored && read == 0 { Err(too_early()) } else { Ok(()) }
    }

    /// Decodes the next band.
    fn decode_band(&mut self) -> Result<(), SourceError> {
        let (across, planes) = (self.picture.chunks_across(), self.picture.planes());
        let chunk = self.decoder.chunk;
        if self.next >= self.picture.size.height {
            return Err(too_early());
        }
        let first = self.next / chunk.height;
        let chunks = self.band_chunks.min(self.picture.chunks_down() - first);
        let rows = chunks.saturating_mul(chunk.height).min(self.picture.size.height - self.next);
        // A table that is too short must not decide how much is allocated.
        let count = u64::from(chunks) * u64::from(across) * planes as u64;
        if count > self.picture.chunks.len() as u64 {
            return Err(too_early());
        }
        let mut stored = std::mem::take(&mut self.stored);
        stored.resize_with(count as usize, Vec::new);
        let mut total = 0;
        let mut missing = None;
        let places = (0..chunks).flat_map(|row| {
            (0..across).flat_map(move |column| (0..planes).map(move |plane| (row, column, plane)))
        });
        for (into, (row, column, plane)) in stored.iter_mut().zip(places) {
            let is_read = self.read_chunk(first + row, column, plane, into);
            total += into.len() as u64;
            if let Err(error) = is_read {
                into.clear();
                missing.get_or_insert((row * chunk.height, error));
                break;
            }
            if total > self.memory {
                return Err(SourceError::unsupported(NAME, "its strips, tiles or tables are too large"));
            }
        }
        let layout = self.decoder.pixels.layout();
        let row_bytes = layout.row_bytes(self.picture.size.width);
        self.band.resize(rows as usize * row_bytes, 0);
        let known = missing.as_ref().map_or(rows, |&(row, _)| row);
        let mut works = Vec::new();
        let mut chunks = stored.chunks_mut(planes);
        for (index, band) in self.band.chunks_mut(row_bytes * chunk.height as usize).enumerate() {
            let top = index as u32 * chunk.height;
            let mut parts: Vec<Vec<&mut [u8]>> = (0..across).map(|_| Vec::new()).collect();
            if self.decoder.is_direct() {
                parts = vec![vec![band]];
            } else {
                for row in band.chunks_exact_mut(row_bytes) {
                    let row = row.chunks_mut(layout.row_bytes(chunk.width));
                    parts.iter_mut().zip(row).for_each(|(parts, part)| parts.push(part));
                }
            }
            let stored = chunks.by_ref().take(across as usize);
            works.extend(stored.zip(parts).filter(|_| top < known).map(|(stored, rows)| Work {
                top,
                stored,
                rows,
            }));
        }
        let decoder = &self.decoder;
        let failure = parallel::for_all(&mut self.tools, works, |thread, work| decoder.decode(thread, work));
        let failure = match (failure, missing) {
            (Some(one), Some(other)) => Some(if other.0 < one.0 { other } else { one }),
            (one, other) => one.or(other),
        };
        self.stored = stored;
        self.read = 0;
        self.good = self.band.len();
        self.next += rows;
        if let Some((row, error)) = failure {
            self.good = (row as usize * row_bytes).min(self.good);
            self.failure = Some(error);
        }
        Ok(())
    }
}

impl RowReader for Bands {
    fn size(&self) -> Size {
        self.picture.size
    }

    fn layout(&self) -> Layout {
        self.decoder.pixels.layout()
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        while !into.is_empty() {
            if self.read == self.good {
                if let Some(failure) = self.failure.take() {
                    return Err(failure);
                }
                self.decode_band()?;
                continue;
            }
            let waiting = &self.band[self.read..self.good];
            let bytes = waiting.len().min(into.len());
            let (now, later) = into.split_at_mut(bytes);
            now.copy_from_slice(&waiting[..bytes]);
            self.read += bytes;
            into = later;
        }
        Ok(())
    }
}
