//! TIFF and BigTIFF, chunk by chunk: a chunk is a strip of rows or a tile. One row of chunks is held at a time, so memory
//! is bounded as the file's author divided it; a file that is one single strip is held as a whole. Of several pictures the
//! first one counts.

mod colour;
mod jpeg;
mod raw;

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use ::tiff::decoder::{ChunkType, Decoder, Limits};
use ::tiff::tags::Tag;
use ::tiff::{ColorType, TiffError};
use edgezoom_content::Size;

use super::{Bounds, Format, Layout, Orientation, SourceError, Strips, Wish};
use colour::{Colour, Sample};
use jpeg::JpegChunks;
use raw::Raw;

/// The bytes that one of the file's tables may have: enough for a million chunks.
const TABLE_BYTES: usize = 16 << 20;

struct Chunks {
    size: Size,
    decoder: Decoder<Near>,
    colour: Colour,
    sample: Sample,
    /// The samples of a pixel that are stored together: all, or one where each has a plane of its own.
    together: usize,
    planes: u32,
    /// The rows of a chunk.
    chunk_rows: u32,
    chunks_across: u32,
    chunks_in_plane: u32,
    /// The chunk that is being decoded, as stored.
    stored: Vec<u8>,
    /// Samples of a row of chunks, 8-bit, pixel by pixel.
    samples: Vec<u8>,
    /// A row of chunks in the layout that is read, and how much of it has been.
    band: Vec<u8>,
    band_read: usize,
    /// The picture's row that the next row of chunks begins with.
    next: u32,
}

pub fn open(
    file: BufReader<File>,
    bounds: Bounds,
    wish: Wish,
) -> Result<(Box<dyn Strips>, Orientation), SourceError> {
    let memory = usize::try_from(bounds.memory).unwrap_or(usize::MAX);
    let mut limits = Limits::default();
    limits.decoding_buffer_size = memory;
    limits.intermediate_buffer_size = memory;
    limits.ifd_value_size = TABLE_BYTES;
    let mut decoder = Decoder::new(Near { file, position: 0 }).map_err(error)?.with_limits(limits);
    let (width, height) = decoder.dimensions().map_err(error)?;
    let size = bounds.admit(width, height)?;
    let orientation = decoder.find_tag_unsigned(Tag::Orientation).ok().flatten();
    let orientation = orientation.map_or(Orientation::UPRIGHT, Orientation::from_exif);
    // What is turned is turned pixel by pixel.
    let wish = Wish { may_be_planes: wish.may_be_planes && orientation == Orientation::UPRIGHT, ..wish };
    let strips: Box<dyn Strips> = if jpeg::suits(&mut decoder)? {
        Box::new(JpegChunks::new(decoder, size, bounds, wish)?)
    } else {
        let mut chunks = Chunks::new(decoder, size, bounds)?;
        let layout = chunks.layout();
        match chunks
            .is_final()
            .then(|| raw::offsets(&mut chunks.decoder, size, layout))
            .transpose()?
            .flatten()
        {
            Some(offsets) => Box::new(Raw::new(chunks.decoder, size, layout, offsets)),
            None => Box::new(chunks),
        }
    };
    Ok((strips, orientation))
}

impl Chunks {
    fn new(mut decoder: Decoder<Near>, size: Size, bounds: Bounds) -> Result<Self, SourceError> {
        let color = decoder.colortype().map_err(error)?;
        let extra =
            decoder.find_tag_unsigned_vec::<u16>(Tag::ExtraSamples).ok().flatten().unwrap_or_default();
        let colour = Colour::new(color, extra.first().copied())?;
        let preference = decoder.image_chunk_buffer_layout(0).map_err(error)?;
        let sample = Sample::new(color.bit_depth(), preference.sample_type)?;
        refuse_subsampling(&mut decoder, color)?;

        let samples = usize::from(color.num_samples());
        let planar = decoder.find_tag_unsigned::<u16>(Tag::PlanarConfiguration).map_err(error)? == Some(2);
        let (together, planes) = if planar { (1, samples as u32) } else { (samples, 1) };
        let (chunk_width, chunk_rows) = decoder.chunk_dimensions();
        let chunk_rows = chunk_rows.clamp(1, size.height);
        let chunk_width = match decoder.get_chunk_type() {
            ChunkType::Strip => size.width,
            ChunkType::Tile => chunk_width.max(1),
        };
        let chunks_across = size.width.div_ceil(chunk_width);
        let pixels = u64::from(size.width) * u64::from(chunk_rows);
        // As stored, as 8-bit samples, and as the pixels that are read.
        bounds.admit_memory(
            pixels * (samples * (sample.bytes() + 1) + colour.layout().channels()) as u64,
            "decoding the strips or tiles of the TIFF",
        )?;
        Ok(Self {
            size,
            decoder,
            colour,
            sample,
            together,
            planes,
            chunk_rows,
            chunks_across,
            chunks_in_plane: chunks_across * size.height.div_ceil(chunk_rows),
            stored: Vec::new(),
            samples: Vec::new(),
            band: Vec::new(),
            band_read: 0,
            next: 0,
        })
    }

    fn row_bytes(&self) -> usize {
        self.size.width as usize * self.colour.layout().channels()
    }

    /// Whether a chunk, as stored, is just what is read: whole rows of 8-bit samples in the layout.
    fn is_final(&self) -> bool {
        self.planes == 1 && self.chunks_across == 1 && self.sample == Sample::Uint8 && self.colour.is_final()
    }

    /// Decodes the next row of chunks into `band`.
    fn decode_band(&mut self) -> Result<(), SourceError> {
        let rows = self.chunk_rows.min(self.size.height - self.next);
        let samples = self.together * self.planes as usize;
        let pixels = self.size.width as usize * rows as usize;
        self.samples.resize(pixels * samples, 0);
        let first = self.next / self.chunk_rows * self.chunks_across;
        for plane in 0..self.planes {
            let mut left = 0;
            for chunk in first..first + self.chunks_across {
                let chunk = plane * self.chunks_in_plane + chunk;
                let (width, height) = self.decoder.chunk_data_dimensions(chunk);
                let row_bytes = self.sample.row_bytes(width as usize * self.together);
                self.stored.resize(row_bytes * height as usize, 0);
                self.decoder.read_chunk_bytes(chunk, &mut self.stored).map_err(error)?;
                let stored_rows = self.stored.chunks_exact(row_bytes);
                let sample_rows = self.samples.chunks_exact_mut(self.size.width as usize * samples);
                for (stored, row) in stored_rows.zip(sample_rows) {
                    if self.planes == 1 && self.sample == Sample::Uint8 {
                        row[left * samples..(left + width as usize) * samples].copy_from_slice(stored);
                        continue;
                    }
                    let pixels = row.chunks_exact_mut(samples).skip(left).take(width as usize);
                    self.sample.narrow(stored, self.together, pixels, plane as usize);
                }
                left += width as usize;
            }
        }
        self.band.resize(pixels * self.colour.layout().channels(), 0);
        self.colour.convert(&self.samples, &mut self.band);
        self.band_read = 0;
        self.next += rows;
        Ok(())
    }
}

impl Strips for Chunks {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.colour.layout()
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        while !into.is_empty() {
            let waiting = &self.band[self.band_read..];
            if !waiting.is_empty() {
                let bytes = waiting.len().min(into.len());
                let (now, later) = into.split_at_mut(bytes);
                now.copy_from_slice(&waiting[..bytes]);
                self.band_read += bytes;
                into = later;
                continue;
            }
            let rows = self.chunk_rows.min(self.size.height - self.next);
            let bytes = rows as usize * self.row_bytes();
            if self.is_final() && bytes <= into.len() {
                let (now, later) = into.split_at_mut(bytes);
                self.decoder.read_chunk_bytes(self.next / self.chunk_rows, now).map_err(error)?;
                self.next += rows;
                into = later;
            } else {
                self.decode_band()?;
            }
        }
        Ok(())
    }
}

/// The decoder takes uncompressed YCbCr with fewer chroma samples for whole pixels, which would give noise. In JPEG
/// chunks the chroma is whole again.
fn refuse_subsampling(decoder: &mut Decoder<Near>, color: ColorType) -> Result<(), SourceError> {
    const JPEG: u16 = 7;
    let compression = decoder.find_tag_unsigned::<u16>(Tag::Compression).map_err(error)?;
    // Left out, the tag means 2 by 2.
    let factors = decoder.find_tag_unsigned_vec::<u16>(Tag::ChromaSubsampling).map_err(error)?;
    if matches!(color, ColorType::YCbCr(_))
        && compression != Some(JPEG)
        && factors.as_deref() != Some(&[1, 1])
    {
        return Err(SourceError::unsupported(Format::Tiff, "its chroma is subsampled"));
    }
    Ok(())
}

/// A file that keeps its buffer when it is told to go where it already is: chunks mostly follow each other.
struct Near {
    file: BufReader<File>,
    position: u64,
}

impl Read for Near {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.position += bytes as u64;
        Ok(bytes)
    }
}

impl Seek for Near {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        match to {
            SeekFrom::Start(start) if start.abs_diff(self.position) < i64::MAX as u64 => {
                self.file.seek_relative(start as i64 - self.position as i64)?;
                self.position = start;
            }
            other => self.position = self.file.seek(other)?,
        }
        Ok(self.position)
    }
}

fn error(error: TiffError) -> SourceError {
    match error {
        TiffError::UnsupportedError(error) => SourceError::unsupported(Format::Tiff, error),
        TiffError::LimitsExceeded => {
            SourceError::unsupported(Format::Tiff, "its strips, tiles or tables are too large")
        }
        TiffError::IoError(_) => SourceError::corrupt(Format::Tiff, "it ends too early"),
        other => SourceError::corrupt(Format::Tiff, other),
    }
}
