//! Fuzz target for the tile index, which is read from an object store. It takes any bytes, and panics if an invariant
//! is broken. The test below runs it briefly on mutated inputs; a program in `tests/fuzz/` runs it under libFuzzer.

use crate::{Dzi, Size, TileFormat, TileIndex, tile_number};

/// Looks tiles up in an index. The first four bytes are the picture's size, the rest is the index.
///
/// # Panics
/// If a tile without bytes is found.
pub fn tile_index(bytes: &[u8]) {
    let Some((&[a, b, c, d], rest)) = bytes.split_first_chunk() else { return };
    let size =
        Size { width: u32::from_le_bytes([a, b, 0, 0]) + 1, height: u32::from_le_bytes([c, d, 0, 0]) + 1 };
    let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg };
    // With the pyramid's number of tiles, without which no index is decoded.
    let mut index = rest.to_vec();
    if let Some(count) = index.get_mut(8..16) {
        count.copy_from_slice(&dzi.tile_count().to_le_bytes());
    }
    let Ok(index) = TileIndex::decode(index, &dzi, 0) else { return };
    for (level, column, row) in
        [(0, 0, 0), (dzi.max_level(), 0, 0), (dzi.max_level(), 1, 7), (7, u32::MAX, 0)]
    {
        if let Some(number) = tile_number(&dzi, level, column, row) {
            assert!(index.find(number).is_none_or(|tile| tile.length > 0));
        }
    }
    let _ = index.find(u64::MAX);
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn an_index_of_any_bytes_is_read_or_refused() {
        hunt(&[Target {
            name: "tile_index",
            run: tile_index,
            seeds: &[
                b"\x00\x08\x00\x06EZTILES1\x0f\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\0\x90\x03\x80\x04\x02\x81\
                    \x08\x00",
                b"\xff\xff\xff\xff",
            ],
        }]);
    }
}
