//! Memory in a file, allocated in blocks of a few sizes: whole pages, with eight sizes between one power of two and the next,
//! so that at most a ninth of a block is unused. Each size has a list of free blocks; memory that was never used is behind
//! all blocks. Blocks are not split or joined, because decoders request few sizes.
//!
//! It is part of the program's allocator, so nothing here may allocate once it is open.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::mapped::Mapping;
use crate::scratch::TemporaryFile;

/// Size of a page in bytes, and alignment of blocks.
const PAGE_BYTES: usize = 4096;
/// Number of sizes of blocks, up to 16 GiB.
const SIZES: usize = 160;
/// Leading bits of a number of pages that distinguish sizes, with the first bit.
const BITS: u32 = 4;
/// Number of bytes by which the file grows.
const GROWTH_BYTES: usize = 4 << 20;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Memory in a file.
pub struct Region {
    /// Address, or 0 if the region is not open.
    start: AtomicUsize,
    /// Length in bytes, or 0 if the region is not open.
    bytes: AtomicUsize,
    opened: OnceLock<Opened>,
    blocks: Mutex<Blocks>,
}

/// A file, and the offset of the region in it.
struct Opened {
    file: Arc<File>,
    offset: u64,
    mapping: Mapping,
}

struct Blocks {
    /// Address of the first free block of each size, or 0. A free block begins with the address of the next one.
    free: [usize; SIZES],
    /// Number of bytes that are, or have been, in blocks.
    used: usize,
    /// Number of bytes that the file has.
    allocated: usize,
}

impl Region {
    pub const fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            opened: OnceLock::new(),
            blocks: Mutex::new(Blocks { free: [0; SIZES], used: 0, allocated: 0 }),
        }
    }

    /// Opens the region in a file, from an offset on, unless it is open at or behind that offset or a scratch has some of its
    /// bytes. Returns its length.
    pub fn open(&self, temporary: &TemporaryFile, offset: u64) -> Option<u64> {
        if let Some(opened) = self.opened.get() {
            let is_free = Arc::ptr_eq(&opened.file, temporary.file()) && opened.offset >= offset;
            return is_free.then(|| self.bytes.load(Ordering::Relaxed) as u64);
        }
        let offset = offset.checked_next_multiple_of(PAGE_BYTES as u64)?;
        let bytes = temporary.bytes().checked_sub(offset)? / PAGE_BYTES as u64 * PAGE_BYTES as u64;
        let length = usize::try_from(bytes).ok().filter(|length| *length > 0)?;
        if !temporary.give_to_allocator(offset) {
            return None;
        }
        let mapping = Mapping::of(temporary.file(), offset, length).ok()?;
        let start = mapping.start() as usize;
        self.opened.set(Opened { file: Arc::clone(temporary.file()), offset, mapping }).ok()?;
        self.bytes.store(length, Ordering::Relaxed);
        self.start.store(start, Ordering::Release);
        Some(bytes)
    }

    /// Returns true for memory of the region.
    pub fn contains(&self, memory: *mut u8) -> bool {
        let start = self.start.load(Ordering::Relaxed);
        start != 0 && (memory as usize).wrapping_sub(start) < self.bytes.load(Ordering::Relaxed)
    }

    /// Returns a block for a layout, if there is room.
    pub fn allocate(&self, layout: Layout, zeroed: bool) -> Option<*mut u8> {
        let opened = self.opened.get().filter(|_| layout.align() <= PAGE_BYTES)?;
        let (number, size) = size_of(layout.size())?;
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let first = blocks.free.get_mut(number)?;
        if *first != 0 {
            let block = ptr::with_exposed_provenance_mut::<u8>(*first);
            // SAFETY: a free block belongs to this region, is aligned to pages, and begins with the address that `free` wrote.
            *first = unsafe { block.cast::<usize>().read() };
            drop(blocks);
            if zeroed {
                // SAFETY: the block has that many bytes, and is no longer in the list of free blocks.
                unsafe { block.write_bytes(0, layout.size()) };
            }
            return Some(block);
        }
        let end = blocks.used.checked_add(size).filter(|end| *end <= self.bytes.load(Ordering::Relaxed))?;
        while blocks.allocated < end.next_multiple_of(GROWTH_BYTES).min(self.bytes.load(Ordering::Relaxed)) {
            // Allocating the file's blocks here makes a full disk a lack of memory, rather than a signal on a write.
            let left = self.bytes.load(Ordering::Relaxed) - blocks.allocated;
            let zeros = &ZEROS[..left.min(ZEROS.len())];
            opened.file.write_all_at(zeros, opened.offset + blocks.allocated as u64).ok()?;
            blocks.allocated += zeros.len();
        }
        let begin = std::mem::replace(&mut blocks.used, end);
        // SAFETY: the mapping has all bytes of the region, and these have never been in a block.
        Some(unsafe { opened.mapping.start().add(begin) })
    }

    /// Frees a block.
    ///
    /// # Safety
    /// `memory` comes from [`Region::allocate`] with this layout, and is not used afterwards.
    pub unsafe fn free(&self, memory: *mut u8, layout: Layout) {
        let Some((number, _)) = size_of(layout.size()) else { return };
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = blocks.free.get_mut(number) else { return };
        // SAFETY: the block belongs to the caller, is aligned to pages, and has at least one.
        unsafe { memory.cast::<usize>().write(*first) };
        *first = memory.expose_provenance();
    }
}

/// Returns the number of the smallest size of at least `bytes` bytes, and its bytes. `None`: there is none.
fn size_of(bytes: usize) -> Option<(usize, usize)> {
    let last = bytes.max(1).checked_add(PAGE_BYTES - 1)? / PAGE_BYTES - 1;
    let shift = (usize::BITS - last.leading_zeros()).saturating_sub(BITS);
    let step = last >> shift;
    let number = (shift as usize) * (1 << (BITS - 1)) + step;
    let bytes = (step + 1).checked_shl(shift)?.checked_mul(PAGE_BYTES)?;
    (number < SIZES).then_some((number, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 64).unwrap()
    }

    fn all(memory: *mut u8, bytes: usize, value: u8) -> bool {
        // SAFETY: the tests read only the blocks that they have.
        unsafe { std::slice::from_raw_parts(memory, bytes) }.iter().all(|&byte| byte == value)
    }

    #[test]
    fn blocks_do_not_overlap_and_are_used_again() {
        const BYTES: usize = 20 << 20;
        let region = Region::new();
        assert!(region.allocate(layout(20_000), false).is_none());
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), BYTES as u64 + 5000);
        assert_eq!(region.open(&file, 100), Some(BYTES as u64));
        let mut random = 1_u64;
        let mut held: Vec<(*mut u8, usize, u8)> = Vec::new();
        for round in 0..1000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bytes = 16_384 + (random >> 33) as usize % 300_000;
            if held.len() > 30 || random >> 63 == 0 && !held.is_empty() {
                let (memory, bytes, value) = held.swap_remove((random >> 40) as usize % held.len());
                assert!(all(memory, bytes, value), "a block was overwritten");
                // SAFETY: it was allocated with this layout, and is not used again.
                unsafe { region.free(memory, layout(bytes)) };
                continue;
            }
            let Some(memory) = region.allocate(layout(bytes), round % 2 == 0) else { continue };
            assert!(region.contains(memory) && region.contains(memory.wrapping_add(bytes - 1)));
            assert!(round % 2 == 1 || all(memory, bytes, 0), "a block is not empty");
            // SAFETY: it has that many bytes.
            unsafe { memory.write_bytes(round as u8, bytes) };
            held.push((memory, bytes, round as u8));
        }
        assert!(held.len() > 5 && held.iter().all(|&(memory, bytes, value)| all(memory, bytes, value)));
    }

    #[test]
    fn the_region_is_no_larger_than_its_file() {
        let region = Region::new();
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10 << 20);
        assert_eq!(region.open(&file, 2 << 20), Some(8 << 20));
        assert!(region.allocate(layout((8 << 20) + 1), false).is_none());
        assert!(region.allocate(Layout::from_size_align(20_000, 8192).unwrap(), false).is_none());
        let first = region.allocate(layout(8 << 20), true).unwrap();
        assert!(all(first, 8 << 20, 0) && region.allocate(layout(1), false).is_none());
        // SAFETY: it was allocated with this layout, and is not used again.
        unsafe { region.free(first, layout(8 << 20)) };
        assert_eq!(region.allocate(layout((8 << 20) - 9), false), Some(first));
        // Only what is before the region is free for others. Another file is refused.
        assert!(region.open(&file, 1 << 20).is_some() && region.open(&file, 3 << 20).is_none());
        assert!(region.open(&TemporaryFile::new(tempfile::tempfile().unwrap(), 10 << 20), 0).is_none());
        assert!(!region.contains(ptr::null_mut()) && !region.contains(first.wrapping_sub(1)));
    }

    #[test]
    fn the_region_has_no_bytes_of_a_scratch() {
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10 << 20);
        let scratch = crate::scratch::Scratch::in_file(2 << 20, "a test", &file).unwrap();
        assert!(Region::new().open(&file, 1 << 20).is_none());
        let region = Region::new();
        assert_eq!(region.open(&file, 2 << 20), Some(8 << 20));
        drop(scratch);
        assert!(crate::scratch::Scratch::in_file(3 << 20, "a test", &file).is_err());
    }

    #[test]
    fn blocks_have_room_and_little_more() {
        let mut last = (0, 0);
        for pages in (1..5000).chain((13..22).map(|bit| 1 << bit)).chain([(1 << 20) + 1]) {
            let (number, bytes) = size_of(pages * PAGE_BYTES).unwrap();
            let wanted = pages * PAGE_BYTES;
            assert!(bytes >= wanted && bytes <= wanted + wanted / 8, "{pages} pages: {bytes} bytes");
            assert_eq!(size_of(bytes), Some((number, bytes)));
            assert_eq!(size_of(bytes - PAGE_BYTES + 1).map(|(number, _)| number), Some(number));
            assert!(pages > 5000 || (number, bytes) >= last, "{pages} pages");
            last = (number, bytes);
        }
        assert_eq!(size_of(1), Some((0, PAGE_BYTES)));
        assert_eq!(size_of(16 << 30).map(|(_, bytes)| bytes), Some(16 << 30));
        assert_eq!(size_of((16 << 30) + 1), None);
        assert_eq!(size_of(usize::MAX), None);
    }
}
