//! Memory in a file, handed out in blocks: of each size a list of those that are free, and behind all of them what was
//! never used. Blocks are not split or joined: what decoders ask for has few sizes.
//!
//! It is part of the program's allocator, so nothing here may allocate once it is open.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::blocks::{PAGE_BYTES, SIZES, size_of};
use crate::mapped::Mapping;
use crate::scratch::TemporaryFile;

/// How much longer the file gets at once, and what it is made longer with.
const GROWTH_BYTES: usize = 4 << 20;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Memory in a file.
pub struct Region {
    /// Where it begins, and how long it is. 0: it is not open.
    start: AtomicUsize,
    bytes: AtomicUsize,
    opened: OnceLock<Opened>,
    blocks: Mutex<Blocks>,
}

/// A file, and where in it the region begins.
struct Opened {
    file: Arc<File>,
    offset: u64,
    mapping: Mapping,
}

struct Blocks {
    /// The first free block of each size, or 0. A free block begins with the address of the next one.
    free: [usize; SIZES],
    /// How many bytes have been handed out at all, and how many the file has.
    used: usize,
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

    /// Opens it in a file, from an offset on, or further on if it is open there. Gives its bytes.
    pub fn open(&self, temporary: &TemporaryFile, offset: u64) -> Option<u64> {
        if let Some(opened) = self.opened.get() {
            let is_free = Arc::ptr_eq(&opened.file, temporary.file()) && opened.offset >= offset;
            return is_free.then(|| self.bytes.load(Ordering::Relaxed) as u64);
        }
        let offset = offset.checked_next_multiple_of(PAGE_BYTES as u64)?;
        let bytes = temporary.bytes().checked_sub(offset)? / PAGE_BYTES as u64 * PAGE_BYTES as u64;
        let length = usize::try_from(bytes).ok().filter(|length| *length > 0)?;
        let mapping = Mapping::of(temporary.file(), offset, length).ok()?;
        let start = mapping.start() as usize;
        self.opened.set(Opened { file: Arc::clone(temporary.file()), offset, mapping }).ok()?;
        self.bytes.store(length, Ordering::Relaxed);
        self.start.store(start, Ordering::Release);
        Some(bytes)
    }

    /// Whether memory was handed out here.
    pub fn contains(&self, memory: *mut u8) -> bool {
        let start = self.start.load(Ordering::Relaxed);
        start != 0 && (memory as usize).wrapping_sub(start) < self.bytes.load(Ordering::Relaxed)
    }

    /// A block for this layout, if there is room.
    pub fn allocate(&self, layout: Layout, zeroed: bool) -> Option<*mut u8> {
        let opened = self.opened.get().filter(|_| layout.align() <= PAGE_BYTES)?;
        let (number, size) = size_of(layout.size())?;
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let first = blocks.free.get_mut(number)?;
        if *first != 0 {
            let block = ptr::with_exposed_provenance_mut::<u8>(*first);
            // SAFETY: A free block is this region's, aligned to pages, and begins with what `free` wrote there.
            *first = unsafe { block.cast::<usize>().read() };
            drop(blocks);
            if zeroed {
                // SAFETY: It has that many bytes, and has just been taken from those that are free.
                unsafe { block.write_bytes(0, layout.size()) };
            }
            return Some(block);
        }
        let end = blocks.used.checked_add(size).filter(|end| *end <= self.bytes.load(Ordering::Relaxed))?;
        while blocks.allocated < end.next_multiple_of(GROWTH_BYTES).min(self.bytes.load(Ordering::Relaxed)) {
            // With the file's blocks allocated here a full disk is no memory, and not a signal when it is written.
            let left = self.bytes.load(Ordering::Relaxed) - blocks.allocated;
            let zeros = &ZEROS[..left.min(ZEROS.len())];
            opened.file.write_all_at(zeros, opened.offset + blocks.allocated as u64).ok()?;
            blocks.allocated += zeros.len();
        }
        let begin = std::mem::replace(&mut blocks.used, end);
        // SAFETY: The mapping has all bytes of the region, of which these were never handed out.
        Some(unsafe { opened.mapping.start().add(begin) })
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It was handed out here, for this layout, and is not used any more.
    pub unsafe fn free(&self, memory: *mut u8, layout: Layout) {
        let Some((number, _)) = size_of(layout.size()) else { return };
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = blocks.free.get_mut(number) else { return };
        // SAFETY: The block is the caller's, aligned to pages, and has at least one.
        unsafe { memory.cast::<usize>().write(*first) };
        *first = memory.expose_provenance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 64).unwrap()
    }

    fn all(memory: *mut u8, bytes: usize, value: u8) -> bool {
        // SAFETY: The tests ask for what was handed out to them.
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
        for round in 0..3000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bytes = 16_384 + (random >> 33) as usize % 300_000;
            if held.len() > 30 || random >> 63 == 0 && !held.is_empty() {
                let (memory, bytes, value) = held.swap_remove((random >> 40) as usize % held.len());
                assert!(all(memory, bytes, value), "a block was overwritten");
                // SAFETY: It was handed out with this layout, and is not used again.
                unsafe { region.free(memory, layout(bytes)) };
                continue;
            }
            let Some(memory) = region.allocate(layout(bytes), round % 2 == 0) else { continue };
            assert!(region.contains(memory) && region.contains(memory.wrapping_add(bytes - 1)));
            assert!(round % 2 == 1 || all(memory, bytes, 0), "a block is not empty");
            // SAFETY: It has that many bytes.
            unsafe { memory.write_bytes(round as u8, bytes) };
            held.push((memory, bytes, round as u8));
        }
        assert!(held.len() > 5 && held.iter().all(|&(memory, bytes, value)| all(memory, bytes, value)));
    }

    #[test]
    fn there_is_no_more_than_the_file_may_have() {
        let region = Region::new();
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10 << 20);
        assert_eq!(region.open(&file, 2 << 20), Some(8 << 20));
        assert!(region.allocate(layout((8 << 20) + 1), false).is_none());
        assert!(region.allocate(Layout::from_size_align(20_000, 8192).unwrap(), false).is_none());
        let first = region.allocate(layout(8 << 20), true).unwrap();
        assert!(all(first, 8 << 20, 0) && region.allocate(layout(1), false).is_none());
        // SAFETY: It was handed out with this layout, and is not used again.
        unsafe { region.free(first, layout(8 << 20)) };
        assert_eq!(region.allocate(layout((8 << 20) - 9), false), Some(first));
        // What lies before it is free for others, and only that; another file is another's.
        assert!(region.open(&file, 1 << 20).is_some() && region.open(&file, 3 << 20).is_none());
        assert!(region.open(&TemporaryFile::new(tempfile::tempfile().unwrap(), 10 << 20), 0).is_none());
        assert!(!region.contains(ptr::null_mut()) && !region.contains(first.wrapping_sub(1)));
    }
}
