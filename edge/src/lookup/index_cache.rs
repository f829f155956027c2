//! The tile indexes of archives that this isolate has read. The least recently used ones leave when the memory limit is
//! reached.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use edgezoom_content::{Attempt, ContentId, Dzi, StoredVectors, TileIndex, Timestamp};

/// Maximum size of all indexes. An isolate has 128 MB; the index of a picture of 20 gigapixels has about half a
/// megabyte.
const MAX_BYTES: usize = 16 << 20;
/// Size of an entry without its index.
const ENTRY_BYTES: usize = 128;
/// Time after which a look-up counts as lost: its request may have ended without a word.
const LOOK_UP: Duration = Duration::from_secs(60);

/// A stored pyramid.
#[derive(Debug)]
pub struct StoredPyramid {
    pub dzi: Dzi,
    pub vectors: Option<StoredVectors>,
    pub index: TileIndex,
}

impl StoredPyramid {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.index.as_bytes().len()
    }
}

type Key = (ContentId, Attempt);

/// The known pyramids, the most recently used last.
pub struct IndexCache {
    entries: Vec<(Key, Rc<StoredPyramid>)>,
    bytes: usize,
    /// Pyramids that a request is looking up, with the time of its beginning.
    loading: Vec<(Key, Timestamp)>,
    max_bytes: usize,
}

thread_local! {
    static CACHE: RefCell<IndexCache> = const { RefCell::new(IndexCache::new(MAX_BYTES)) };
}

/// Calls `with` with the isolate's cache. The cache must not be held across an await.
pub fn with_cache<T>(with: impl FnOnce(&mut IndexCache) -> T) -> T {
    CACHE.with_borrow_mut(with)
}

impl IndexCache {
    /// Returns an empty cache with a memory limit in bytes.
    pub const fn new(max_bytes: usize) -> Self {
        Self { entries: Vec::new(), bytes: 0, loading: Vec::new(), max_bytes }
    }

    pub fn get(&mut self, key: Key) -> Option<Rc<StoredPyramid>> {
        let at = self.entries.iter().position(|(known, _)| *known == key)?;
        let entry = self.entries.remove(at);
        let pyramid = Rc::clone(&entry.1);
        self.entries.push(entry);
        Some(pyramid)
    }

    /// Adds an entry, and removes the least recently used ones beyond the memory limit.
    pub fn insert(&mut self, key: Key, pyramid: &Rc<StoredPyramid>) {
        if self.get(key).is_some() || pyramid.bytes() > self.max_bytes {
            return;
        }
        self.bytes += pyramid.bytes();
        while self.bytes > self.max_bytes {
            self.bytes -= self.entries.remove(0).1.bytes();
        }
        self.entries.push((key, Rc::clone(pyramid)));
    }

    /// Returns true if the caller should look the pyramid up; false if another request is already doing so.
    pub fn begin(&mut self, key: Key, now: Timestamp) -> bool {
        self.loading.retain(|(_, since)| now - *since < LOOK_UP);
        let is_loading = self.loading.iter().any(|(loading, _)| *loading == key);
        if !is_loading {
            self.loading.push((key, now));
        }
        !is_loading
    }

    /// Notes that a look-up has ended.
    pub fn end(&mut self, key: Key) {
        self.loading.retain(|(loading, _)| *loading != key);
    }

    /// Returns the size of all entries in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{Size, TileFormat, TileRange};

    use super::*;

    fn archive(tiles: usize) -> Rc<StoredPyramid> {
        let size = Size { width: 10, height: 10 };
        let dzi = Dzi { size, tile_size: 254, tile_overlap: 1, tile_format: TileFormat::Jpg };
        let tiles = vec![TileRange { offset: 100, length: 7 }; tiles];
        Rc::new(StoredPyramid { dzi, vectors: None, index: TileIndex::encode(&tiles) })
    }

    fn key(attempt: u32) -> Key {
        ("6qy4OXfXSid".parse().unwrap(), Attempt::from_number(attempt).unwrap())
    }

    #[test]
    fn the_memory_is_bounded_and_recently_used_entries_stay() {
        let mut cache = IndexCache::new(3 * archive(1000).bytes());
        for attempt in 1..=3 {
            cache.insert(key(attempt), &archive(1000));
        }
        assert!(cache.get(key(1)).is_some());
        cache.insert(key(4), &archive(1000));
        assert_eq!([1, 2, 3, 4].map(|attempt| cache.get(key(attempt)).is_some()), [true, false, true, true]);
        for attempt in 5..1000 {
            cache.insert(key(attempt), &archive(attempt as usize));
            assert!(cache.bytes() <= cache.max_bytes);
        }
    }

    #[test]
    fn the_index_of_twenty_gigapixels_fits() {
        let size = Size { width: 160_000, height: 125_000 };
        let dzi = Dzi { size, tile_size: 254, tile_overlap: 1, tile_format: TileFormat::Jpg };
        let tiles = dzi.tile_count();
        let mut offset = 0;
        let tiles: Vec<_> = (0..tiles)
            .map(|number| {
                let tile = TileRange { offset, length: 9000 + (number * 7919 % 20_000) as u32 };
                offset += u64::from(tile.length) + 70;
                tile
            })
            .collect();
        let index = TileIndex::encode(&tiles);
        let bytes = index.as_bytes().len();
        assert!(bytes < 5 * tiles.len() && bytes < MAX_BYTES / 4, "{bytes}");
        let mut cache = IndexCache::new(MAX_BYTES);
        for attempt in 1..20 {
            cache.insert(key(attempt), &Rc::new(StoredPyramid { dzi, vectors: None, index: index.clone() }));
            assert!(cache.bytes() <= MAX_BYTES);
        }
    }

    #[test]
    fn only_one_request_looks_a_pyramid_up() {
        let mut cache = IndexCache::new(1000);
        let now = Timestamp(0);
        assert!(cache.begin(key(1), now) && !cache.begin(key(1), now) && cache.begin(key(2), now));
        cache.end(key(1));
        assert!(cache.begin(key(1), now));
    }

    #[test]
    fn look_ups_that_never_end_are_forgotten() {
        let mut cache = IndexCache::new(1000);
        for second in 0..100_000 {
            cache.begin(key(second + 1), Timestamp(u64::from(second) * 1000));
        }
        assert_eq!(cache.loading.len(), 60);
        assert!(cache.begin(key(1), Timestamp(100_000_000)));
    }
}
