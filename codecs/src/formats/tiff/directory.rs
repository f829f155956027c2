//! Which picture of a TIFF is shown, and a patch that lets the `tiff` crate read colour spaces that it does not know.
//!
//! A TIFF is a list of directories, each a picture: pages, the levels of a pyramid, a thumbnail. The first one is
//! shown, unless a larger one has the same aspect ratio: then the first is a level of a pyramid.
//!
//! ```text
//! directory  count: u16 (BigTIFF: u64)  entries  offset of the next directory
//! entry      tag: u16  type: u16  count: u32  value or its offset: u32            12 bytes, the value at 8
//! BigTIFF    tag: u16  type: u16  count: u64  value or its offset: u64            20 bytes, the value at 12
//! ```
//! Source: TIFF 6.0, section 2; the BigTIFF design.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use ::tiff::decoder::{ChunkType, Decoder};
use ::tiff::tags::Tag;

use super::error::error;
use crate::SourceError;

/// Values of the tag PhotometricInterpretation.
pub const GREY: u16 = 1;
pub const RGB: u16 = 2;
pub const PALETTE: u16 = 3;
pub const LAB: u16 = 8;

/// How many directories are read. A pyramid has one for each halving.
const MAX_LEVELS: usize = 64;
/// The bit of NewSubfileType for a reduced version of another picture.
const REDUCED: u32 = 1;
/// The tolerance for the sides of a level, in pixels of the smaller one: each level is rounded.
const ROUNDING: u64 = 2;

/// Seeks to the picture that is shown.
pub fn choose(decoder: &mut Decoder<PatchedFile>) -> Result<(), SourceError> {
    let first = decoder.dimensions().map_err(error)?;
    let is_thumbnail = is_reduced(decoder);
    let (mut chosen, mut largest) = (0, first);
    for index in 1..MAX_LEVELS {
        // A later page that cannot be read does not prevent the first from being shown.
        if !decoder.more_images() || decoder.next_image().is_err() {
            break;
        }
        let Ok(size) = decoder.dimensions() else { continue };
        let is_level = is_thumbnail && !is_reduced(decoder) || have_same_aspect(first, size);
        if is_level && pixels(size) > pixels(largest) {
            (chosen, largest) = (index, size);
        }
    }
    decoder.seek_to_image(chosen).map_err(error)
}

fn is_reduced(decoder: &mut Decoder<PatchedFile>) -> bool {
    let kind = decoder.find_tag_unsigned::<u32>(Tag::NewSubfileType).ok().flatten();
    kind.is_some_and(|kind| kind & REDUCED != 0)
}

fn pixels((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

/// Whether two sizes have the same aspect ratio, within rounding.
fn have_same_aspect((width, height): (u32, u32), (other_width, other_height): (u32, u32)) -> bool {
    let one = u64::from(width) * u64::from(other_height);
    let other = u64::from(other_width) * u64::from(height);
    one.abs_diff(other) <= ROUNDING * u64::from(width.max(height).max(other_width).max(other_height))
}

/// The colours of a ColorMap: all reds, all greens, all blues, 16 bits each. Source: TIFF 6.0, section 5.
pub fn palette(entries: &[u16]) -> Vec<[u8; 3]> {
    let colours = entries.len() / 3;
    let (reds, others) = entries.split_at(colours);
    let (greens, blues) = others.split_at(colours);
    // Some programs write 8-bit values.
    let is_8_bit = entries.iter().all(|&entry| entry < 256);
    let to_8_bits = |entry: u16| if is_8_bit { entry as u8 } else { crate::colour::samples::round_16(entry) };
    reds.iter()
        .zip(greens)
        .zip(blues)
        .map(|((&red, &green), &blue)| [red, green, blue].map(to_8_bits))
        .collect()
}

/// The offset and the length of each strip or tile.
pub fn chunks<R: Read + Seek>(decoder: &mut Decoder<R>) -> Result<Vec<(u64, u64)>, SourceError> {
    let (offsets, lengths) = match decoder.get_chunk_type() {
        ChunkType::Strip => (Tag::StripOffsets, Tag::StripByteCounts),
        ChunkType::Tile => (Tag::TileOffsets, Tag::TileByteCounts),
    };
    let offsets = decoder.get_tag_u64_vec(offsets).map_err(error)?;
    let lengths = decoder.get_tag_u64_vec(lengths).map_err(error)?;
    Ok(offsets.into_iter().zip(lengths).collect())
}

/// Reads the directory again with another PhotometricInterpretation: chunks are stored the same way in every colour
/// space, but the `tiff` crate refuses those that it does not know.
pub fn patch(decoder: &mut Decoder<PatchedFile>, photometric: u16) -> Result<(), SourceError> {
    let Some(directory) = decoder.ifd_pointer() else { return Ok(()) };
    let file = decoder.inner();
    file.patch(directory.0, photometric)?;
    // The decoder finds a directory by its number only: look for the one with this offset.
    for index in 0..MAX_LEVELS {
        decoder.seek_to_image(index).map_err(error)?;
        if decoder.ifd_pointer() == Some(directory) {
            break;
        }
    }
    Ok(())
}

/// Whether the bits of the chunks' bytes are stored from the lowest to the highest (FillOrder 2, TIFF 6.0, section 8).
pub fn is_reversed(decoder: &mut Decoder<PatchedFile>) -> bool {
    const LOWEST_FIRST: u16 = 2;
    // A JPEG keeps its own order.
    const JPEG: [u16; 2] = [6, 7];
    let mut tag = |tag| decoder.find_tag_unsigned::<u16>(tag).ok().flatten();
    tag(Tag::FillOrder) == Some(LOWEST_FIRST)
        && tag(Tag::Compression).is_none_or(|compression| !JPEG.contains(&compression))
}

/// A TIFF of which two bytes may be replaced, or the bits of every byte reversed.
///
/// Its buffer survives a seek to the present position: chunks mostly follow each other.
pub struct PatchedFile {
    file: BufReader<File>,
    position: u64,
    /// The offset of the replaced bytes, and their new values.
    patch: Option<(u64, [u8; 2])>,
    is_reversed: bool,
}

impl PatchedFile {
    pub fn new(file: BufReader<File>) -> Self {
        Self { file, position: 0, patch: None, is_reversed: false }
    }

    /// Reverses the bits of every byte from now on: for chunks, when the directories are read.
    pub fn reverse(&mut self) {
        self.is_reversed = true;
    }

    /// Finds PhotometricInterpretation in a directory and replaces its value.
    fn patch(&mut self, directory: u64, photometric: u16) -> std::io::Result<()> {
        let mut head = [0; 4];
        self.seek(SeekFrom::Start(0))?;
        self.read_exact(&mut head)?;
        let little = head[0] == b'I';
        let number =
            |bytes: [u8; 2]| if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) };
        let (count_bytes, entry_bytes, value_at) =
            if number([head[2], head[3]]) == 43 { (8, 20, 12) } else { (2, 12, 8) };
        self.seek(SeekFrom::Start(directory))?;
        let mut count = [0; 8];
        self.read_exact(&mut count[..count_bytes])?;
        // No directory has more entries than 16 bits count.
        let (low, high) = ([count[0], count[1]], [count[count_bytes - 2], count[count_bytes - 1]]);
        let entries = number(if little { low } else { high });
        for index in 0..u64::from(entries) {
            let at = directory + count_bytes as u64 + index * entry_bytes;
            let mut tag = [0; 2];
            self.seek(SeekFrom::Start(at))?;
            self.read_exact(&mut tag)?;
            if number(tag) == Tag::PhotometricInterpretation.to_u16() {
                let value = if little { photometric.to_le_bytes() } else { photometric.to_be_bytes() };
                self.patch = Some((at + value_at, value));
                break;
            }
        }
        Ok(())
    }
}

impl Read for PatchedFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        if let Some((at, value)) = self.patch {
            for (place, byte) in (at..).zip(value) {
                let index = place.checked_sub(self.position).and_then(|index| usize::try_from(index).ok());
                if let Some(stored) = index.and_then(|index| buffer[..bytes].get_mut(index)) {
                    *stored = byte;
                }
            }
        }
        if self.is_reversed {
            buffer[..bytes].iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        self.position += bytes as u64;
        Ok(bytes)
    }
}

impl Seek for PatchedFile {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_same_aspect_and_pages_do_not() {
        assert!(have_same_aspect((1001, 667), (501, 334)));
        assert!(have_same_aspect((125, 84), (1001, 667)));
        assert!(!have_same_aspect((1001, 667), (667, 1001)));
        assert!(!have_same_aspect((1001, 667), (1001, 800)));
    }

    #[test]
    fn palettes_have_16_bits_or_8() {
        assert_eq!(palette(&[65535, 0, 257, 0, 514, 0]), [[255, 1, 2], [0, 0, 0]]);
        assert_eq!(palette(&[255, 0, 1, 0, 2, 0]), [[255, 1, 2], [0, 0, 0]]);
    }
}
