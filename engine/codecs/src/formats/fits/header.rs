//! The picture that is shown: the first part of the file that has pixels, plain or in a table of compressed tiles.
//!
//! Source: FITS Standard 4.0, 4.4.1, 7.1, 10.1.

use edgezoom_geometry::Scale;

use super::cards::{BLOCK_BYTES, Header, read};
use super::{FORMAT, Source, rice, sky};
use crate::{Bounds, SourceError};

/// The largest number of parts that are read.
const MAX_PARTS: usize = 1000;
/// The same for gzipped files, where everything before a part is decompressed each time.
const MAX_GZIPPED_PARTS: usize = 32;

/// The picture that is shown.
#[derive(Clone)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    /// 1, or 3: red, green and blue.
    pub planes: usize,
    /// Bits of a number. Negative for floats.
    pub bitpix: i64,
    /// The value of a number: `zero + scale × number`.
    pub scale: f64,
    pub zero: f64,
    /// The number that stands for a missing value.
    pub blank: Option<i64>,
    /// The offset of its numbers, or of the table of its tiles.
    pub at: u64,
    pub compressed: Option<Table>,
    /// Size of a pixel on the sky.
    pub sky: Option<Scale>,
}

impl Picture {
    /// Returns true if its numbers are bytes without scaling.
    pub fn is_plain_bytes(&self) -> bool {
        self.bitpix == 8 && self.scale == 1.0 && self.zero == 0.0 && self.blank.is_none()
    }

    pub fn sample_bytes(&self) -> usize {
        self.bitpix.unsigned_abs() as usize / 8
    }

    /// Returns the value of a stored number, given as a float and as an integer. NaN if it is missing.
    pub fn value(&self, float: f64, integer: i64) -> f64 {
        if self.blank == Some(integer) { f64::NAN } else { self.zero + self.scale * float }
    }
}

/// Finds the first picture that has pixels.
pub fn find(source: &Source, bounds: Bounds) -> Result<Picture, SourceError> {
    // No part may have more bytes than the largest picture of 64 bits. A gzipped file could claim any size.
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

/// Returns the picture of a part, or `None` for a table or a part without pixels.
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
        return Err(FORMAT.corrupt("its numbers have an invalid size"));
    }
    let planes = if axes >= 3 && length(3) == 3 { 3 } else { 1 };
    let [width, height] = [1, 2].map(length);
    let compressed =
        if is_compressed { Some(Table::of(header, at, [width, height, planes as u32])?) } else { None };
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
        sky: sky::scale(header),
    }))
}

/// The table of a picture that is stored in compressed tiles.
#[derive(Clone)]
pub struct Table {
    pub table_at: u64,
    pub heap_at: u64,
    pub row_bytes: u64,
    pub tiles: u64,
    pub tile_width: u32,
    pub tile_height: u32,
    pub algorithm: Algorithm,
    pub packed: Option<Column>,
    pub gzipped: Option<Column>,
    pub raw: Option<Column>,
    pub scale: Option<Column>,
    pub zero: Option<Column>,
    pub blank: Option<Column>,
    /// The number that stands for a missing value in all tiles.
    pub blank_number: Option<i64>,
    /// The seed of random numbers, and true if zeros are not dithered.
    pub dither: Option<(u64, bool)>,
}

/// The compression of tiles.
#[derive(Clone, Copy)]
pub enum Algorithm {
    Rice(rice::Parameters),
    Gzip { is_shuffled: bool },
}

/// A column of the table, as its offset in a row and its type.
#[derive(Clone, Copy)]
pub struct Column {
    pub at: u64,
    pub kind: u8,
}

impl Table {
    pub fn of(header: &Header, at: u64, [width, height, _]: [u32; 3]) -> Result<Self, SourceError> {
        let tile =
            |axis: u8| header.integer(&format!("ZTILE{axis}")).and_then(|side| u32::try_from(side).ok());
        let (tile_width, tile_height) = (tile(1).unwrap_or(width), tile(2).unwrap_or(1));
        if tile(3).unwrap_or(1) != 1 || tile_width == 0 || tile_height == 0 {
            return Err(FORMAT.unsupported("its tiles have several planes"));
        }
        let algorithm = match header.text("ZCMPTYPE") {
            Some("RICE_1" | "RICE_ONE") => Algorithm::Rice(rice::Parameters::of(header)),
            Some("GZIP_1") => Algorithm::Gzip { is_shuffled: false },
            Some("GZIP_2") => Algorithm::Gzip { is_shuffled: true },
            other => {
                return Err(
                    FORMAT.unsupported(format_args!("its tiles are compressed by {}", other.unwrap_or("?")))
                );
            }
        };
        let (row_bytes, tiles) = (header.length("NAXIS1").unwrap_or(0), header.length("NAXIS2").unwrap_or(0));
        let heap = header.length("THEAP").or(row_bytes.checked_mul(tiles)).unwrap_or(u64::MAX);
        let columns = columns(header);
        let column = |name: &str| columns.iter().find(|(known, _)| known == name).map(|(_, column)| *column);
        let seed = header.length("ZDITHER0").unwrap_or(1);
        Ok(Self {
            table_at: at,
            heap_at: at.saturating_add(heap),
            row_bytes,
            tiles,
            tile_width: tile_width.min(width),
            tile_height: tile_height.min(height),
            algorithm,
            packed: column("COMPRESSED_DATA"),
            gzipped: column("GZIP_COMPRESSED_DATA"),
            raw: column("UNCOMPRESSED_DATA"),
            scale: column("ZSCALE"),
            zero: column("ZZERO"),
            blank: column("ZBLANK"),
            blank_number: header.integer("ZBLANK"),
            dither: match header.text("ZQUANTIZ") {
                Some("SUBTRACTIVE_DITHER_1") => Some((seed, false)),
                Some("SUBTRACTIVE_DITHER_2") => Some((seed, true)),
                _ => None,
            },
        })
    }
}

/// Returns the columns of a table with their names.
fn columns(header: &Header) -> Vec<(String, Column)> {
    let mut at = 0u64;
    let mut columns = Vec::new();
    for index in 1..=header.integer("TFIELDS").unwrap_or(0).clamp(0, 999) {
        let form = header.text(&format!("TFORM{index}")).unwrap_or_default();
        let digits = form.bytes().take_while(u8::is_ascii_digit).count();
        let (repeat, kind) = form.split_at(digits);
        let repeat = if digits == 0 { 1 } else { repeat.parse().unwrap_or(0) };
        let kind = kind.bytes().next().unwrap_or_default();
        let width = match kind {
            b'I' => 2,
            b'J' | b'E' => 4,
            b'K' | b'D' | b'C' | b'P' => 8,
            b'M' | b'Q' => 16,
            _ => 1,
        };
        let name = header.text(&format!("TTYPE{index}")).unwrap_or_default().to_ascii_uppercase();
        columns.push((name, Column { at, kind }));
        at = at.saturating_add(width * u64::from(u32::try_from(repeat).unwrap_or(u32::MAX)));
    }
    columns
}
