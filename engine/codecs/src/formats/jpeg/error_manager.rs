//! The error manager that libjpeg calls: it decides which warnings are fatal, and converts them to errors.
//!
//! libjpeg fills what it cannot decode with grey and only warns. A JPEG file is read with [`catch_damage`], which goes on and
//! reports the missing part. A JPEG inside another file, such as a strip of a TIFF, is read with [`catch_errors`]: there a
//! warning that means lost pixels ends the decoding. Warnings about odd but complete files are ignored. Errors unwind through
//! the C code, which is compiled for that.
//!
//! Source: libjpeg.txt, "Error handling"; jerror.h for the codes.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::os::raw::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mozjpeg_sys as libjpeg;
use mozjpeg_sys::{jpeg_common_struct, jpeg_error_mgr, msg_parm_union};

use super::FORMAT;
use super::losses::Losses;
use crate::{Damage, SourceError};

thread_local! {
    /// Losses of the current call of libjpeg. `None`: losses are errors.
    static LOSSES: Cell<Option<Losses>> = const { Cell::new(None) };
}

/// An error code of libjpeg, which unwinds through its C code up to [`catch_errors`].
struct LibjpegError(c_int);

/// Unwinds with an error of libjpeg.
fn fail(code: c_int) -> ! {
    resume_unwind(Box::new(LibjpegError(code)));
}

/// Returns an error manager whose errors and fatal warnings unwind.
pub fn new() -> jpeg_error_mgr {
    jpeg_error_mgr {
        error_exit: Some(on_error),
        emit_message: Some(on_message),
        output_message: Some(ignore),
        format_message: None,
        reset_error_mgr: Some(ignore),
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

/// Calls libjpeg and returns its errors.
pub fn catch_errors<T>(call: impl FnOnce() -> io::Result<T>) -> Result<T, SourceError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| FORMAT.corrupt(error)),
        Err(panic) => Err(source_error(panic)),
    }
}

/// Calls libjpeg, and goes on behind damage. `losses` are those of the file so far.
///
/// # Errors
/// Those of libjpeg, or no row of the picture could be decoded.
pub fn catch_damage<T>(losses: &mut Losses, call: impl FnOnce() -> io::Result<T>) -> Result<T, SourceError> {
    LOSSES.set(Some(*losses));
    let result = catch_errors(call);
    *losses = LOSSES.take().unwrap_or_default();
    match losses.damage() {
        Some(Damage::FromRow { row: 0, .. }) => Err(FORMAT.corrupt(ENDS_EARLY)),
        _ => result,
    }
}

/// The error of a file that is cut off.
const ENDS_EARLY: &str = "it ends before its last row";

fn source_error(panic: Box<dyn Any + Send>) -> SourceError {
    let LibjpegError(code) = match panic.downcast::<LibjpegError>() {
        Ok(error) => *error,
        Err(panic) => resume_unwind(panic),
    };
    let corrupt = |reason: &str| FORMAT.corrupt(reason);
    let unsupported = |reason: &str| FORMAT.unsupported(reason);
    match code {
        libjpeg::JWRN_JPEG_EOF | libjpeg::JERR_FILE_READ => corrupt(ENDS_EARLY),
        libjpeg::JWRN_HIT_MARKER => corrupt("pixels are missing in its middle"),
        libjpeg::JWRN_HUFF_BAD_CODE | libjpeg::JWRN_MUST_RESYNC => {
            corrupt("some of its pixels cannot be decoded")
        }
        libjpeg::JERR_ARITH_NOTIMPL => unsupported("it is arithmetically coded"),
        libjpeg::JERR_BAD_PRECISION => unsupported("its samples are not 8-bit"),
        libjpeg::JERR_SOF_UNSUPPORTED => unsupported("it is lossless or hierarchical"),
        libjpeg::JERR_IMAGE_TOO_BIG => unsupported("a side is longer than 65,500 pixels"),
        libjpeg::JERR_OUT_OF_MEMORY => SourceError::OutOfMemory,
        other => corrupt(&format!("its structure is invalid (libjpeg's error {other})")),
    }
}

/// Records a warning, or unwinds with it if it means lost pixels.
fn warn(decoder: &jpeg_common_struct, code: c_int) {
    match LOSSES.get() {
        Some(mut losses) => {
            losses.note(code, decoder);
            LOSSES.set(Some(losses));
        }
        None if loses_pixels(code) => fail(code),
        None => {}
    }
}

extern "C-unwind" fn on_error(decoder: &mut jpeg_common_struct) {
    fail(code_of(decoder));
}

extern "C-unwind" fn on_message(decoder: &mut jpeg_common_struct, level: c_int) {
    let code = code_of(decoder);
    let is_warning = level < 0;
    // Two of the traces tell whether more of the picture follows.
    if is_warning || matches!(code, libjpeg::JTRC_RST | libjpeg::JTRC_EOI) {
        warn(decoder, code);
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

extern "C-unwind" fn ignore(_: &mut jpeg_common_struct) {}

/// Returns the code of the message that libjpeg is reporting. The binding has no safe way to read it.
#[allow(unsafe_code)]
fn code_of(decoder: &jpeg_common_struct) -> c_int {
    // SAFETY: libjpeg calls its handlers with the structure whose `err` points to the error manager of `new()`, which
    // the binding keeps in a box for as long as the decoder lives.
    unsafe { decoder.err.as_ref() }.map_or(0, |manager| manager.msg_code)
}
