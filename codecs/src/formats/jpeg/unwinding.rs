//! How an error gets out of libjpeg's C: it unwinds, up to `catch_errors` in the error manager.

use std::os::raw::c_int;
use std::panic::resume_unwind;

/// An error code of libjpeg on its way.
pub struct LibjpegError(pub c_int);

/// Unwinds with an error.
pub fn fail(code: c_int) -> ! {
    resume_unwind(Box::new(LibjpegError(code)));
}
