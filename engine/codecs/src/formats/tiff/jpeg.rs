//! TIFF whose strips or tiles are JPEG. Those in YCbCr, which slide scanners and map servers write, are decoded
//! directly into the rows: as planes, if the options and the subsampling allow it. Others are decoded to samples.
//!
//! Source: Adobe Photoshop TIFF Technical Notes (TTN2, 1995/2002): Compression 7 and JPEGTables.

use std::sync::Arc;
use std::{iter, mem};

use edgezoom_geometry::Size;
use edgezoom_jpeg::ycbcr420::{self, PairMut, ROWS};

use super::directory::{Directory, Tiff};
use super::picture::{Picture, Shape};
use super::tag::{self, compression, photometric};
use super::{FORMAT, too_large};
use crate::buffered::catch_panics;
use crate::formats::jpeg::embedded::{self, Decoder};
use crate::parallel::{Budget, Failure, for_all};
use crate::row_reader::BandBuffer;
use crate::{AsPlanes, Bounds, DecodeOptions, Layout, RowReader, SourceError};

/// Minimum number of bytes of pixels for a thread, so that starting it pays.
const BYTES_A_THREAD: usize = 512 << 10;
/// The marker for the start of an image.
pub const SOI: [u8; 2] = [0xff, 0xd8];
/// The marker for the end of an image.
pub const EOI: [u8; 2] = [0xff, 0xd9];

/// JPEGs beside and below each other.
pub struct Grid {
    pub size: Size,
    /// Size of each JPEG in pixels.
    pub chunk: Size,
    /// Offset and length of each JPEG.
    pub chunks: Vec<(u64, u64)>,
    /// Bytes to put before each JPEG: an abbreviated JPEG without its end marker.
    pub tables: Vec<u8>,
    /// True if chunks are only a scan's data, whose header is in `tables`.
    pub is_scan: bool,
}

/// The reader of JPEGs in YCbCr.
pub struct JpegChunks {
    layout: Layout,
    tiff: Tiff,
    grid: Grid,
    threads: Vec<Thread>,
    chunks_across: u32,
    memory: u64,
    /// Number of rows of chunks in a band.
    band_chunks: u32,
    band: BandBuffer,
    /// First row of the next band.
    next: u32,
    /// Error to report after the rows of the band.
    failure: Option<SourceError>,
}

/// A thread's buffer and decoder, reused from chunk to chunk.
struct Thread {
    /// The chunk, with the tables before it.
    file: Vec<u8>,
    decoder: Decoder,
}

/// A JPEG to decode.
struct Chunk<T> {
    /// Its offset and length.
    place: (u64, u64),
    /// Its row among the chunks of the band.
    row: u32,
    /// Its parts of the band's rows.
    parts: Vec<T>,
}

/// Returns true if a picture has chunks of JPEG in YCbCr.
pub fn is_ycbcr(picture: &Picture) -> bool {
    matches!(picture.compression, compression::JPEG | compression::APERIO_JPEG)
        && picture.photometric == u64::from(photometric::YCBCR)
        && picture.samples == 3
        && picture.together == 3
        && picture.sample.bits == 8
}

/// Reads the tables that all chunks share, without their end marker.
pub fn tables(tiff: &mut Tiff, directory: &Directory) -> Result<Vec<u8>, SourceError> {
    let mut tables = tiff.bytes(directory, tag::JPEG_TABLES)?.unwrap_or_default();
    if tables.ends_with(&EOI) {
        tables.truncate(tables.len() - EOI.len());
    }
    Ok(tables)
}

/// Fills `out` with the first rows of a JPEG as samples, without converting colours. Returns the number of bytes decoded.
pub fn decode_samples(
    decoder: &mut Decoder,
    tables: &[u8],
    stored: &[u8],
    shape: Shape,
    out: &mut [u8],
) -> Result<usize, SourceError> {
    // The tables have a start marker already.
    let own = if tables.is_empty() { stored } else { stored.strip_prefix(&SOI).unwrap_or(stored) };
    let file = [tables, own].concat();
    decoder.decode_samples(&file, shape.columns, shape.together, out)
}

impl Grid {
    /// Returns the chunks of a picture for which [`is_ycbcr`] is true.
    pub fn new(tiff: &mut Tiff, directory: &Directory, picture: &Picture) -> Result<Self, SourceError> {
        Ok(Self {
            size: picture.size,
            chunk: picture.chunk,
            chunks: picture.chunks.clone(),
            tables: tables(tiff, directory)?,
            is_scan: false,
        })
    }
}

impl JpegChunks {
    /// Opens JPEGs in YCbCr.
    pub fn new(tiff: Tiff, grid: Grid, bounds: Bounds, options: &DecodeOptions) -> Result<Self, SourceError> {
        let (size, chunk) = (grid.size, grid.chunk);
        let row = u64::from(size.width) * u64::from(chunk.height.min(size.height)) * 3;
        bounds.admit_memory(row, "decoding the strips or tiles of the TIFF")?;
        let left = bounds.memory - row;
        let longest = (tiff.longest(&grid.chunks) + grid.tables.len() as u64).max(1);
        let threads = (left / longest).clamp(1, options.threads.get() as u64) as usize;
        let wanted = ((BYTES_A_THREAD * threads) as u64 / row.max(1)).min(left / 4 / row.max(1));
        let budget = Arc::new(Budget::new(left));
        let thread = || Thread { file: Vec::new(), decoder: Decoder::new(Arc::clone(&budget)) };
        let mut chunks = Self {
            layout: Layout::Rgb,
            tiff,
            threads: iter::repeat_with(thread).take(threads).collect(),
            chunks_across: size.width.div_ceil(chunk.width),
            memory: left,
            band_chunks: wanted.clamp(1, u64::from(size.height.div_ceil(chunk.height))) as u32,
            band: BandBuffer::default(),
            next: 0,
            failure: None,
            grid,
        };
        let in_columns = chunk.width == size.width || chunk.width.is_multiple_of(ROWS);
        let in_rows = chunk.height == size.height || chunk.height.is_multiple_of(ROWS);
        if options.planes != AsPlanes::Never && in_columns && in_rows && chunks.has_planes(options.planes) {
            chunks.layout = Layout::YCbCr420;
        }
        Ok(chunks)
    }

    /// Returns true if the first row of chunks can be read as planes.
    fn has_planes(&self, planes: AsPlanes) -> bool {
        let mut file = Vec::new();
        let mut is_any_stored = false;
        for &place in self.grid.chunks.iter().take(self.chunks_across as usize) {
            match self.read_chunk(place, &mut file) {
                Ok(()) if file.is_empty() => {}
                Ok(()) if embedded::has_planes(&file, planes) => is_any_stored = true,
                _ => return false,
            }
        }
        is_any_stored
    }

    /// Reads a chunk, as far as the file has it.
    fn read_chunk(&self, (offset, bytes): (u64, u64), into: &mut Vec<u8>) -> Result<(), SourceError> {
        into.clear();
        let there = bytes.min(self.tiff.length.saturating_sub(offset));
        match (there, bytes) {
            // A tile without content is not stored.
            (_, 0) => return Ok(()),
            (0, _) => return Err(FORMAT.ends_early()),
            _ if there > self.memory => return Err(too_large()),
            _ => {}
        }
        let Grid { tables, is_scan, .. } = &self.grid;
        // The tables have a start marker already.
        let skipped = if tables.is_empty() || *is_scan { 0 } else { SOI.len() as u64 };
        into.extend_from_slice(tables);
        into.resize(tables.len() + there.saturating_sub(skipped) as usize, 0);
        let read = self.tiff.read_up_to_apart(offset.saturating_add(skipped), &mut into[tables.len()..])?;
        into.truncate(tables.len() + read);
        if *is_scan {
            into.extend_from_slice(&EOI);
        }
        Ok(())
    }

    /// Decodes the next band into a buffer. If that fails at some row, returns the rows above it, and the error next
    /// time.
    fn decode_band(&mut self, mut band: Vec<u8>) -> Result<Vec<u8>, SourceError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let Grid { size, chunk, .. } = self.grid;
        if self.next >= size.height {
            return Err(FORMAT.ends_early());
        }
        let first = self.next / chunk.height;
        let chunks = self.band_chunks.min(size.height.div_ceil(chunk.height) - first);
        let across = self.chunks_across as usize;
        let (first, count) = (first as usize * across, chunks as usize * across);
        let places = self.grid.chunks.get(first..first + count).ok_or_else(|| FORMAT.ends_early())?;
        let rows = chunks.saturating_mul(chunk.height).min(size.height - self.next);
        let row_bytes = self.layout.row_bytes(size.width);
        band.resize(self.layout.rows_read(rows) as usize * row_bytes, 0);
        let mut threads = mem::take(&mut self.threads);
        let failure = if self.layout == Layout::YCbCr420 {
            let pairs = ycbcr420::pairs_mut(&mut band, size.width).map(|pair| pair.split(chunk.width));
            let chunks = distribute(places, across, chunk.height as usize / 2, pairs);
            self.decode(&mut threads, chunks, Decoder::decode_pairs, white_pair)
        } else {
            let rows = band.chunks_exact_mut(row_bytes);
            let rows = rows.map(|row| row.chunks_mut(Layout::Rgb.row_bytes(chunk.width)));
            let chunks = distribute(places, across, chunk.height as usize, rows);
            self.decode(&mut threads, chunks, Decoder::decode_rgb, |row| row.fill(255))
        };
        self.threads = threads;
        self.next += rows;
        self.failure = failure.map(|(row, error)| {
            band.truncate(row as usize * row_bytes);
            error
        });
        Ok(band)
    }

    /// Decodes chunks into their parts of rows, and makes those that are not stored white.
    fn decode<T: Send>(
        &self,
        threads: &mut [Thread],
        chunks: Vec<Chunk<T>>,
        decode_into: impl Fn(&mut Decoder, &[u8], u32, Vec<T>) -> Result<(), SourceError> + Sync,
        whiten: impl Fn(T) + Sync,
    ) -> Option<Failure> {
        for_all(threads, chunks, |Thread { file, decoder }, Chunk { place, row, parts }| {
            let decoded = self.read_chunk(place, file).and_then(|()| {
                if file.is_empty() {
                    parts.into_iter().for_each(&whiten);
                    return Ok(());
                }
                decode_into(decoder, file, self.grid.chunk.width, parts)
            });
            decoded.map_err(|error| (row * self.grid.chunk.height, error))
        })
    }
}

/// Gives each JPEG its parts of rows, of which `down` belong to a chunk.
fn distribute<T, Row: Iterator<Item = T>>(
    places: &[(u64, u64)],
    across: usize,
    down: usize,
    rows: impl Iterator<Item = Row>,
) -> Vec<Chunk<T>> {
    let mut chunks: Vec<Chunk<T>> = Vec::with_capacity(places.len());
    for (row, parts) in rows.enumerate() {
        if row % down.max(1) == 0 {
            let first = chunks.len();
            let row = (first / across) as u32;
            let places = places.iter().skip(first).take(across);
            chunks.extend(places.map(|&place| Chunk {
                place,
                row,
                parts: Vec::with_capacity(down.min(1024)),
            }));
        }
        let first = chunks.len().saturating_sub(across);
        chunks[first..].iter_mut().zip(parts).for_each(|(chunk, part)| chunk.parts.push(part));
    }
    chunks
}

fn white_pair(pair: PairMut<'_>) {
    pair.luma.into_iter().for_each(|row| row.fill(255));
    pair.chroma.into_iter().for_each(|row| row.fill(128));
}

impl RowReader for JpegChunks {
    fn size(&self) -> Size {
        self.grid.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let mut band = mem::take(&mut self.band);
        let read = band.read_rows(into, |buffer| catch_panics(&FORMAT, || self.decode_band(buffer)));
        self.band = band;
        read
    }
}
