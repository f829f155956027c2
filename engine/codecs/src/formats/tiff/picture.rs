//! A picture as its directory describes it: size, samples, and the places of its strips or tiles.
//!
//! Source: TIFF 6.0, section 3 (strips), section 8, section 15 (tiles).

use std::ops::Range;

use edgezoom_geometry::Size;

use super::FORMAT;
use super::directory::{Directory, Tiff, is_map};
use super::predictor::Predictor;
use super::sample_format::SampleFormat;
use super::tag::{self, compression, photometric};
use crate::format::Decoded;
use crate::{Bounds, Orientation, SourceError};

/// Size in bytes of the strips into which an uncompressed picture of one strip is split.
const STRIP_BYTES: u64 = 256 << 10;
/// Maximum number of strips into which it is split.
const MOST_STRIPS: u64 = 1 << 22;

/// The value of PhotometricInterpretation for RGB.
const RGB: u64 = photometric::RGB as u64;

/// A picture as its directory describes it. Chunks are its strips or tiles.
pub struct Picture {
    pub size: Size,
    pub orientation: Orientation,
    pub compression: u16,
    pub photometric: u64,
    pub sample: SampleFormat,
    /// Number of samples in a pixel.
    pub samples: usize,
    /// Number of a pixel's samples that are stored together: all (chunky), or one (planar).
    pub together: usize,
    pub predictor: Predictor,
    /// True if the bits of a byte are stored from the lowest to the highest.
    pub is_reversed: bool,
    /// True if samples of several bytes begin with the highest.
    pub is_big_endian: bool,
    /// Numbers of columns and rows of pixels that share chroma: 1 and 1 unless this is YCbCr that is not JPEG.
    pub subsampling: (u32, u32),
    pub is_tiled: bool,
    /// True if the file may leave chunks out: tiles, and strips of a map.
    pub is_sparse: bool,
    /// Size of a chunk in pixels.
    pub chunk: Size,
    /// Offset and length of each chunk.
    pub chunks: Vec<(u64, u64)>,
}

/// The shape of a decoded chunk.
#[derive(Clone, Copy)]
pub struct Shape {
    pub columns: u32,
    pub rows: u32,
    pub row_bytes: usize,
    /// Number of samples in a pixel of the chunk.
    pub together: usize,
}

impl Picture {
    /// Reads a directory.
    pub fn read(tiff: &mut Tiff, directory: &Directory, bounds: Bounds) -> Result<Self, SourceError> {
        let side = |side: u64| u32::try_from(side).unwrap_or(u32::MAX);
        let width = tiff.first(directory, tag::WIDTH)?.unwrap_or(0);
        let length = tiff.first(directory, tag::LENGTH)?.unwrap_or(0);
        let size = bounds.admit(side(width), side(length))?;
        let compression = tiff.first_or(directory, tag::COMPRESSION, 1);
        let compression = u16::try_from(compression).unwrap_or(u16::MAX);
        let photometric = tiff.first(directory, tag::PHOTOMETRIC)?;
        let is_old_jpeg = compression == compression::OLD_JPEG;
        let is_grey = photometric.is_some_and(|photometric| photometric <= photometric::GREY.into());
        let usual = if is_old_jpeg && !is_grey { 3 } else { 1 };
        let samples = tiff.first_or(directory, tag::SAMPLES_PER_PIXEL, usual).clamp(1, 1 << 16) as usize;
        let photometric = match photometric {
            // Programs that wrote old-style JPEG left tags out, or called its colours RGB. libtiff assumes the same.
            None | Some(RGB) if is_old_jpeg => photometric::YCBCR.into(),
            Some(photometric) => photometric,
            // The tag is required, but some programs leave it out.
            None if matches!(compression, compression::RUN_LENGTHS..=compression::GROUP_4) => 0,
            None if samples >= 3 => photometric::RGB.into(),
            None => photometric::GREY.into(),
        };
        let sample = sample(tiff, directory, samples)?;
        let is_planar = tiff.first_or(directory, tag::PLANAR, 1) == 2 && samples > 1;
        let predictor = match compression {
            compression::LZW
            | compression::DEFLATE
            | compression::OLD_DEFLATE
            | compression::ZSTD
            | compression::LZMA => Predictor::new(tiff.first_or(directory, tag::PREDICTOR, 1), sample.bits)?,
            _ => Predictor::None,
        };
        // A JPEG keeps its own order.
        let is_reversed = tiff.first_or(directory, tag::FILL_ORDER, 1) == 2
            && !matches!(compression, compression::OLD_JPEG | compression::JPEG);
        let is_tiled = directory.has(tag::TILE_WIDTH) && directory.has(tag::TILE_LENGTH);
        let chunk = if is_tiled {
            let width = side(tiff.first_or(directory, tag::TILE_WIDTH, 0));
            let height = side(tiff.first_or(directory, tag::TILE_LENGTH, 0));
            if width == 0 || height == 0 {
                return Err(FORMAT.corrupt("its tiles have no size"));
            }
            Size { width, height }
        } else {
            let rows = side(tiff.first_or(directory, tag::ROWS_PER_STRIP, u64::MAX));
            Size { width: size.width, height: rows.clamp(1, size.height) }
        };
        let mut picture = Self {
            size,
            orientation: Orientation::from_exif(side(tiff.first_or(directory, tag::ORIENTATION, 1))),
            compression,
            photometric,
            sample,
            samples,
            together: if is_planar { 1 } else { samples },
            predictor,
            is_reversed,
            is_big_endian: !tiff.is_little(),
            subsampling: (1, 1),
            is_tiled,
            is_sparse: is_tiled || is_map(directory),
            chunk,
            chunks: Vec::new(),
        };
        picture.subsampling = picture.read_subsampling(tiff, directory)?;
        picture.chunks = picture.read_chunks(tiff, directory)?;
        Ok(picture)
    }

    /// Returns the number of chunks beside each other.
    pub fn chunks_across(&self) -> u32 {
        self.size.width.div_ceil(self.chunk.width)
    }

    /// Returns the number of chunks below each other.
    pub fn chunks_down(&self) -> u32 {
        self.size.height.div_ceil(self.chunk.height)
    }

    /// Returns the number of planes that are stored one after the other.
    pub fn planes(&self) -> usize {
        self.samples / self.together
    }

    /// Returns the number of bytes in a stored row of `columns` columns: in subsampled YCbCr, a row of
    /// [units](unit_bytes).
    pub fn row_bytes(&self, columns: usize) -> usize {
        match self.subsampling {
            (1, 1) => self.sample.row_bytes(columns * self.together),
            (across, down) => columns.div_ceil(across as usize) * unit_bytes((across, down)),
        }
    }

    fn read_subsampling(&self, tiff: &mut Tiff, directory: &Directory) -> Result<(u32, u32), SourceError> {
        let keeps_its_own = matches!(
            self.compression,
            compression::OLD_JPEG
                | compression::JPEG
                | compression::APERIO_JPEG
                | compression::WEBP
                | compression::JP2_YCBCR
                | compression::JP2_LOSSY
                | compression::JP2_RGB
                | compression::JP2
                | compression::JXL
                | compression::JXL_DNG
        );
        if self.photometric != u64::from(photometric::YCBCR) || keeps_its_own {
            return Ok((1, 1));
        }
        // Chroma has the size of luma in planes and beside other samples, whatever the tag says: libtiff writes and
        // reads it so.
        if self.samples != 3 || self.together != 3 {
            return Ok((1, 1));
        }
        // Without the tag it is 2×2 (TIFF 6.0, section 21).
        let factors = tiff.list(directory, tag::YCBCR_SUBSAMPLING)?.unwrap_or_else(|| vec![2, 2]);
        let known = |factor: u64| matches!(factor, 1 | 2 | 4).then_some(factor as u32);
        let factors = match factors.as_slice() {
            &[across, down, ..] => known(across).zip(known(down)),
            _ => None,
        };
        match factors {
            Some((1, 1)) => Ok((1, 1)),
            Some(factors) if self.sample == SampleFormat::BYTE => Ok(factors),
            _ => Err(FORMAT.unsupported("its chroma is subsampled in an unusual way")),
        }
    }

    /// Returns the offset and length of each chunk. Guesses lengths that are missing or zero, as libtiff does.
    fn read_chunks(&self, tiff: &mut Tiff, directory: &Directory) -> Result<Vec<(u64, u64)>, SourceError> {
        let tiles = [tag::TILE_OFFSETS, tag::TILE_BYTE_COUNTS];
        let strips = [tag::STRIP_OFFSETS, tag::STRIP_BYTE_COUNTS];
        let [offsets, lengths] =
            if directory.has(tag::TILE_OFFSETS) && self.is_tiled { tiles } else { strips };
        let offsets = tiff.list(directory, offsets)?.unwrap_or_default();
        if offsets.is_empty() && self.compression != compression::OLD_JPEG {
            return Err(FORMAT.corrupt("the places of its strips or tiles are missing"));
        }
        let stated = tiff.list(directory, lengths)?;
        // No chunk is at the file's start: all are left out.
        if self.compression != compression::OLD_JPEG && offsets.iter().all(|&offset| offset == 0) {
            return Ok(vec![(0, 0); offsets.len()]);
        }
        if let Some(lengths) = stated.filter(|lengths| lengths.len() >= offsets.len() || lengths.len() > 1) {
            let is_stated = lengths.iter().any(|&length| length > 0);
            if is_stated {
                return Ok(offsets.into_iter().zip(lengths).collect());
            }
        }
        // Each chunk ends where the next one begins.
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        let end = |offset: u64| {
            let next = sorted.partition_point(|&other| other <= offset);
            sorted.get(next).copied().unwrap_or(tiff.length)
        };
        Ok(offsets.iter().map(|&offset| (offset, end(offset).saturating_sub(offset))).collect())
    }

    /// Splits the one strip of an uncompressed picture, so that it is not held as a whole.
    pub fn split_strip(&mut self) {
        let Size { width, height } = self.size;
        if self.is_tiled || self.chunk.height < height || self.chunks.len() != self.planes() {
            return;
        }
        let row_bytes = self.row_bytes(width as usize) as u64;
        let down = self.subsampling.1;
        // Rows of pixels that share chroma stay together.
        let strip_rows =
            u32::try_from(STRIP_BYTES / row_bytes.max(1)).unwrap_or(u32::MAX).clamp(1, 1 << 16) * down;
        let strips = height.div_ceil(strip_rows);
        if u64::from(strips) * self.chunks.len() as u64 > MOST_STRIPS {
            return;
        }
        let strip_bytes = u64::from(strip_rows / down) * row_bytes;
        let split = |&(offset, _): &(u64, u64)| {
            (0..u64::from(strips)).map(move |strip| (offset.saturating_add(strip * strip_bytes), strip_bytes))
        };
        self.chunks = self.chunks.iter().flat_map(split).collect();
        self.chunk.height = strip_rows;
    }

    /// Returns some of the tiles as a picture: a range of columns, then one of rows.
    pub fn part(&self, [columns, rows]: [Range<u32>; 2]) -> Result<Self, SourceError> {
        let size = Size {
            width: self.chunk.width.saturating_mul(columns.len() as u32),
            height: self.chunk.height.saturating_mul(rows.len() as u32),
        };
        let mut chunks = Vec::new();
        for plane in 0..self.planes() {
            for row in rows.clone() {
                for column in columns.clone() {
                    chunks.push(self.place(plane, row, column)?);
                }
            }
        }
        Ok(Self { size, chunks, ..*self })
    }

    /// Returns the offset and length of a chunk of a plane.
    pub fn place(&self, plane: usize, row: u32, column: u32) -> Result<(u64, u64), SourceError> {
        let in_plane = u64::from(self.chunks_across()) * u64::from(self.chunks_down());
        let in_row = u64::from(row) * u64::from(self.chunks_across()) + u64::from(column);
        let index = usize::try_from(plane as u64 * in_plane + in_row).ok();
        index.and_then(|index| self.chunks.get(index)).copied().ok_or_else(|| FORMAT.ends_early())
    }
}

/// Returns the number of bytes in a unit of subsampled YCbCr that is not JPEG: the lumas of its pixels, then Cb and Cr.
///
/// ```text
/// 2 across, 2 down   Y00 Y01 Y10 Y11 Cb Cr        a unit of 2×2 pixels; rows of units
/// ```
/// Source: TIFF 6.0, section 21 ("Ordering of data samples").
pub fn unit_bytes((across, down): (u32, u32)) -> usize {
    (across * down) as usize + 2
}

/// Reads the sample format, which must be the same for all samples of a pixel.
fn sample(tiff: &mut Tiff, directory: &Directory, samples: usize) -> Result<SampleFormat, SourceError> {
    let all = |list: Option<Vec<u64>>, other: u64| {
        let list = list.unwrap_or_default();
        let first = list.first().copied().unwrap_or(other);
        list.iter().take(samples).all(|&value| value == first).then_some(first)
    };
    let bits = all(tiff.list(directory, tag::BITS_PER_SAMPLE)?, 1);
    let format = all(tiff.list(directory, tag::SAMPLE_FORMAT).ok().flatten(), 1);
    match (bits, format) {
        (Some(bits), Some(format)) => SampleFormat::new(bits, if format == 0 { 1 } else { format }),
        _ => Err(FORMAT.unsupported("the samples of a pixel have different formats")),
    }
}

/// Checks that a picture read by another decoder has the size that the directory states.
pub fn check_size(decoded: Decoded, picture: &Picture) -> Result<Decoded, SourceError> {
    if decoded.reader.size() != picture.size {
        return Err(FORMAT.corrupt("a strip or tile does not have the size that the file states"));
    }
    Ok(decoded)
}
