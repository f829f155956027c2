//! Calls of PDFium where memory is short.

use std::mem::forget;
use std::process::abort;
use std::thread::panicking;

/// Runs what calls PDFium, and aborts the process when a C++ exception comes out of it. Where an allocation fails, PDFium's C++
/// library throws one, and PDFium, which is built without exceptions, keeps its lock: whatever is closed on the way out would
/// wait for it for ever.
pub(super) fn calling_pdfium<T>(call: impl FnOnce() -> T) -> T {
    let guard = Guard;
    let result = call();
    forget(guard);
    result
}

/// Dropped only on the way out. A panic is on its way too, but of Rust, which releases the locks that it has.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        if !panicking() {
            abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_no_reason_to_abort() {
        assert!(std::panic::catch_unwind(|| calling_pdfium(|| panic!("as a test wants"))).is_err());
    }
}
