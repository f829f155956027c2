//! Reads strips and tiles in bands, which are some rows of chunks, enough that all threads have work. Each thread reads
//! a chunk from the file, decodes it into its part of the rows, and takes the next one.

use std::sync::Arc;

use super::FORMAT;
use super::chunk_decoder::{ChunkDecoder, Thread, Work};
use super::compression::Codec;
use super::directory::Tiff;
use super::picture::Picture;
use super::pixels::Pixels;
use crate::parallel::{Budget, for_all};
use crate::read_ahead::ReadAhead;
use crate::{Bounds, DecodeOptions, Layout, SourceError};

/// Minimum number of bytes of pixels for a thread, so that starting it pays.
const BYTES_A_THREAD: usize = 512 << 10;
/// Maximum number of bytes of a band that is decoded while another is read.
const AHEAD_BYTES: u64 = 16 << 20;

/// A picture in strips or tiles.
pub struct BandDecoder {
    decoder: ChunkDecoder,
    tools: Vec<Thread>,
    /// Number of rows of chunks in a band.
    band_chunks: u32,
    /// First row of the next band.
    next: u32,
    /// Number of bands in memory: two if one is decoded while another is read.
    buffers: usize,
}

impl BandDecoder {
    /// Plans the bands of a picture within the bounds.
    pub fn new(
        tiff: Tiff,
        codec: Codec,
        pixels: Pixels,
        bounds: Bounds,
        options: &DecodeOptions,
    ) -> Result<Self, SourceError> {
        let picture = &pixels.picture;
        let (size, chunk) = (picture.size, picture.chunk);
        let rows = u64::from(chunk.height.min(size.height));
        let planes = picture.planes() as u64;
        let chunk_bytes =
            (picture.row_bytes(chunk.width as usize) as u64).saturating_mul(rows).saturating_mul(planes);
        let samples =
            u64::from(chunk.width).saturating_mul(rows).saturating_mul(pixels.colour.samples() as u64);
        let stored = tiff.longest(&picture.chunks).saturating_mul(planes).min(bounds.memory);
        let each = chunk_bytes.saturating_add(codec.memory(samples));
        let row_bytes = pixels.layout().row_bytes(size.width) as u64;
        // The compressed and the decoded samples of a chunk exist at the same time, beside the band of pixels. Fewer
        // threads need less.
        const REASON: &str = "decoding the strips or tiles of the TIFF";
        let band = row_bytes.saturating_mul(rows);
        bounds.admit_memory(band.saturating_add(each), REASON)?;
        let left = (bounds.memory - band) / 2;
        let fit = left / each.saturating_add(stored).max(1);
        let threads = fit.clamp(1, options.threads.get() as u64) as usize;
        let wanted = (BYTES_A_THREAD * threads) as u64 / band.max(1);
        // Each thread gets a strip, even if strips are large.
        let enough = (threads as u32).div_ceil(picture.chunks_across().max(1));
        let most = left / band.max(1);
        let band_chunks =
            wanted.max(enough.into()).min(most).clamp(1, u64::from(picture.chunks_down())) as u32;
        let is_clear = pixels.layout() == Layout::Rgba;
        let blank = if !is_clear && picture.sample.bits == 8 && picture.samples >= 3 { 255 } else { 0 };
        let bytes = band.saturating_mul(band_chunks.into());
        let is_last = band_chunks >= picture.chunks_down();
        let buffers = if threads == 1 || is_last || bytes > AHEAD_BYTES.min(left / 2) { 1 } else { 2 };
        let budget = Arc::new(Budget::new(left));
        let decoder = ChunkDecoder { tiff, codec, pixels, blank, memory: bounds.memory - band };
        Ok(Self {
            decoder,
            tools: (0..threads).map(|_| Thread::new(&budget)).collect(),
            band_chunks,
            next: 0,
            buffers,
        })
    }

    /// Returns up to `most` values of each colour, from chunks all over the picture, for [`super::stretch`].
    pub fn sample_values(&mut self, most: usize) -> Vec<Vec<f64>> {
        const MOST_CHUNKS: u32 = 64;
        let decoder = &self.decoder;
        let picture = &decoder.pixels.picture;
        let Picture { size, chunk, together, .. } = *picture;
        let (across, down) = (picture.chunks_across(), picture.chunks_down());
        let colours = decoder.pixels.colour.colours();
        let mut values = vec![Vec::new(); colours];
        // Strips span the full width, so all of the chunks may be below each other.
        let columns = (0..across).step_by(across.div_ceil(MOST_CHUNKS.isqrt()).max(1) as usize);
        let most_rows = MOST_CHUNKS / (columns.len() as u32).max(1);
        let places: Vec<(u32, u32)> = (0..down)
            .step_by(down.div_ceil(most_rows).max(1) as usize)
            .flat_map(|row| columns.clone().map(move |column| (row, column)))
            .collect();
        let each = most / places.len().max(1);
        for (row, column) in places {
            let Some(thread) = self.tools.first_mut() else { continue };
            let (planes, complete) = decoder.planes(thread, row, column);
            let columns = chunk.width.min(size.width - column * chunk.width);
            let pixels = complete * columns as usize;
            let row_bytes = picture.row_bytes(chunk.width as usize);
            for pixel in (0..pixels).step_by((pixels / each.max(1)).max(1)) {
                let (row, column) = (pixel / columns as usize, pixel % columns as usize);
                for (colour, values) in values.iter_mut().enumerate() {
                    let plane = if planes.len() > 1 { colour } else { 0 };
                    let stored = planes.get(plane).and_then(|plane| plane.get(row * row_bytes..));
                    let index = column * together + if planes.len() > 1 { 0 } else { colour };
                    values.push(picture.sample.value(stored.unwrap_or_default(), index));
                }
            }
        }
        values
    }

    /// Sets how samples are stretched.
    pub fn set_stretch(&mut self, stretch: Option<super::stretch::Stretch>) {
        self.decoder.pixels.stretch = stretch;
    }

    /// Starts a thread that decodes a band while the one before is read.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn read_ahead(mut self) -> Result<ReadAhead, SourceError> {
        let Self { buffers, .. } = self;
        ReadAhead::with_buffers(&FORMAT, buffers, move |bands| {
            let size = self.decoder.pixels.picture.size;
            bands.begin(size, self.decoder.pixels.layout())?;
            let mut band = Vec::new();
            while self.next < size.height {
                let failure = self.decode_band(&mut band)?;
                band = bands.send(band)?;
                failure.map_or(Ok(()), Err)?;
            }
            Ok(())
        })
    }

    /// Decodes the next band. If that fails at some row, leaves the rows above it in the band and returns the error.
    fn decode_band(&mut self, band: &mut Vec<u8>) -> Result<Option<SourceError>, SourceError> {
        let decoder = &self.decoder;
        let picture = &decoder.pixels.picture;
        let Picture { size, chunk, .. } = *picture;
        let (across, planes) = (picture.chunks_across(), picture.planes());
        let first = self.next / chunk.height;
        let chunks = self.band_chunks.min(picture.chunks_down() - first);
        let rows = chunks.saturating_mul(chunk.height).min(size.height - self.next);
        // Nothing is allocated for chunks that the table lacks.
        let count = u64::from(chunks) * u64::from(across) * planes as u64;
        if count > picture.chunks.len() as u64 {
            return Err(FORMAT.ends_early());
        }
        let layout = decoder.pixels.layout();
        let row_bytes = layout.row_bytes(size.width);
        band.resize(rows as usize * row_bytes, 0);
        let mut works = Vec::new();
        for (row, band) in (first..).zip(band.chunks_mut(row_bytes * chunk.height as usize)) {
            let mut parts: Vec<Vec<&mut [u8]>> = (0..across).map(|_| Vec::new()).collect();
            if decoder.is_direct() {
                parts = vec![vec![band]];
            } else {
                for row in band.chunks_exact_mut(row_bytes) {
                    let row = row.chunks_mut(layout.row_bytes(chunk.width));
                    parts.iter_mut().zip(row).for_each(|(parts, part)| parts.push(part));
                }
            }
            let top = (row - first) * chunk.height;
            works.extend((0..).zip(parts).map(|(column, rows)| Work { top, row, column, rows }));
        }
        let failure = for_all(&mut self.tools, works, |thread, work| decoder.decode(thread, work));
        self.next += rows;
        Ok(failure.map(|(row, error)| {
            band.truncate(row as usize * row_bytes);
            error
        }))
    }
}
