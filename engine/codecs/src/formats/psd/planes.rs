//! The planes of the merged picture: all rows of the first channel, all rows of the second, and so on.
//!
//! ```text
//! 0  raw
//! 1  PackBits  the packed length of each row of each plane: u16 (PSB: u32)   then the packed rows
//! 2  zlib      all planes in one stream            3  the same, with each sample minus the one to its left
//! ```
//! Source: Adobe Photoshop File Formats Specification, "Image Data Section".
//! Prediction follows Adobe's TIFF Technical Note 3, including that of 32 bits.

use std::io::{BufReader, Read};
use std::sync::Arc;

use flate2::bufread::ZlibDecoder;

use super::FORMAT;
use super::header::Header;
use crate::formats::section::{Section, array};
use crate::pack_bits::unpack_bits;
use crate::{Bounds, SourceError, SourceFile};

/// Bytes of a plane that are read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// The planes that are shown. Each is read through a reader of its own.
pub enum Planes {
    Raw(Vec<BufReader<Section>>),
    Packed(Vec<Packed>),
    Zipped { planes: Vec<ZlibDecoder<BufReader<Section>>>, depth: u16, is_predicted: bool },
}

/// A plane whose rows are compressed by PackBits.
pub struct Packed {
    file: BufReader<Section>,
    /// The compressed lengths of its rows, from the last to the first.
    lengths: Vec<u32>,
    row: Vec<u8>,
}

impl Planes {
    /// Opens the first `planes` planes.
    pub fn open(
        file: &Arc<SourceFile>,
        header: &Header,
        planes: usize,
        bounds: Bounds,
    ) -> Result<Self, SourceError> {
        let mut start = Section::new(file, header.pixels_at, u64::MAX).buffered(BUFFER_BYTES);
        let compression = u16::from_be_bytes(array(&mut start).map_err(|_| FORMAT.ends_early())?);
        let pixels_at = header.pixels_at.saturating_add(2);
        let plane_bytes = header.row_bytes() as u64 * u64::from(header.height);
        let buffered = |at: u64| Section::new(file, at, u64::MAX).buffered(BUFFER_BYTES);
        match compression {
            0 => {
                let at = |plane: usize| pixels_at.saturating_add(plane as u64 * plane_bytes);
                Ok(Self::Raw((0..planes).map(|plane| buffered(at(plane))).collect()))
            }
            1 => {
                let entry = if header.is_large { 4 } else { 2 };
                let rows = u64::from(header.height);
                bounds.admit_memory(planes as u64 * rows * 4, "finding the rows of a PSD")?;
                let mut at = pixels_at.saturating_add(rows * u64::from(header.channels) * entry);
                let mut packed = Vec::new();
                for _ in 0..planes {
                    let (file, mut lengths) = (buffered(at), Vec::new());
                    for _ in 0..header.height {
                        lengths.push(length(&mut start, header.is_large)?);
                    }
                    at = lengths.iter().fold(at, |at, &length| at.saturating_add(length.into()));
                    lengths.reverse();
                    packed.push(Packed { file, lengths, row: Vec::new() });
                }
                Ok(Self::Packed(packed))
            }
            2 | 3 => {
                let mut zipped = Vec::new();
                for plane in 0..planes as u64 {
                    // Everything before a plane has to be decompressed, too.
                    let mut zip = ZlibDecoder::new(buffered(pixels_at));
                    let before = plane * plane_bytes;
                    let skipped = std::io::copy(&mut (&mut zip).take(before), &mut std::io::sink());
                    if skipped.ok() != Some(before) {
                        return Err(FORMAT.ends_early());
                    }
                    zipped.push(zip);
                }
                Ok(Self::Zipped { planes: zipped, depth: header.depth, is_predicted: compression == 3 })
            }
            other => Err(FORMAT.unsupported(format_args!("it has compression {other}"))),
        }
    }

    /// Reads the next row of a plane.
    pub fn read_row(&mut self, plane: usize, row: &mut [u8]) -> Result<(), SourceError> {
        match self {
            Self::Raw(planes) => {
                let plane = planes.get_mut(plane).ok_or_else(|| FORMAT.ends_early())?;
                plane.read_exact(row).map_err(|_| FORMAT.ends_early())
            }
            Self::Packed(planes) => planes.get_mut(plane).ok_or_else(|| FORMAT.ends_early())?.read_row(row),
            Self::Zipped { planes, depth, is_predicted } => {
                let plane = planes.get_mut(plane).ok_or_else(|| FORMAT.ends_early())?;
                plane.read_exact(row).map_err(|_| FORMAT.ends_early())?;
                if *is_predicted {
                    add_up(row, *depth);
                }
                Ok(())
            }
        }
    }
}

impl Packed {
    fn read_row(&mut self, row: &mut [u8]) -> Result<(), SourceError> {
        let length = self.lengths.pop().ok_or_else(|| FORMAT.ends_early())? as usize;
        // The worst encoding takes two bytes for each byte.
        if length > 2 * row.len() + 1024 {
            return Err(FORMAT.corrupt("a compressed row is too long"));
        }
        self.row.resize(length, 0);
        self.file.read_exact(&mut self.row).map_err(|_| FORMAT.ends_early())?;
        if unpack_bits(&self.row, row) < row.len() {
            return Err(FORMAT.corrupt("a compressed row is too short"));
        }
        Ok(())
    }
}

/// Undoes the prediction in a row.
fn add_up(row: &mut [u8], depth: u16) {
    match depth {
        16 => {
            let mut sum = 0u16;
            for sample in row.as_chunks_mut::<2>().0 {
                sum = sum.wrapping_add(u16::from_be_bytes(*sample));
                *sample = sum.to_be_bytes();
            }
        }
        _ => {
            let mut sum = 0u8;
            for byte in row.iter_mut() {
                sum = sum.wrapping_add(*byte);
                *byte = sum;
            }
            if depth == 32 {
                // The bytes of floats are separated: all first bytes, all second bytes …
                let apart = row.to_vec();
                let samples = apart.len() / 4;
                for (index, byte) in row.iter_mut().enumerate() {
                    *byte = apart.get(index % 4 * samples + index / 4).copied().unwrap_or_default();
                }
            }
        }
    }
}

fn length(file: &mut BufReader<Section>, is_large: bool) -> Result<u32, SourceError> {
    let length = if is_large {
        array(file).map(u32::from_be_bytes)
    } else {
        array(file).map(|bytes| u16::from_be_bytes(bytes).into())
    };
    length.map_err(|_| FORMAT.ends_early())
}
