//! Which of libjpeg's complaints are fatal, and how they come back as errors.
//!
//! libjpeg fills what it cannot decode with grey and only warns. A picture that is cut off has to fail, so the warnings
//! that mean lost pixels end the decoding; those about odd but whole files do not. Both its errors and ours unwind
//! through the C code, which is compiled for that, to [`guarded`].

use std::any::Any;
use std::io;
use std::os::raw::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mozjpeg_sys as libjpeg;
use mozjpeg_sys::{jpeg_common_struct, jpeg_error_mgr, msg_parm_union};

use crate::{Format, SourceError};

/// What libjpeg complained of, by its code, on its way to [`guarded`].
struct Complaint(c_int);

/// libjpeg's error manager, with our judgement in it.
pub fn judge() -> jpeg_error_mgr {
    jpeg_error_mgr {
        error_exit: Some(on_error),
        emit_message: Some(on_message),
        output_message: Some(on_other),
        format_message: None,
        reset_error_mgr: Some(on_other),
        msg_code: 0,
        msg_parm: msg_parm_union { _bindgen_data_: [0; 20] },
        trace_level: 0,
        num_warnings: 0,
        jpeg_message_table: std::ptr::null(),
        last_jpeg_message: 0,
        addon_message_table: std::ptr::null(),
        first_addon_message: 0,
        last_addon_message: 0,
    }
}

/// Calls into libjpeg. What it complains of becomes the error.
pub fn guarded<T>(call: impl FnOnce() -> io::Result<T>) -> Result<T, SourceError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| SourceError::corrupt(Format::Jpeg, error)),
        Err(panic) => Err(sentence(panic)),
    }
}

fn sentence(panic: Box<dyn Any + Send>) -> SourceError {
    let Complaint(code) = match panic.downcast::<Complaint>() {
        Ok(complaint) => *complaint,
        Err(panic) => resume_unwind(panic),
    };
    let corrupt = |reason: &str| SourceError::corrupt(Format::Jpeg, reason);
    let unsupported = |reason: &str| SourceError::unsupported(Format::Jpeg, reason);
    match code {
        libjpeg::JWRN_JPEG_EOF | libjpeg::JERR_FILE_READ => corrupt("it ends before its last row"),
        libjpeg::JWRN_HIT_MARKER => corrupt("pixels are missing in its middle"),
        libjpeg::JWRN_HUFF_BAD_CODE | libjpeg::JWRN_MUST_RESYNC => {
            corrupt("some of its pixels cannot be decoded")
        }
        libjpeg::JERR_ARITH_NOTIMPL => unsupported("it is arithmetically coded"),
        libjpeg::JERR_BAD_PRECISION => unsupported("its samples are not 8-bit"),
        libjpeg::JERR_SOF_UNSUPPORTED => unsupported("it is lossless or hierarchical"),
        libjpeg::JERR_IMAGE_TOO_BIG => unsupported("a side is longer than 65,500 pixels"),
        libjpeg::JERR_OUT_OF_MEMORY => SourceError::OutOfMemory,
        other => corrupt(&format!("its structure makes no sense (libjpeg's error {other})")),
    }
}

/// Complains of something that [`judge`] then judges.
pub fn warn(code: c_int) {
    if loses_pixels(code) {
        resume_unwind(Box::new(Complaint(code)));
    }
}

/// Gives up.
pub fn fail(code: c_int) -> ! {
    resume_unwind(Box::new(Complaint(code)));
}

extern "C-unwind" fn on_error(decoder: &mut jpeg_common_struct) {
    fail(code_of(decoder));
}

extern "C-unwind" fn on_message(decoder: &mut jpeg_common_struct, level: c_int) {
    let code = code_of(decoder);
    let is_warning = level < 0;
    if is_warning {
        warn(code);
    }
}

fn loses_pixels(code: c_int) -> bool {
    matches!(
        code,
        libjpeg::JWRN_JPEG_EOF
            | libjpeg::JWRN_HIT_MARKER
            | libjpeg::JWRN_HUFF_BAD_CODE
            | libjpeg::JWRN_MUST_RESYNC
    )
}

extern "C-unwind" fn on_other(_: &mut jpeg_common_struct) {}

/// What libjpeg complains of just now. There is no safe way to it: the binding offers neither the code nor the count of
/// warnings.
#[allow(unsafe_code)]
fn code_of(decoder: &jpeg_common_struct) -> c_int {
    // SAFETY: libjpeg calls its handlers with the structure whose `err` points to the error manager of `judge()`, which
    // the binding keeps in a box for as long as the decoder lives.
    unsafe { decoder.err.as_ref() }.map_or(0, |manager| manager.msg_code)
}
