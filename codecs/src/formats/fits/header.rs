//! The headers of a FITS, and which of its parts is the picture.
//!
//! ```text
//! a part   header: cards of 80 characters, the last one "END", then spaces up to 2,880     data, zeros up to 2,880
//! a card   "NAXIS1  =                  301 / the width"     "CTYPE1  = 'RA---TAN'"
//! ```
//! Source: FITS Standard 4.0, 3.3, 4.1, 4.2, 4.4.1, 7.1, 10.1.

use std::collections::HashMap;

use super::tiles::Compressed;
use super::{FORMAT, Source, too_short};
use crate::formats::section::array;
use crate::{Bounds, SourceError};

const BLOCK_BYTES: usize = 2880;
const CARD_BYTES: usize = 80;
/// The blocks that a header may have, and the parts that are looked at.
const MAX_BLOCKS: usize = 4096;
const MAX_PARTS: usize = 1000;
/// The same in gzipped files, of which all that comes before a part is unpacked each time.
const MAX_GZIPPED_PARTS: usize = 32;

/// A header's keywords and values, as written.
pub struct Header(HashMap<String, String>);

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
        let bytes = bytes.ok_or_else(|| FORMAT.corrupt("the size of a part is invalid"))?;
        offset = data.saturating_add(bytes.next_multiple_of(BLOCK_BYTES as u64));
    }
    Err(FORMAT.unsupported("it has no picture"))
}

/// Reads a header, and says how many blocks it has. `None` at the end of the file.
fn read(source: &Source, offset: u64, is_first: bool) -> Result<Option<(Header, usize)>, SourceError> {
    // A file may end with the padding of its last part left out.
    let mut reader = match source.from(offset) {
        Err(SourceError::Corrupt { .. }) if !is_first => return Ok(None),
        reader => reader?,
    };
    let mut keywords = HashMap::new();
    for block in 0..MAX_BLOCKS {
        let bytes: [u8; BLOCK_BYTES] = match array(&mut reader) {
            Ok(bytes) => bytes,
            Err(_) if block == 0 && !is_first => return Ok(None),
            Err(_) => return Err(FORMAT.corrupt("it ends in its header")),
        };
        for card in bytes.as_chunks::<CARD_BYTES>().0 {
            let (keyword, rest) = card.split_at(8);
            let keyword = String::from_utf8_lossy(keyword).trim_end().to_owned();
            if keyword == "END" {
                return Ok(Some((Header(keywords), block + 1)));
            }
            if let Some(value) = rest.strip_prefix(b"= ") {
                keywords.entry(keyword).or_insert_with(|| value_of(&String::from_utf8_lossy(value)));
            }
        }
    }
    Err(FORMAT.corrupt("its header has no end"))
}

/// The value of a card, without the quotes of a text and without the comment.
fn value_of(card: &str) -> String {
    let card = card.trim();
    match card.strip_prefix('\'') {
        Some(text) => text.split('\'').next().unwrap_or_default().trim_end().to_owned(),
        None => card.split('/').next().unwrap_or_default().trim().to_owned(),
    }
}

impl Header {
    pub fn text(&self, keyword: &str) -> Option<&str> {
        self.0.get(keyword).map(String::as_str)
    }

    pub fn integer(&self, keyword: &str) -> Option<i64> {
        self.text(keyword)?.parse().ok()
    }

    /// A number; Fortran's exponents are letters D.
    pub fn number(&self, keyword: &str) -> Option<f64> {
        self.text(keyword)?.replace(['D', 'd'], "E").parse().ok()
    }

    pub fn is_true(&self, keyword: &str) -> bool {
        self.text(keyword) == Some("T")
    }

    /// A length of an axis.
    pub fn length(&self, keyword: &str) -> Option<u64> {
        self.integer(keyword).and_then(|length| u64::try_from(length).ok())
    }

    /// The bytes of the data, without padding.
    fn data_bytes(&self) -> Option<u64> {
        let axes = self.integer("NAXIS")?;
        if axes == 0 {
            return Some(0);
        }
        let mut numbers = 1u64;
        for axis in 1..=axes.min(999) {
            let length = self.length(&format!("NAXIS{axis}"))?;
            // The first axis of random groups has the length 0.
            numbers = if axis == 1 && length == 0 && self.is_true("GROUPS") {
                1
            } else {
                numbers.checked_mul(length)?
            };
        }
        let numbers = numbers.checked_add(self.length("PCOUNT").unwrap_or(0))?;
        let bits = self.integer("BITPIX")?.unsigned_abs();
        numbers.checked_mul(self.length("GCOUNT").unwrap_or(1))?.checked_mul(bits / 8)
    }
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
        return Err(FORMAT.corrupt("the size of its numbers is invalid"));
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

/// A number of this width as a float, and as the whole number that it is, for floats 0.
pub fn number(stored: &[u8], bitpix: i64) -> Result<(f64, i64), SourceError> {
    let whole = |number: i64| (number as f64, number);
    Ok(match (bitpix, stored) {
        (8, &[byte]) => whole(byte.into()),
        (16, &[a, b]) => whole(i16::from_be_bytes([a, b]).into()),
        (32, &[a, b, c, d]) => whole(i32::from_be_bytes([a, b, c, d]).into()),
        (64, &[a, b, c, d, e, f, g, h]) => whole(i64::from_be_bytes([a, b, c, d, e, f, g, h])),
        (-32, &[a, b, c, d]) => (f32::from_be_bytes([a, b, c, d]).into(), 0),
        (-64, &[a, b, c, d, e, f, g, h]) => (f64::from_be_bytes([a, b, c, d, e, f, g, h]), 0),
        _ => return Err(too_short()),
    })
}
