//! TIFF whose strips or tiles are JPEG in YCbCr, as slide scanners and map servers write. The chunks of a row are
//! decoded in parallel by libjpeg, directly into the rows: as planes, where the options and the sampling allow it.
//!
//! Source: Adobe Photoshop TIFF Technical Notes (TTN2, 1995/2002): Compression 7 and JPEGTables.

use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::thread;

use ::tiff::decoder::{ChunkType, Decoder};
use ::tiff::tags::Tag;
use edgezoom_content::Size;

use super::directory;
use super::error::{NAME, error};
use crate::formats::jpeg;
use crate::ycbcr420::{self, ROWS};
use crate::{Bounds, DecodeOptions, Layout, RowReader, SourceError};

/// The value of Compression for JPEG.
const JPEG: u16 = 7;
/// The value of PhotometricInterpretation for YCbCr.
const YCBCR: u16 = 6;

pub struct JpegChunks<R: Read + Seek> {
    size: Size,
    layout: Layout,
    decoder: Decoder<R>,
    threads: NonZeroUsize,
    /// The offset and the length of each chunk.
    chunks: Vec<(u64, u64)>,
    /// The tables that all chunks share: an abbreviated JPEG without its end marker.
    tables: Vec<u8>,
    chunk: Size,
    chunks_across: u32,
    bounds: Bounds,
    /// The chunks of a row, each with the tables before it.
    stored: Vec<Vec<u8>>,
    /// A decoded row of chunks, and how many of its bytes have been read.
    band: Vec<u8>,
    band_read: usize,
    next: u32,
}

/// Whether a TIFF has chunks of JPEG in YCbCr.
pub fn is_ycbcr<R: Read + Seek>(decoder: &mut Decoder<R>) -> Result<bool, SourceError> {
    let mut tag = |tag| decoder.find_tag_unsigned::<u16>(tag).map_err(error);
    Ok(tag(Tag::Compression)? == Some(JPEG)
        && tag(Tag::PhotometricInterpretation)? == Some(YCBCR)
        && tag(Tag::SamplesPerPixel)? == Some(3)
        && tag(Tag::PlanarConfiguration)?.is_none_or(|configuration| configuration == 1))
}

impl<R: Read + Seek> JpegChunks<R> {
    /// Opens a TIFF for which [`is_ycbcr`] holds.
    pub fn new(
        mut decoder: Decoder<R>,
        size: Size,
        bounds: Bounds,
        options: DecodeOptions,
    ) -> Result<Self, SourceError> {
        let chunk_ranges = directory::chunks(&mut decoder)?;
        let mut tables = match decoder.find_tag(Tag::JPEGTables).map_err(error)? {
            Some(tables) => tables.into_u8_vec().map_err(error)?,
            None => Vec::new(),
        };
        if tables.ends_with(&[0xff, 0xd9]) {
            tables.truncate(tables.len() - 2);
        }
        let (width, height) = decoder.chunk_dimensions();
        let chunk = match decoder.get_chunk_type() {
            ChunkType::Strip => Size { width: size.width, height: height.clamp(1, size.height) },
            ChunkType::Tile => Size { width: width.max(1), height: height.max(1) },
        };
        let band = u64::from(size.width) * u64::from(chunk.height.min(size.height)) * 3;
        bounds.admit_memory(band, "decoding the strips or tiles of the TIFF")?;
        let mut chunks = Self {
            size,
            layout: Layout::Rgb,
            decoder,
            threads: options.threads,
            chunks: chunk_ranges,
            tables,
            chunk,
            chunks_across: size.width.div_ceil(chunk.width),
            bounds,
            stored: Vec::new(),
            band: Vec::new(),
            band_read: 0,
            next: 0,
        };
        let in_columns = chunk.width == size.width || chunk.width.is_multiple_of(ROWS);
        let in_rows = chunk.height == size.height || chunk.height.is_multiple_of(ROWS);
        if options.ycbcr420 && in_columns && in_rows {
            chunks.read_chunks()?;
            if chunks.stored.iter().all(|chunk| jpeg::is_ycbcr420(chunk)) {
                chunks.layout = Layout::YCbCr420;
            }
        }
        Ok(chunks)
    }

    /// Reads the chunks of the next row from the file.
    fn read_chunks(&mut self) -> Result<(), SourceError> {
        let first = (self.next / self.chunk.height * self.chunks_across) as usize;
        let too_early = || SourceError::corrupt(NAME, "it ends too early");
        let ranges = self.chunks.get(first..first + self.chunks_across as usize).ok_or_else(too_early)?;
        let bytes = ranges.iter().fold(self.band.len() as u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        self.bounds.admit_memory(bytes, "decoding the strips or tiles of the TIFF")?;
        self.stored.resize_with(ranges.len(), Vec::new);
        for (stored, &(offset, bytes)) in self.stored.iter_mut().zip(ranges) {
            let file = self.decoder.inner();
            file.seek(SeekFrom::Start(offset)).map_err(|_| too_early())?;
            // Behind the tables the chunk's own start marker is left out.
            let skipped = if self.tables.is_empty() { 0 } else { 2 };
            file.seek(SeekFrom::Start(offset.saturating_add(skipped))).map_err(|_| too_early())?;
            stored.clear();
            stored.extend_from_slice(&self.tables);
            stored.resize(self.tables.len() + bytes.saturating_sub(skipped) as usize, 0);
            file.read_exact(&mut stored[self.tables.len()..]).map_err(|_| too_early())?;
        }
        Ok(())
    }

    /// Decodes the next row of chunks.
    fn decode_band(&mut self) -> Result<(), SourceError> {
        self.read_chunks()?;
        let rows = self.chunk.height.min(self.size.height - self.next);
        let rows_read = self.layout.rows_read(rows) as usize;
        self.band.resize(rows_read * self.layout.row_bytes(self.size.width), 0);
        let chunk = self.chunk;
        if self.layout == Layout::YCbCr420 {
            let pairs = ycbcr420::pairs_mut(&mut self.band, self.size.width);
            let rows = pairs.map(|pair| pair.split(chunk.width));
            let decode = |file: &[u8], pairs| jpeg::ycbcr420::decode_into(file, chunk.width, pairs);
            decode_in_parallel(self.threads, &self.stored, rows, decode)?;
        } else {
            let rows = self.band.chunks_exact_mut(Layout::Rgb.row_bytes(self.size.width));
            let rows = rows.map(|row| row.chunks_mut(Layout::Rgb.row_bytes(chunk.width)));
            let decode = |file: &[u8], rows| jpeg::decode_into(file, chunk.width, rows);
            decode_in_parallel(self.threads, &self.stored, rows, decode)?;
        }
        self.band_read = 0;
        self.next += rows;
        Ok(())
    }
}

/// Decodes the chunks of a row with several threads, each chunk into its part of all rows.
fn decode_in_parallel<T: Send, Row: Iterator<Item = T>>(
    threads: NonZeroUsize,
    files: &[Vec<u8>],
    rows: impl Iterator<Item = Row>,
    decode: impl Fn(&[u8], Vec<T>) -> Result<(), SourceError> + Sync,
) -> Result<(), SourceError> {
    let mut parts: Vec<Vec<T>> = files.iter().map(|_| Vec::new()).collect();
    for row in rows {
        parts.iter_mut().zip(row).for_each(|(parts, part)| parts.push(part));
    }
    let mut shares: Vec<Vec<_>> = (0..threads.get()).map(|_| Vec::new()).collect();
    for (number, work) in files.iter().zip(parts).enumerate() {
        shares[number % threads.get()].push(work);
    }
    let work =
        |share: Vec<(&Vec<u8>, Vec<T>)>| share.into_iter().try_for_each(|(file, parts)| decode(file, parts));
    let panicked = |_| Err(SourceError::corrupt(NAME, "a decoding thread stopped"));
    let own = shares.pop().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = shares.into_iter().map(|share| scope.spawn(|| work(share))).collect();
        let own = work(own);
        others.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).fold(own, Result::and)
    })
}

impl<R: Read + Seek> RowReader for JpegChunks<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        while !into.is_empty() {
            if self.band_read == self.band.len() {
                self.decode_band()?;
            }
            let waiting = &self.band[self.band_read..];
            let bytes = waiting.len().min(into.len());
            let (now, later) = into.split_at_mut(bytes);
            now.copy_from_slice(&waiting[..bytes]);
            self.band_read += bytes;
            into = later;
        }
        Ok(())
    }
}
