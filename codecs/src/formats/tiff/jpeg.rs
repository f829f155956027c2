//! TIFF whose strips or tiles are JPEG. Those in YCbCr, which slide scanners and map servers write, are decoded by
//! libjpeg directly into the rows: as planes, where the options and the sampling allow it. Others become samples.
//!
//! Source: Adobe Photoshop TIFF Technical Notes (TTN2, 1995/2002): Compression 7 and JPEGTables.

use edgezoom_content::Size;

use super::directory::{Directory, Tiff};
use super::error::{NAME, too_early};
use super::parallel::{self, Failure};
use super::picture::Picture;
use super::shape::Shape;
use super::tag::{self, compression, photometric};
use crate::formats::jpeg;
use crate::ycbcr420::{self, PairMut, ROWS};
use crate::{Bounds, DecodeOptions, Layout, RowReader, SourceError};

/// The bytes of pixels that a thread decodes at least.
const BYTES_A_THREAD: usize = 512 << 10;
/// Start of image, end of image.
const SOI: [u8; 2] = [0xff, 0xd8];
const EOI: [u8; 2] = [0xff, 0xd9];

/// JPEGs beside and below each other.
pub struct Grid {
    pub size: Size,
    /// The size of each.
    pub chunk: Size,
    /// The offset and the length of each.
    pub chunks: Vec<(u64, u64)>,
    /// What comes before each: an abbreviated JPEG without its end marker.
    pub tables: Vec<u8>,
    /// Whether chunks are only a scan's data, which `tables` have the header of.
    pub is_scan: bool,
}

pub struct JpegChunks {
    layout: Layout,
    tiff: Tiff,
    grid: Grid,
    threads: Vec<()>,
    chunks_across: u32,
    memory: u64,
    /// The chunks of a band, each with the tables before it.
    stored: Vec<Vec<u8>>,
    /// The rows of chunks in a band.
    band_chunks: u32,
    /// A decoded band, how many of its bytes are good, and how many have been read.
    band: Vec<u8>,
    good: usize,
    read: usize,
    next: u32,
    failure: Option<SourceError>,
}

/// Whether a picture has chunks of JPEG in YCbCr.
pub fn is_ycbcr(picture: &Picture) -> bool {
    matches!(picture.compression, compression::JPEG | compression::APERIO_JPEG)
        && picture.photometric == u64::from(photometric::YCBCR)
        && picture.samples == 3
        && picture.together == 3
        && picture.sample.bits == 8
}

/// The tables that all chunks share, without their end marker.
pub fn tables(tiff: &mut Tiff, directory: &Directory) -> Result<Vec<u8>, SourceError> {
    let mut tables = tiff.bytes(directory, tag::JPEG_TABLES)?.unwrap_or_default();
    if tables.ends_with(&EOI) {
        tables.truncate(tables.len() - EOI.len());
    }
    Ok(tables)
}

/// Decodes the first rows of a JPEG as samples, without converting colours. Returns how many bytes of rows there are.
pub fn decode_samples(
    tables: &[u8],
    stored: &[u8],
    shape: Shape,
    out: &mut [u8],
) -> Result<usize, SourceError> {
    // Behind the tables the chunk's own start marker is left out.
    let own = if tables.is_empty() { stored } else { stored.strip_prefix(&SOI).unwrap_or(stored) };
    let file = [tables, own].concat();
    jpeg::decode_samples(&file, shape.columns, shape.together, out)
}

impl Grid {
    /// The chunks of a picture for which [`is_ycbcr`] holds.
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
        let threads = options.threads.get();
        let wanted =
            ((BYTES_A_THREAD * threads) as u64 / row.max(1)).min((bounds.memory - row) / 4 / row.max(1));
        let mut chunks = Self {
            layout: Layout::Rgb,
            tiff,
            threads: vec![(); threads],
            chunks_across: size.width.div_ceil(chunk.width),
            memory: bounds.memory - row,
            stored: Vec::new(),
            band_chunks: wanted.clamp(1, u64::from(size.height.div_ceil(chunk.height))) as u32,
            band: Vec::new(),
            good: 0,
            read: 0,
            next: 0,
            failure: None,
            grid,
        };
        let in_columns = chunk.width == size.width || chunk.width.is_multiple_of(ROWS);
        let in_rows = chunk.height == size.height || chunk.height.is_multiple_of(ROWS);
        if options.ycbcr420 && in_columns && in_rows && chunks.read_chunks(1).is_ok() {
            let stored = chunks.stored.iter().filter(|chunk| !chunk.is_empty());
            if stored.clone().next().is_some() && stored.into_iter().all(|chunk| jpeg::is_ycbcr420(chunk)) {
                chunks.layout = Layout::YCbCr420;
            }
        }
        Ok(chunks)
    }

    /// Reads the chunks of the next rows of chunks from the file, as far as they are there.
    fn read_chunks(&mut self, rows: u32) -> Result<(), SourceError> {
        let first = self.next as usize / self.grid.chunk.height as usize * self.chunks_across as usize;
        let count = rows as usize * self.chunks_across as usize;
        let ranges = self.grid.chunks.get(first..first + count).ok_or_else(too_early)?;
        let left = |&(offset, bytes): &(u64, u64)| bytes.min(self.tiff.length.saturating_sub(offset));
        let bytes = ranges.iter().fold(self.band.len() as u64, |sum, range| sum.saturating_add(left(range)));
        if bytes > self.memory {
            return Err(SourceError::unsupported(NAME, "its strips, tiles or tables are too large"));
        }
        self.stored.resize_with(count, Vec::new);
        for (stored, &(offset, bytes)) in self.stored.iter_mut().zip(ranges) {
            stored.clear();
            let there = bytes.min(self.tiff.length.saturating_sub(offset));
            match (there, bytes) {
                // A tile that is not stored is one without content.
                (_, 0) => continue,
                (0, _) => return Err(too_early()),
                _ => {}
            }
            let bytes = there;
            // Behind the tables the chunk's own start marker is left out.
            let skipped = if self.grid.tables.is_empty() || self.grid.is_scan { 0 } else { SOI.len() as u64 };
            stored.extend_from_slice(&self.grid.tables);
            stored.resize(self.grid.tables.len() + bytes.saturating_sub(skipped) as usize, 0);
            let into = &mut stored[self.grid.tables.len()..];
            let read = self.tiff.read_up_to(offset.saturating_add(skipped), into)?;
            stored.truncate(self.grid.tables.len() + read);
            if self.grid.is_scan {
                stored.extend_from_slice(&EOI);
            }
        }
        Ok(())
    }

    /// Decodes the next band.
    fn decode_band(&mut self) -> Result<(), SourceError> {
        let Grid { size, chunk, .. } = self.grid;
        if self.next >= size.height {
            return Err(too_early());
        }
        let chunks_left = size.height.div_ceil(chunk.height) - self.next / chunk.height;
        let chunks = self.band_chunks.min(chunks_left);
        // Near the end of a file that is cut off, whole rows of chunks may be missing.
        let (chunks, read) = match self.read_chunks(chunks) {
            Err(_) if chunks > 1 => (1, self.read_chunks(1)),
            read => (chunks, read),
        };
        read?;
        let rows = chunks.saturating_mul(chunk.height).min(size.height - self.next);
        let rows_read = self.layout.rows_read(rows) as usize;
        let row_bytes = self.layout.row_bytes(size.width);
        self.band.resize(rows_read * row_bytes, 0);
        let across = self.chunks_across as usize;
        let failure = if self.layout == Layout::YCbCr420 {
            let pairs = ycbcr420::pairs_mut(&mut self.band, size.width);
            let rows = pairs.map(|pair| pair.split(chunk.width));
            let works = distribute(&self.stored, across, chunk.height as usize / 2, rows);
            parallel::for_all(
                &mut self.threads,
                works,
                |(), (row, file, pairs): (u32, &Vec<u8>, Vec<PairMut<'_>>)| {
                    if file.is_empty() {
                        pairs.into_iter().for_each(blank_pair);
                        return Ok(());
                    }
                    let decoded = jpeg::ycbcr420::decode_into(file, chunk.width, pairs);
                    decoded.map_err(|error| (row * chunk.height, error))
                },
            )
        } else {
            let rows = self.band.chunks_exact_mut(row_bytes);
            let rows = rows.map(|row| row.chunks_mut(Layout::Rgb.row_bytes(chunk.width)));
            let works = distribute(&self.stored, across, chunk.height as usize, rows);
            parallel::for_all(
                &mut self.threads,
                works,
                |(), (row, file, rows): (u32, &Vec<u8>, Vec<&mut [u8]>)| {
                    if file.is_empty() {
                        rows.into_iter().for_each(|row| row.fill(255));
                        return Ok(());
                    }
                    jpeg::decode_into(file, chunk.width, rows).map_err(|error| (row * chunk.height, error))
                },
            )
        };
        self.read = 0;
        self.good = self.band.len();
        self.next += rows;
        if let Some((row, error)) = failure as Option<Failure> {
            self.good = row as usize * row_bytes;
            self.failure = Some(error);
        }
        Ok(())
    }
}

/// A chunk's number of its row in the band, its JPEG, and its parts of the rows.
type Chunk<'a, T> = (u32, &'a Vec<u8>, Vec<T>);

/// Gives each JPEG its parts of rows, of which `down` belong to a chunk.
fn distribute<'a, T, Row: Iterator<Item = T>>(
    stored: &'a [Vec<u8>],
    across: usize,
    down: usize,
    rows: impl Iterator<Item = Row>,
) -> Vec<Chunk<'a, T>> {
    let mut chunks: Vec<Chunk<'a, T>> = Vec::with_capacity(stored.len());
    for (row, parts) in rows.enumerate() {
        if row % down.max(1) == 0 {
            let first = chunks.len();
            let files = stored.iter().skip(first).take(across);
            chunks.extend(
                files.map(|file| ((first / across) as u32, file, Vec::with_capacity(down.min(1024)))),
            );
        }
        let first = chunks.len().saturating_sub(across);
        chunks[first..].iter_mut().zip(parts).for_each(|((_, _, rows), part)| rows.push(part));
    }
    chunks
}

/// White.
fn blank_pair(pair: PairMut<'_>) {
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
