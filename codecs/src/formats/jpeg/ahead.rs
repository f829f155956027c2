//! Has the system provide memory before it is used, on a thread of its own. The system gives each page at its first use, as
//! zeros, which for the coefficients of 50 megapixels takes 40 ms, while all other processors wait for the one that decodes.
//!
//! Source: madvise(2), `MADV_POPULATE_WRITE`, of Linux 5.14. An older one refuses, and pages come when they are used.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The bytes from which it is worth a thread.
const LEAST_BYTES: usize = 4 << 20;
/// The bytes that are asked for at once.
const STEP_BYTES: usize = 1 << 20;
/// The alignment of pages, on all systems but for those that have larger ones and refuse.
const PAGE_BYTES: usize = 4096;

/// A thread that asks for memory. Dropping it ends it.
pub struct Ahead {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Asks for the memory of new zeros. They must not be let go before this is.
    pub fn of(zeros: &mut [i16]) -> Option<Self> {
        let start = zeros.as_ptr() as usize;
        let (first, end) = (start.next_multiple_of(PAGE_BYTES), start + size_of_val(zeros));
        if size_of_val(zeros) < LEAST_BYTES {
            return None;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let is_asked = Arc::clone(&is_over);
        let ask = move || {
            for at in (first..end).step_by(STEP_BYTES) {
                let bytes = (end - at).min(STEP_BYTES);
                // SAFETY: it changes no byte, whatever lies there: pages that are not there yet become zeros, which is
                // what they are taken for.
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

impl Drop for Ahead {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
