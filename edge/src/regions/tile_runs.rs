//! Reads of many tiles of an archive: tiles that lie beside each other are read at once, because each read costs money
//! and time, and bytes hardly do.

use edgezoom_content::TileRange;

/// Maximum number of bytes between two tiles that are read at once. Within a row of tiles there are about a hundred.
const MAX_GAP: u64 = 32 << 10;
/// Maximum length of a read, so that its end fits into an `u32`.
const MAX_RUN: u64 = 64 << 20;

/// Ranges to read, and where the tiles are in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileRuns {
    /// Offset and length of each range in the archive.
    pub runs: Vec<(u64, u32)>,
    /// For each tile, in the order in which the tiles were given: the number of its range, its start in it, and its
    /// length.
    pub tiles: Vec<(u32, u32, u32)>,
}

impl TileRuns {
    pub fn new(tiles: &[TileRange]) -> Self {
        // A region has few tiles, most of them in order already. The standard library's sorting is 2 KB of the module.
        let mut order: Vec<(u64, usize)> = Vec::with_capacity(tiles.len());
        for (number, tile) in tiles.iter().enumerate() {
            let at = order.partition_point(|(offset, _)| *offset <= tile.offset);
            order.insert(at, (tile.offset, number));
        }
        let mut all = Self { runs: Vec::new(), tiles: vec![(0, 0, 0); tiles.len()] };
        for (_, number) in order {
            let (Some(tile), Some(place)) = (tiles.get(number), all.tiles.get_mut(number)) else { continue };
            let TileRange { offset, length } = *tile;
            let end = offset + u64::from(length);
            match all.runs.last_mut() {
                Some((start, read))
                    if offset <= *start + u64::from(*read) + MAX_GAP && end - *start <= MAX_RUN =>
                {
                    *read = (*read).max((end - *start) as u32);
                }
                _ => all.runs.push((offset, length)),
            }
            let run = all.runs.len() - 1;
            let start = all.runs.last().map_or(0, |(start, _)| offset - start);
            *place = (run as u32, start as u32, length);
        }
        all
    }

    /// Returns the number of bytes of all ranges.
    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(|(_, length)| u64::from(*length)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tile(offset: u64, length: u32) -> TileRange {
        TileRange { offset, length }
    }

    #[test]
    fn rows_of_neighbours_are_read_at_once() {
        let far = 5_000_000_000;
        let tiles = [tile(100, 900), tile(1070, 930), tile(far, 50), tile(far + 120, 60)];
        let runs = TileRuns::new(&tiles);
        assert_eq!(runs.runs, [(100, 1900), (far, 180)]);
        assert_eq!(runs.tiles, [(0, 0, 900), (0, 970, 930), (1, 0, 50), (1, 120, 60)]);
        assert_eq!(runs.bytes(), 2080);
    }

    proptest! {
        #[test]
        fn every_tile_is_in_its_range(
            tiles in prop::collection::vec((0_u64..1 << 40, 0_u32..1 << 24), 0..48),
            near in prop::collection::vec((0_u64..1 << 20, 0_u32..1 << 16), 0..48),
        ) {
            let tiles: Vec<_> = tiles.into_iter().chain(near).map(|(offset, length)| tile(offset, length)).collect();
            let TileRuns { runs, tiles: places } = TileRuns::new(&tiles);
            prop_assert!(runs.len() <= tiles.len());
            for (tile, (run, start, length)) in tiles.iter().zip(&places) {
                let (offset, read) = runs[*run as usize];
                prop_assert_eq!((offset + u64::from(*start), *length), (tile.offset, tile.length));
                prop_assert!(start + length <= read);
            }
        }
    }
}
