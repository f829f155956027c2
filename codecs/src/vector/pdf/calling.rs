//! Calls of PDFium where memory is short.

use std::mem::forget;
use std::process::abort;

/// Runs what calls PDFium, and aborts the process when that unwinds. Where an allocation fails, PDFium's C++ library throws,
/// and PDFium, which is built without exceptions, keeps its lock: whatever is closed on the way out would wait for it for ever.
pub(super) fn calling_pdfium<T>(call: impl FnOnce() -> T) -> T {
    let guard = Aborting;
    let result = call();
    forget(guard);
    result
}

/// Aborts when it is dropped.
struct Aborting;

impl Drop for Aborting {
    fn drop(&mut self) {
        abort();
    }
}
