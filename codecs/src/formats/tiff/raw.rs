//! Uncompressed TIFF with 8-bit samples in strips: rows are read from the file directly into the caller's buffer.
//!
//! Source: TIFF 6.0, section 3 (Compression 1), section 8 (StripOffsets, RowsPerStrip).

use std::io::{Read, Seek, SeekFrom};

use ::tiff::decoder::{ChunkType, Decoder};
use ::tiff::tags::Tag;
use edgezoom_content::Size;

use super::error::{NAME, error};
use crate::{Layout, RowReader, SourceError};

/// The value of Compression for uncompressed data.
const NONE: u16 = 1;
/// The value of PhotometricInterpretation for greys whose 0 is white.
const WHITE_IS_0: u16 = 0;

pub struct Raw<R: Read + Seek> {
    size: Size,
    layout: Layout,
    decoder: Decoder<R>,
    /// The offset of each strip.
    offsets: Vec<u64>,
    /// The rows of a strip.
    strip_rows: u32,
    next: u32,
}

/// The offsets of the strips, if the chunks of a TIFF with 8-bit samples in this layout are uncompressed strips.
pub fn offsets<R: Read + Seek>(
    decoder: &mut Decoder<R>,
    size: Size,
    layout: Layout,
) -> Result<Option<Vec<u64>>, SourceError> {
    let compression = decoder.find_tag_unsigned::<u16>(Tag::Compression).map_err(error)?;
    if compression.unwrap_or(NONE) != NONE || decoder.get_chunk_type() != ChunkType::Strip {
        return Ok(None);
    }
    // The decoder inverts such greys, and removes unused samples.
    let photometric = decoder.find_tag_unsigned::<u16>(Tag::PhotometricInterpretation).map_err(error)?;
    let samples = decoder.find_tag_unsigned::<u16>(Tag::SamplesPerPixel).map_err(error)?.unwrap_or(1);
    if photometric == Some(WHITE_IS_0) || usize::from(samples) != layout.channels() {
        return Ok(None);
    }
    let offsets = decoder.get_tag_u64_vec(Tag::StripOffsets).map_err(error)?;
    let lengths = decoder.get_tag_u64_vec(Tag::StripByteCounts).map_err(error)?;
    let rows = decoder.chunk_dimensions().1.clamp(1, size.height);
    let row_bytes = layout.row_bytes(size.width) as u64;
    let strips = size.height.div_ceil(rows) as usize;
    let is_complete = (0..strips).zip(&lengths).all(|(strip, &length)| {
        let first = strip as u64 * u64::from(rows);
        length >= (u64::from(size.height) - first).min(rows.into()) * row_bytes
    });
    Ok((offsets.len() >= strips && lengths.len() >= strips && is_complete).then_some(offsets))
}

impl<R: Read + Seek> Raw<R> {
    /// The picture whose strips begin at these [`offsets`].
    pub fn new(decoder: Decoder<R>, size: Size, layout: Layout, offsets: Vec<u64>) -> Self {
        let strip_rows = decoder.chunk_dimensions().1.clamp(1, size.height);
        Self { size, layout, decoder, offsets, strip_rows, next: 0 }
    }
}

impl<R: Read + Seek> RowReader for Raw<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.layout.row_bytes(self.size.width);
        while !into.is_empty() {
            let (strip, above) = (self.next / self.strip_rows, self.next % self.strip_rows);
            let wanted = u32::try_from(into.len() / row_bytes).unwrap_or(u32::MAX);
            let rows = wanted.min(self.strip_rows - above);
            let (now, later) = into.split_at_mut(rows as usize * row_bytes);
            let too_early = || SourceError::corrupt(NAME, "it ends too early");
            let begin = self.offsets.get(strip as usize).ok_or_else(too_early)?;
            let begin = begin.saturating_add(u64::from(above) * row_bytes as u64);
            let file = self.decoder.inner();
            file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_exact(now)).map_err(|_| too_early())?;
            self.next += rows;
            into = later;
        }
        Ok(())
    }
}
