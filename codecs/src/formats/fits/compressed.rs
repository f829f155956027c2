//! What a header says of a picture that is stored in compressed tiles: a table with a row a tile.
//!
//! Source: FITS Standard 4.0, 10.1.

use super::cards::Header;
use super::error::NAME;
use super::rice;
use crate::SourceError;

/// How a picture is stored in tiles.
#[derive(Clone)]
pub struct Compressed {
    pub table_at: u64,
    pub heap_at: u64,
    pub row_bytes: u64,
    pub tiles: u64,
    pub tile_width: u32,
    pub tile_height: u32,
    pub algorithm: Algorithm,
    /// Where the columns are in a row of the table.
    pub packed: Option<Column>,
    pub gzipped: Option<Column>,
    pub raw: Option<Column>,
    pub scale: Option<Column>,
    pub zero: Option<Column>,
    pub blank: Option<Column>,
    /// The number that stands for no value, in all tiles.
    pub blank_number: Option<i64>,
    /// The first random number, and whether zeros are stored as such.
    pub dither: Option<(u64, bool)>,
}

#[derive(Clone, Copy)]
pub enum Algorithm {
    Rice(rice::Parameters),
    Gzip { is_shuffled: bool },
}

/// A column of the table.
#[derive(Clone, Copy)]
pub struct Column {
    pub at: u64,
    pub kind: u8,
}

impl Compressed {
    pub fn of(header: &Header, at: u64, [width, height, _]: [u32; 3]) -> Result<Self, SourceError> {
        let tile =
            |axis: u8| header.integer(&format!("ZTILE{axis}")).and_then(|side| u32::try_from(side).ok());
        let (tile_width, tile_height) = (tile(1).unwrap_or(width), tile(2).unwrap_or(1));
        if tile(3).unwrap_or(1) != 1 || tile_width == 0 || tile_height == 0 {
            return Err(NAME.unsupported("its tiles have several planes"));
        }
        let algorithm = match header.text("ZCMPTYPE") {
            Some("RICE_1" | "RICE_ONE") => Algorithm::Rice(rice::Parameters::of(header)),
            Some("GZIP_1") => Algorithm::Gzip { is_shuffled: false },
            Some("GZIP_2") => Algorithm::Gzip { is_shuffled: true },
            other => {
                return Err(
                    NAME.unsupported(format_args!("its tiles are compressed by {}", other.unwrap_or("?")))
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

/// The names of the table's columns and where they are.
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
