//! The headers of a FITS, and which of its parts is the picture.
//!
//! Source: FITS Standard 4.0, 4.4.1, 7.1, 10.1.

use super::cards::{BLOCK_BYTES, Header, read};
use super::compressed::Compressed;
use super::error::NAME;
use super::source::Source;
use crate::{Bounds, SourceError};

/// The parts that are looked at.
const MAX_PARTS: usize = 1000;
/// The same in gzipped files, of which all that comes before a part is unpacked each time.
const MAX_GZIPPED_PARTS: usize = 32;

/// The picture that is shown.
#[derive(Clone)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    /// 1, or 3: red, green and blue.
    pub planes: usize,
    /// The bits of a number; negative ones are floats.
    pub bitpix: i64,
    /// The value of a number: `zero + scale × number`.
    pub scale: f64,
    pub zero: f64,
    /// The number that stands for no value.
    pub blank: Option<i64>,
    /// Where its numbers, or the table of its tiles, begin.
    pub at: u64,
    pub compressed: Option<Compressed>,
}

impl Picture {
    /// Whether its numbers are bytes that mean what they are.
    pub fn is_plain_bytes(&self) -> bool {
        self.bitpix == 8 && self.scale == 1.0 && self.zero == 0.0 && self.blank.is_none()
    }

    pub fn sample_bytes(&self) -> usize {
        self.bitpix.unsigned_abs() as usize / 8
    }
}

/// Finds the first picture that has pixels.
pub fn find(source: &Source, bounds: Bounds) -> Result<Picture, SourceError> {
    // No part can have more bytes than the picture may have pixels of 64 bits; a gzipped file could claim any.
    let most = bounds.pixels.saturating_mul(8).saturating_add(u64::from(u32::MAX));
    let mut offset = 0u64;
    for part in 0..if source.is_gzipped { MAX_GZIPPED_PARTS } else { MAX_PARTS } {
        let Some((header, blocks)) = read(source, offset, part == 0)? else { break };
        let data = offset.saturating_add((blocks * BLOCK_BYTES) as u64);
        if let Some(picture) = picture(&header, data)? {
            return Ok(picture);
        }
        let bytes = header.data_bytes().filter(|&bytes| bytes <= most);
        let bytes = bytes.ok_or_else(|| NAME.corrupt("the size of a part is invalid"))?;
        offset = data.saturating_add(bytes.next_multiple_of(BLOCK_BYTES as u64));
    }
    Err(NAME.unsupported("it has no picture"))
}

/// The picture that a part is. `None` for tables, and parts without pixels.
fn picture(header: &Header, at: u64) -> Result<Option<Picture>, SourceError> {
    let is_compressed = header.is_true("ZIMAGE");
    let prefix = if is_compressed { "Z" } else { "" };
    let is_table = !matches!(header.text("XTENSION"), None | Some("IMAGE" | "IUEIMAGE"));
    let integer = |keyword: &str| header.integer(&format!("{prefix}{keyword}"));
    let length = |axis: u8| u32::try_from(integer(&format!("NAXIS{axis}")).unwrap_or(0)).unwrap_or(u32::MAX);
    let axes = integer("NAXIS").unwrap_or(0);
    if is_table && !is_compressed || axes < 2 || length(1) == 0 || length(2) == 0 {
        return Ok(None);
    }
    let bitpix = integer("BITPIX").unwrap_or(0);
    if !matches!(bitpix, 8 | 16 | 32 | 64 | -32 | -64) {
        return Err(NAME.corrupt("the size of its numbers is invalid"));
    }
    let planes = if axes >= 3 && length(3) == 3 { 3 } else { 1 };
    let (width, height) = (length(1), length(2));
    let compressed = match is_compressed {
        true => Some(Compressed::of(header, at, [width, height, planes as u32])?),
        false => None,
    };
    let blank = header.integer(if is_compressed { "ZBLANK" } else { "BLANK" }).or(header.integer("BLANK"));
    Ok(Some(Picture {
        width,
        height,
        planes,
        bitpix,
        scale: header.number("BSCALE").unwrap_or(1.0),
        zero: header.number("BZERO").unwrap_or(0.0),
        blank: blank.filter(|_| bitpix > 0),
        at,
        compressed,
    }))
}
