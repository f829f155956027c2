//! The headers of a file's parts, and the numbers in it.
//!
//! ```text
//! a part   header: cards of 80 characters, the last one "END", then spaces up to 2,880     data, zeros up to 2,880
//! a card   "NAXIS1  =                  301 / the width"     "CTYPE1  = 'RA---TAN'"
//! ```
//! Source: FITS Standard 4.0, 3.3, 4.1, 4.2, 5.

use std::collections::HashMap;

use super::{FORMAT, Source};
use crate::SourceError;
use crate::formats::section::array;

pub const BLOCK_BYTES: usize = 2880;
const CARD_BYTES: usize = 80;
/// The largest number of blocks in a header.
const MAX_BLOCKS: usize = 4096;

/// A header's keywords with their values, as written.
pub struct Header(HashMap<String, String>);

/// Reads a header, and returns it with its number of blocks. Returns `None` at the end of the file.
pub fn read(source: &Source, offset: u64, is_first: bool) -> Result<Option<(Header, usize)>, SourceError> {
    // The last part may lack its padding.
    let mut reader = match source.from(offset) {
        Err(SourceError::Corrupt { .. }) if !is_first => return Ok(None),
        reader => reader?,
    };
    let mut keywords = HashMap::new();
    for block in 0..MAX_BLOCKS {
        let bytes: [u8; BLOCK_BYTES] = match array(&mut reader) {
            Ok(bytes) => bytes,
            Err(_) if block == 0 && !is_first => return Ok(None),
            Err(_) => return Err(FORMAT.ends_in_header()),
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

/// Returns the value of a card, without quotes and comment.
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

    /// Returns a number. Its exponent may be a letter D, as in Fortran.
    pub fn number(&self, keyword: &str) -> Option<f64> {
        self.text(keyword)?.replace(['D', 'd'], "E").parse().ok()
    }

    pub fn is_true(&self, keyword: &str) -> bool {
        self.text(keyword) == Some("T")
    }

    /// Returns the length of an axis.
    pub fn length(&self, keyword: &str) -> Option<u64> {
        self.integer(keyword).and_then(|length| u64::try_from(length).ok())
    }

    /// Returns the bytes of the data, without padding.
    pub fn data_bytes(&self) -> Option<u64> {
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

/// Converts a stored number to a float and to an integer, which is 0 for floats.
pub fn number(stored: &[u8], bitpix: i64) -> Result<(f64, i64), SourceError> {
    let integer = |number: i64| (number as f64, number);
    Ok(match (bitpix, stored) {
        (8, &[byte]) => integer(byte.into()),
        (16, &[a, b]) => integer(i16::from_be_bytes([a, b]).into()),
        (32, &[a, b, c, d]) => integer(i32::from_be_bytes([a, b, c, d]).into()),
        (64, &[a, b, c, d, e, f, g, h]) => integer(i64::from_be_bytes([a, b, c, d, e, f, g, h])),
        (-32, &[a, b, c, d]) => (f32::from_be_bytes([a, b, c, d]).into(), 0),
        (-64, &[a, b, c, d, e, f, g, h]) => (f64::from_be_bytes([a, b, c, d, e, f, g, h]), 0),
        _ => return Err(FORMAT.ends_early()),
    })
}
