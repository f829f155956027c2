//! The index of a pyramid that is stored as one archive. It maps each tile to its range of bytes.
//!
//! ```text
//!    8  "EZTILES1"
//!    8  number of tiles, and of other files, which come after the tiles
//!       for each block of 64 tiles:
//!    8    offset of its first tile in the archive
//!    4    offset of its entries from the first block's entries
//!       for each tile, in blocks:
//!    v    length of the tile in bytes
//!    v    gap to the previous tile's end, as the difference to the gap before; not for the first tile of a block
//! ```
//! The left numbers are bytes; fixed numbers are little-endian. `v` is an unsigned LEB128 (DWARF 5, section 7.6);
//! differences are mapped to unsigned numbers by zigzag, as in Protocol Buffers. Tiles are numbered level by level from
//! the smallest, row by row, whatever their order in the archive. A tile takes about four bytes.

use serde::{Deserialize, Serialize};

use crate::Dzi;

const MAGIC: &[u8; 8] = b"EZTILES1";
const HEADER_BYTES: usize = 16;
/// Tiles in a block: a lookup decodes at most one block.
const BLOCK_TILES: usize = 64;
const BLOCK_BYTES: usize = 12;

/// A pyramid in one SZI archive. It has what a reader needs to find a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Archive {
    /// Offset of the [`TileIndex`] in bytes.
    pub index_offset: u64,
    /// Length of the index in bytes.
    pub index_length: u32,
}

/// Range of a tile in the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TileRange {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

impl TileRange {
    /// The range of a tile that is not in the archive.
    pub const EMPTY: Self = Self { offset: 0, length: 0 };
}

/// The encoded index of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileIndex {
    bytes: Vec<u8>,
}

/// The bytes are not an index, or belong to another pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tile index is broken or belongs to another pyramid")]
pub struct TileIndexError;

impl TileIndex {
    /// Encodes an index. `tiles` must be in the order of their numbers ([`tile_number`]); other files may follow.
    #[must_use]
    pub fn encode(tiles: &[TileRange]) -> Self {
        let (mut blocks, mut entries) = (Vec::new(), Vec::new());
        for block in tiles.chunks(BLOCK_TILES) {
            blocks.extend(block[0].offset.to_le_bytes());
            blocks.extend((entries.len() as u32).to_le_bytes());
            let (mut end, mut gap) = (block[0].offset, 0);
            for (number, tile) in block.iter().enumerate() {
                push_varint(&mut entries, tile.length.into());
                if number > 0 {
                    let new_gap = tile.offset.wrapping_sub(end) as i64;
                    push_varint(&mut entries, zigzag(new_gap.wrapping_sub(gap)));
                    gap = new_gap;
                }
                end = tile.offset.wrapping_add(tile.length.into());
            }
        }
        let count = (tiles.len() as u64).to_le_bytes();
        Self { bytes: [MAGIC.as_slice(), &count, &blocks, &entries].concat() }
    }

    /// Reads an index.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an index with this pyramid's number of tiles, and this number of other files.
    pub fn decode(bytes: Vec<u8>, dzi: &Dzi, others: u32) -> Result<Self, TileIndexError> {
        let count = dzi.tile_count() + u64::from(others);
        let header = MAGIC.iter().copied().chain(count.to_le_bytes());
        if bytes.len() < HEADER_BYTES || !bytes.iter().copied().take(HEADER_BYTES).eq(header) {
            return Err(TileIndexError);
        }
        Ok(Self { bytes })
    }

    /// Returns the encoded index.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the range of a tile or another file by its number, or `None` if the index is broken or the archive lacks the tile.
    #[must_use]
    pub fn find(&self, number: u64) -> Option<TileRange> {
        let count = u64::from_le_bytes(*self.bytes.get(8..)?.first_chunk()?);
        if number >= count {
            return None;
        }
        let (number, count) = (usize::try_from(number).ok()?, usize::try_from(count).ok()?);
        let blocks = self.bytes.get(HEADER_BYTES..)?;
        let entries = blocks.get(count.div_ceil(BLOCK_TILES).checked_mul(BLOCK_BYTES)?..)?;
        let block = blocks.get(number / BLOCK_TILES * BLOCK_BYTES..)?;
        let mut offset = u64::from_le_bytes(*block.first_chunk()?);
        let begin = u32::from_le_bytes(*block.get(8..)?.first_chunk()?);
        let mut entries = entries.get(begin as usize..)?;
        let mut length = u32::try_from(take_varint(&mut entries)?).ok()?;
        let mut gap = 0_i64;
        for _ in 0..number % BLOCK_TILES {
            let next_length = u32::try_from(take_varint(&mut entries)?).ok()?;
            gap = gap.wrapping_add(unzigzag(take_varint(&mut entries)?));
            offset = offset.checked_add(length.into())?.checked_add_signed(gap)?;
            length = next_length;
        }
        (length > 0).then_some(TileRange { offset, length })
    }
}

/// Returns a tile's number, counted level by level from the smallest, row by row. `None` if the pyramid has no such
/// tile.
#[must_use]
pub fn tile_number(dzi: &Dzi, level: u32, column: u32, row: u32) -> Option<u64> {
    if level > dzi.max_level() {
        return None;
    }
    let (columns, rows) = dzi.grid(level);
    let count = |(columns, rows): (u32, u32)| u64::from(columns) * u64::from(rows);
    let below: u64 = (0..level).map(|level| count(dzi.grid(level))).sum();
    (column < columns && row < rows).then(|| below + u64::from(row) * u64::from(columns) + u64::from(column))
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn push_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take_varint(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Size, TileFormat};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn an_index_finds_each_tile_again(tiles in prop::collection::vec((any::<u64>(), 1..=u32::MAX), 0..300)) {
            let tiles: Vec<_> = tiles.into_iter().map(|(offset, length)| TileRange { offset: offset >> 1, length }).collect();
            let index = TileIndex::encode(&tiles);
            for (number, tile) in tiles.iter().enumerate() {
                prop_assert_eq!(index.find(number as u64), Some(*tile));
            }
            prop_assert_eq!(index.find(tiles.len() as u64), None);
        }

        #[test]
        fn any_bytes_are_an_index_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), number in 0..300_u64) {
            let size = Size { width: 3000, height: 2000 };
            let dzi = Dzi { size, tile_size: 254, tile_overlap: 1, tile_format: TileFormat::Jpg };
            let head = [b"EZTILES1".as_slice(), &dzi.tile_count().to_le_bytes()].concat();
            if let Ok(index) = TileIndex::decode([head, bytes].concat(), &dzi, 0) {
                let _ = index.find(number);
            }
        }

        #[test]
        fn tiles_are_numbered_without_gaps(width in 1..3000_u32, height in 1..3000_u32) {
            let size = Size { width, height };
            let dzi = Dzi { size, tile_size: 254, tile_overlap: 1, tile_format: TileFormat::Jpg };
            let mut next = 0;
            for level in 0..=dzi.max_level() {
                let (columns, rows) = dzi.grid(level);
                for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                    prop_assert_eq!(tile_number(&dzi, level, column, row), Some(next));
                    next += 1;
                }
                prop_assert_eq!(tile_number(&dzi, level, columns, 0), None);
            }
            prop_assert_eq!(next, dzi.tile_count());
        }
    }
}
