//! Decoders that hold a whole picture take their memory from the program's allocator. While a [`Swap`] exists,
//! [`SwappingAllocator`] allocates large blocks in the temporary file: 200 megapixels of HEIC take 2 GB, and a gigapixel of
//! JPEG XL 600 MB beside the picture itself, more than a renderer has. The system's swap would do the same, but machines have
//! none.
//!
//! An allocator is `unsafe`. Programs that do not install this one decode within [`Bounds::memory`].
#![allow(unsafe_code)]

mod region;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::scratch::TemporaryFile;
use crate::{Bounds, SourceError};
use region::Region;

/// Smallest block in the file. Smaller ones stay in memory: at most 250 MB for a gigapixel of JPEG XL, which has 15,000
/// groups.
const LEAST_BYTES: usize = 16 << 10;
/// The share of [`Bounds::memory`] above which a picture is decoded in the file.
const MEMORY_SHARE: u64 = 3;

static REGION: Region = Region::new();
/// Size from which blocks are currently allocated in the file.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// True if the program has installed the allocator.
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, which allocates large blocks in a temporary file while a picture is decoded that needs it.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: edgezoom_codecs::SwappingAllocator = edgezoom_codecs::SwappingAllocator;
/// # fn main() {}
/// ```
pub struct SwappingAllocator;

/// While it exists, all threads of the process get large blocks in the file. The blocks stay valid afterwards.
pub(crate) struct Swap {
    bytes: u64,
}

impl Swap {
    /// Begins to allocate in the file, from an offset on. `None`: the program has another allocator, or the file has no room.
    pub(crate) fn begin(file: &TemporaryFile, offset: u64) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let bytes = REGION.open(file, offset)?;
        LEAST.store(LEAST_BYTES, Ordering::Relaxed);
        Some(Self { bytes })
    }

    /// Admits a decoder that takes `bytes` bytes, in the file if they are many. Returns the bounds that apply then.
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

    /// Returns the number of bytes in the file.
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

/// Allocates memory in the file. `None`: there is none at the moment, or too little.
#[cold]
fn swapped(layout: Layout, zeroed: bool) -> Option<*mut u8> {
    IS_INSTALLED.store(true, Ordering::Relaxed);
    REGION.allocate(layout, zeroed)
}

// SAFETY: memory comes from the system, or from the region, which returns each block once until it is freed, with the size and
// alignment requested. The address distinguishes the two.
unsafe impl GlobalAlloc for SwappingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LEAST.load(Ordering::Relaxed)
            && let Some(memory) = swapped(layout, false)
        {
            return memory;
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LEAST.load(Ordering::Relaxed)
            && let Some(memory) = swapped(layout, true)
        {
            return memory;
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if REGION.contains(memory) {
            // SAFETY: it came from the region, with this layout.
            unsafe { REGION.free(memory, layout) };
        } else {
            // SAFETY: it did not, so it came from the system.
            unsafe { System.dealloc(memory, layout) };
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !REGION.contains(memory) && size < LEAST.load(Ordering::Relaxed) {
            // SAFETY: it came from the system, and the rest is as the caller promises.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: the caller promises a size that is not 0 and does not overflow when rounded up to the alignment.
        let larger = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above.
        let moved = unsafe { self.alloc(larger) };
        if !moved.is_null() {
            // SAFETY: both have that many bytes, and they are different blocks. The old one is not used afterwards.
            unsafe {
                ptr::copy_nonoverlapping(memory, moved, layout.size().min(size));
                self.dealloc(memory, layout);
            }
        }
        moved
    }
}
