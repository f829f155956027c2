//! Decoders that keep a whole picture take their memory from the program's allocator. [`SwappingAllocator`] is one that
//! gives them what is large from the temporary file while a [`Swap`] says so: 200 megapixels of HEIC take 2 GB, and a
//! gigapixel of JPEG XL 600 MB beside the picture itself, which a renderer has not. The system's swap would do the same, but
//! machines have none.
//!
//! `unsafe` is what an allocator is made of. Programs that do not install it decode within [`Bounds::memory`].
#![allow(unsafe_code)]

mod blocks;
mod region;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::scratch::TemporaryFile;
use crate::{Bounds, SourceError};
use region::Region;

/// The least that is taken from the file. What is smaller stays in memory: of a gigapixel of JPEG XL 250 MB at most, as that
/// has 15,000 groups.
const LEAST_BYTES: usize = 16 << 10;
/// The share of [`Bounds::memory`] from which on a picture is decoded in the file.
const MEMORY_SHARE: u64 = 3;

static REGION: Region = Region::new();
/// The least bytes that are taken from the file at the moment.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Whether the program has the allocator.
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, which takes what is large from a temporary file while a picture is decoded that needs it.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: edgezoom_codecs::SwappingAllocator = edgezoom_codecs::SwappingAllocator;
/// # fn main() {}
/// ```
pub struct SwappingAllocator;

/// While it lives, all threads of the process get large memory from the file. What they got stays theirs.
pub(crate) struct Swap {
    bytes: u64,
}

impl Swap {
    /// Takes memory from the file, from an offset on. `None`: the program has another allocator, or the file has no room.
    pub(crate) fn begin(file: &TemporaryFile, offset: u64) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let bytes = REGION.open(file, offset)?;
        LEAST.store(LEAST_BYTES, Ordering::Relaxed);
        Some(Self { bytes })
    }

    /// Admits a decoder that takes so many bytes, from the file if they are many. Gives the bounds that it has then.
    pub(crate) fn admit(
        bytes: u64,
        reason: &'static str,
        bounds: Bounds,
        file: Option<&TemporaryFile>,
    ) -> Result<(Bounds, Option<Self>), SourceError> {
        let file = file.filter(|_| bytes > bounds.memory / MEMORY_SHARE);
        let swap = file.and_then(|file| Self::begin(file, 0));
        let bounds = match &swap {
            Some(swap) => Bounds { memory: swap.bytes.max(bounds.memory), ..bounds },
            None => bounds,
        };
        bounds.admit_memory(bytes, reason)?;
        Ok((bounds, swap))
    }

    /// The bytes that there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        LEAST.store(usize::MAX, Ordering::Relaxed);
    }
}

fn is_installed() -> bool {
    LEAST.store(LEAST_BYTES, Ordering::Relaxed);
    black_box(Vec::<u8>::with_capacity(LEAST_BYTES));
    LEAST.store(usize::MAX, Ordering::Relaxed);
    IS_INSTALLED.load(Ordering::Relaxed)
}

/// Memory in the file. `None`: there is none at the moment, or too little.
#[cold]
fn swapped(layout: Layout, zeroed: bool) -> Option<*mut u8> {
    IS_INSTALLED.store(true, Ordering::Relaxed);
    REGION.allocate(layout, zeroed)
}

// SAFETY: Memory is the system's, or that of the region, which gives each of its blocks once until it is freed, as large and
// as aligned as was asked for. Which of the two it is says its address.
unsafe impl GlobalAlloc for SwappingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LEAST.load(Ordering::Relaxed)
            && let Some(memory) = swapped(layout, false)
        {
            return memory;
        }
        // SAFETY: As the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LEAST.load(Ordering::Relaxed)
            && let Some(memory) = swapped(layout, true)
        {
            return memory;
        }
        // SAFETY: As the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if REGION.contains(memory) {
            // SAFETY: It came from the region, with this layout.
            unsafe { REGION.free(memory, layout) };
        } else {
            // SAFETY: It did not, so it came from the system.
            unsafe { System.dealloc(memory, layout) };
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !REGION.contains(memory) && size < LEAST.load(Ordering::Relaxed) {
            // SAFETY: It came from the system, and the rest is as the caller promises.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: The caller promises a size that is not 0 and does not overflow when rounded up to the alignment.
        let larger = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: As above.
        let moved = unsafe { self.alloc(larger) };
        if !moved.is_null() {
            // SAFETY: Both have that many bytes, and they are different blocks. The old one is not used any more.
            unsafe {
                ptr::copy_nonoverlapping(memory, moved, layout.size().min(size));
                self.dealloc(memory, layout);
            }
        }
        moved
    }
}
