//! The coefficients of a progressive picture, in memory or in a temporary file. libjpeg has an interface for that, "virtual
//! arrays". Its memory manager is a table of functions: this file replaces the two for arrays of coefficients.
//!
//! Each scan goes through the arrays of its components from top to bottom, and so does the output. So only a window of some
//! rows of blocks of an array in a file is in memory. It is written back, and read anew, when libjpeg needs other rows. The
//! window of an array in memory has all its rows.
//!
//! Source: libjpeg's structure.txt, "Memory manager" (virtual arrays), and jmemmgr.c, which has the same rules for rows that
//! have not been written.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::os::raw::c_int;
use std::rc::Rc;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use mozjpeg_sys as libjpeg;
use mozjpeg_sys::{
    JBLOCK, JBLOCKARRAY, JBLOCKROW, JDIMENSION, boolean, jpeg_common_struct, jvirt_barray_control,
};

use super::fail;
use crate::scratch::Scratch;

/// Size of the window of an array in a file, in bytes.
const WINDOW_BYTES: usize = 1 << 20;
/// Minimum number of bytes of an array for which a thread pays.
const PREFAULTED_BYTES: usize = 4 << 20;
/// Number of bytes requested at once.
const STEP_BYTES: usize = 1 << 20;
/// Alignment of pages. Systems with larger ones refuse the request.
const PAGE_BYTES: usize = 4096;

type Request = unsafe extern "C-unwind" fn(
    &mut jpeg_common_struct,
    c_int,
    boolean,
    JDIMENSION,
    JDIMENSION,
    JDIMENSION,
) -> *mut jvirt_barray_control;
type Access = unsafe extern "C-unwind" fn(
    &mut jpeg_common_struct,
    *mut jvirt_barray_control,
    JDIMENSION,
    JDIMENSION,
    boolean,
) -> JBLOCKARRAY;

/// libjpeg's own functions.
static ORIGINAL: OnceLock<(Request, Access)> = OnceLock::new();

thread_local! {
    /// The store for the coefficients of the decoder that is being started on this thread. `None`: libjpeg's memory.
    static OFFERED: RefCell<Option<Rc<Coefficients>>> = const { RefCell::new(None) };
}

/// The arrays of one decoder, which must not outlive them.
pub struct Coefficients {
    inner: RefCell<Inner>,
}

struct Inner {
    /// The file. `None`: the arrays are in memory.
    scratch: Option<Scratch>,
    /// Number of bytes of the scratch that belong to arrays.
    used: u64,
    #[expect(clippy::vec_box, reason = "libjpeg has pointers to the arrays, so they must not move")]
    arrays: Vec<Box<Array>>,
}

/// An array of blocks of coefficients.
struct Array {
    owner: *const Coefficients,
    /// Offset of the array in the scratch.
    offset: u64,
    rows: u32,
    blocks_per_row: usize,
    /// Maximum number of rows that libjpeg requests at once.
    max_access: u32,
    is_zeroed: bool,
    /// Provides the window's memory. Dropped before the window.
    _prefault: Option<Prefault>,
    window: Vec<i16>,
    /// Pointer to each row of the window.
    row_pointers: Vec<JBLOCKROW>,
    /// First row of the window.
    first: u32,
    /// First of the rows that have never been written.
    undefined: u32,
    is_loaded: bool,
    is_changed: bool,
}

impl Coefficients {
    /// Returns a store in a file, or in memory.
    pub fn new(scratch: Option<Scratch>) -> Rc<Self> {
        Rc::new(Self { inner: RefCell::new(Inner { scratch, used: 0, arrays: Vec::new() }) })
    }
}

/// Calls libjpeg. A decoder that the call starts stores its coefficients in `coefficients`.
pub fn kept_in<T>(coefficients: Option<&Rc<Coefficients>>, call: impl FnOnce() -> T) -> T {
    /// Ends the offer, even if the call unwinds.
    struct Offer;
    impl Drop for Offer {
        fn drop(&mut self) {
            OFFERED.set(None);
        }
    }
    OFFERED.set(coefficients.cloned());
    let _offer = Offer;
    call()
}

/// Replaces the functions of a new decoder.
pub fn attach(decoder: &mut jpeg_common_struct) {
    // SAFETY: libjpeg calls the error manager with a decoder whose memory manager exists.
    let Some(memory) = (unsafe { decoder.mem.as_mut() }) else { return };
    let (Some(request), Some(access)) = (memory.request_virt_barray, memory.access_virt_barray) else {
        return;
    };
    if !std::ptr::fn_addr_eq(request, self::request as Request) {
        let _ = ORIGINAL.set((request, access));
        memory.request_virt_barray = Some(self::request);
        memory.access_virt_barray = Some(self::access);
    }
}

unsafe extern "C-unwind" fn request(
    decoder: &mut jpeg_common_struct,
    pool: c_int,
    is_zeroed: boolean,
    blocks_per_row: JDIMENSION,
    rows: JDIMENSION,
    max_access: JDIMENSION,
) -> *mut jvirt_barray_control {
    let Some(coefficients) = OFFERED.with_borrow(Clone::clone) else {
        let Some(&(request, access)) = ORIGINAL.get() else { fail(libjpeg::JERR_BAD_POOL_ID) };
        // SAFETY: these are the functions that `attach` found in the memory manager of such a decoder.
        unsafe {
            if let Some(memory) = decoder.mem.as_mut() {
                memory.request_virt_barray = Some(request);
                memory.access_virt_barray = Some(access);
            }
            return request(decoder, pool, is_zeroed, blocks_per_row, rows, max_access);
        }
    };
    let owner = Rc::as_ptr(&coefficients);
    let mut inner = coefficients.inner.borrow_mut();
    let blocks_per_row = blocks_per_row as usize;
    let row_bytes = (blocks_per_row * size_of::<JBLOCK>()).max(1);
    let all_rows = rows.max(max_access) as usize;
    let window_rows = match inner.scratch {
        None => all_rows,
        // Smoothing requests earlier rows again, so the window holds several requests.
        Some(_) => (WINDOW_BYTES / row_bytes).max(4 * max_access as usize).min(all_rows),
    };
    // The system provides zeros of numbers, but not of blocks, without writing to them.
    let mut window = vec![0; window_rows * blocks_per_row * size_of::<JBLOCK>() / size_of::<i16>()];
    let (blocks, _) = window.as_chunks_mut();
    let row_pointers = blocks.chunks_exact_mut(blocks_per_row.max(1)).map(<[JBLOCK]>::as_mut_ptr).collect();
    let prefault = if inner.scratch.is_none() { Prefault::start(&mut window) } else { None };
    let mut array = Box::new(Array {
        owner,
        offset: inner.used,
        rows,
        blocks_per_row,
        max_access,
        is_zeroed: is_zeroed != 0,
        _prefault: prefault,
        window,
        row_pointers,
        first: 0,
        undefined: 0,
        is_loaded: inner.scratch.is_none(),
        is_changed: false,
    });
    let pointer = &raw mut *array;
    inner.used += u64::from(rows) * row_bytes as u64;
    inner.arrays.push(array);
    pointer.cast()
}

unsafe extern "C-unwind" fn access(
    _: &mut jpeg_common_struct,
    array: *mut jvirt_barray_control,
    start: JDIMENSION,
    count: JDIMENSION,
    is_writable: boolean,
) -> JBLOCKARRAY {
    // SAFETY: a decoder has this function only as long as all its arrays are those of `request`, which live as long as
    // the `Coefficients` that the decoder's owner keeps. No other reference to the array exists meanwhile.
    let array = unsafe { &mut *array.cast::<Array>() };
    // SAFETY: as above.
    let owner = unsafe { &*array.owner };
    let mut inner = owner.inner.borrow_mut();
    array.access(inner.scratch.as_mut(), start, count, is_writable != 0)
}

impl Array {
    fn access(
        &mut self,
        mut scratch: Option<&mut Scratch>,
        start: u32,
        count: u32,
        is_writable: bool,
    ) -> JBLOCKARRAY {
        let Some(end) = start.checked_add(count).filter(|&end| end <= self.rows && count <= self.max_access)
        else {
            fail(libjpeg::JERR_BAD_VIRTUAL_ACCESS)
        };
        let window_rows = self.row_pointers.len() as u32;
        if !self.is_loaded || start < self.first || end > self.first + window_rows {
            // An array in memory has all rows.
            let Some(scratch) = scratch.as_deref_mut() else { fail(libjpeg::JERR_BAD_VIRTUAL_ACCESS) };
            self.save(scratch);
            // Passes go from top to bottom. Rows before the window are requested if one goes upwards.
            self.first = if start >= self.first { start } else { end.saturating_sub(window_rows) };
            self.load(scratch);
        }
        if self.undefined < end {
            let from = self.undefined.max(start);
            if is_writable {
                if self.undefined < start {
                    fail(libjpeg::JERR_BAD_VIRTUAL_ACCESS);
                }
                self.undefined = end;
            }
            if !self.is_zeroed {
                fail(libjpeg::JERR_BAD_VIRTUAL_ACCESS);
            }
            if scratch.is_some() {
                let row = |row: u32| (row - self.first) as usize * self.blocks_per_row;
                self.window.as_chunks_mut::<64>().0[row(from)..row(end)].fill([0; 64]);
            }
        }
        self.is_changed |= is_writable;
        // SAFETY: the row is in the window, which has a pointer for each row.
        unsafe { self.row_pointers.as_mut_ptr().add((start - self.first) as usize) }
    }

    fn save(&mut self, scratch: &mut Scratch) {
        if std::mem::take(&mut self.is_changed) {
            let (bytes, offset) = self.written();
            if scratch.write_at(bytes, offset).is_err() {
                fail(libjpeg::JERR_TFILE_WRITE);
            }
        }
    }

    fn load(&mut self, scratch: &mut Scratch) {
        self.is_loaded = true;
        let (bytes, offset) = self.written();
        if scratch.read_at(bytes, offset).is_err() {
            fail(libjpeg::JERR_TFILE_READ);
        }
    }

    /// Returns the bytes of the window's rows that have been written, and their offset in the scratch.
    fn written(&mut self) -> (&mut [u8], u64) {
        let row_bytes = self.blocks_per_row * size_of::<JBLOCK>();
        let offset = self.offset + u64::from(self.first) * row_bytes as u64;
        let rows = (self.undefined.saturating_sub(self.first) as usize).min(self.row_pointers.len());
        let blocks = &mut self.window.as_chunks_mut::<64>().0[..rows * self.blocks_per_row];
        // SAFETY: a block is an array of numbers, for which any bytes are a value. libjpeg does not use its pointers before
        // it requests rows again.
        let bytes =
            unsafe { slice::from_raw_parts_mut(blocks.as_mut_ptr().cast::<u8>(), size_of_val(blocks)) };
        (bytes, offset)
    }
}

/// A thread that has the system provide pages of memory before they are used. The system provides a page at its first use, as
/// zeros, which for the coefficients of 50 megapixels takes 40 ms, while all other processors wait for the one that decodes.
/// Dropping it ends the thread.
///
/// Source: madvise(2), `MADV_POPULATE_WRITE`, of Linux 5.14. An older one refuses, and pages come at their first use.
struct Prefault {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Prefault {
    /// Starts a thread for the memory of new zeros, which must outlive it.
    fn start(zeros: &mut [i16]) -> Option<Self> {
        let start = zeros.as_ptr() as usize;
        let (first, end) = (start.next_multiple_of(PAGE_BYTES), start + size_of_val(zeros));
        if size_of_val(zeros) < PREFAULTED_BYTES {
            return None;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let is_asked = Arc::clone(&is_over);
        let ask = move || {
            for at in (first..end).step_by(STEP_BYTES) {
                let bytes = (end - at).min(STEP_BYTES);
                // SAFETY: it changes no byte: pages that do not exist yet become zeros, as they would at their first
                // use.
                let result = unsafe { libc::madvise(at as *mut _, bytes, libc::MADV_POPULATE_WRITE) };
                if result != 0 || is_asked.load(Ordering::Relaxed) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("memory".into()).spawn(ask).ok();
        Some(Self { is_over, thread })
    }
}

impl Drop for Prefault {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
