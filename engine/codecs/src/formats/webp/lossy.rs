//! The lossy codec, by libwebp: it gets the file piece by piece and decodes the rows in it, so that rows are read before the
//! last one is decoded. A file that ends too early shows the same rows as in browsers. WebPs within other files are decoded
//! at once.
//!
//! Source: libwebp's `src/webp/decode.h`, "Incremental decoding" and "Advanced decoding parametrization".
#![allow(unsafe_code)]

use std::io::Read;
use std::os::raw::c_int;
use std::ptr::{self, NonNull};

use edgezoom_geometry::Size;
use edgezoom_jpeg::ycbcr420;
use libwebp_sys as libwebp;
use libwebp_sys::{VP8StatusCode, WEBP_CSP_MODE, WebPDecoderConfig, WebPIDecoder, WebPYUVABuffer};

use super::{FORMAT, Pixels};
use crate::SourceError;

/// Number of bytes passed to libwebp at once: a few rows of macroblocks.
const PIECE: usize = 64 << 10;
/// Number of bytes before the codec's own: the header of the file and that of its only chunk (RFC 9649, 2.5).
const HEADER: usize = 20;

/// A picture that is being decoded.
pub struct Lossy {
    state: NonNull<State>,
    /// Number of bytes passed to libwebp.
    given: usize,
    /// Number of rows decoded.
    rows: usize,
}

/// The state to which libwebp has pointers. Owned, and used only through a pointer.
struct State {
    decoder: *mut WebPIDecoder,
    config: WebPDecoderConfig,
    file: Vec<u8>,
    /// Luma, Cb and Cr, in rows of full macroblocks.
    planes: [Vec<u8>; 3],
}

impl Lossy {
    /// Opens a picture of this size, whose codec's bytes begin where `file` does. With `has_threads`, libwebp may use several.
    pub fn open(file: impl Read, pixels: Pixels, size: Size, has_threads: bool) -> Result<Self, SourceError> {
        let file = whole(file, pixels)?;
        check_size(&file, size)?;
        let mut config =
            WebPDecoderConfig::new().map_err(|()| FORMAT.corrupt("the version of libwebp is wrong"))?;
        config.options.use_threads = has_threads.into();
        let stride = ycbcr420::stride(size.width);
        let rows = size.height.next_multiple_of(ycbcr420::ROWS) as usize;
        let chroma = stride / 2 * (rows / 2);
        let planes = [stride * rows, chroma, chroma].map(|bytes| vec![0; bytes]);
        let state = Box::into_raw(Box::new(State { decoder: ptr::null_mut(), config, file, planes }));
        // SAFETY: the pointers are to fields of one allocation, and to those of its vectors, which do not change in length
        // and live until `drop` has deleted the decoder.
        let decoder = unsafe {
            let State { config, planes: [luma, blue, red], .. } = &mut *state;
            config.output.colorspace = WEBP_CSP_MODE::MODE_YUV;
            config.output.is_external_memory = 1;
            config.output.u.YUVA = WebPYUVABuffer {
                y: luma.as_mut_ptr(),
                u: blue.as_mut_ptr(),
                v: red.as_mut_ptr(),
                a: ptr::null_mut(),
                y_stride: stride as c_int,
                u_stride: stride as c_int / 2,
                v_stride: stride as c_int / 2,
                a_stride: 0,
                y_size: luma.len(),
                u_size: blue.len(),
                v_size: red.len(),
                a_size: 0,
            };
            (*state).decoder = libwebp::WebPIDecode(ptr::null(), 0, &raw mut (*state).config);
            (*state).decoder
        };
        // SAFETY: the pointer comes from a box.
        let lossy = Self { state: unsafe { NonNull::new_unchecked(state) }, given: 0, rows: 0 };
        if decoder.is_null() { Err(FORMAT.corrupt("libwebp is out of memory")) } else { Ok(lossy) }
    }

    /// Decodes at least the first `rows` rows.
    ///
    /// # Errors
    /// The file ends before, or is damaged there.
    pub fn decode(&mut self, rows: usize) -> Result<(), SourceError> {
        let state = self.state.as_ptr();
        while self.rows < rows {
            // SAFETY: nothing else uses the state while `self` is borrowed mutably. The decoder writes within the planes,
            // whose sizes it knows, and reads within the part of the file that it gets.
            let (status, decoded) = unsafe {
                let file = &(*state).file;
                if self.given == file.len() {
                    return Err(FORMAT.corrupt("it ends before its last row"));
                }
                self.given = (self.given + PIECE).min(file.len());
                let status = libwebp::WebPIUpdate((*state).decoder, file.as_ptr(), self.given);
                let (mut last, no, none) = (0, ptr::null_mut(), ptr::null_mut());
                let decoder = (*state).decoder;
                libwebp::WebPIDecGetYUVA(decoder, &raw mut last, none, none, none, no, no, no, no, no);
                (status, last)
            };
            self.rows = usize::try_from(decoded).unwrap_or(0);
            match status {
                VP8StatusCode::VP8_STATUS_OK | VP8StatusCode::VP8_STATUS_SUSPENDED => {}
                _ if self.rows >= rows => {}
                other => return Err(FORMAT.corrupt(format_args!("libwebp reports {other:?}"))),
            }
        }
        Ok(())
    }

    /// Returns luma, Cb and Cr. Rows have [`ycbcr420::stride`] bytes, or half as many. Rows not decoded yet are zero.
    pub fn planes(&self) -> [&[u8]; 3] {
        // SAFETY: libwebp writes only in `decode`, which needs `self` mutably.
        let planes = unsafe { &(*self.state.as_ptr()).planes };
        planes.each_ref().map(Vec::as_slice)
    }
}

// SAFETY: nothing of the state is bound to a thread, and all of it is owned.
unsafe impl Send for Lossy {}

impl Drop for Lossy {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from a box, and the decoder, which may be null, goes before what it points to.
        unsafe {
            libwebp::WebPIDelete((*self.state.as_ptr()).decoder);
            drop(Box::from_raw(self.state.as_ptr()));
        }
    }
}

/// Returns the codec's bytes as a file of its own.
fn whole(mut file: impl Read, pixels: Pixels) -> Result<Vec<u8>, SourceError> {
    let bytes = u32::try_from(pixels.bytes).map_err(|_| FORMAT.corrupt("its pixels have too many bytes"))?;
    let padded = bytes.saturating_add(bytes % 2);
    let mut whole = Vec::with_capacity(HEADER);
    whole.extend_from_slice(b"RIFF");
    whole.extend_from_slice(&padded.saturating_add(HEADER as u32 - 8).to_le_bytes());
    whole.extend_from_slice(b"WEBPVP8 ");
    whole.extend_from_slice(&bytes.to_le_bytes());
    file.read_to_end(&mut whole)?;
    Ok(whole)
}

fn check_size(file: &[u8], size: Size) -> Result<(), SourceError> {
    match stated_size(file) {
        Some(own) if own == (size.width, size.height) => Ok(()),
        Some(_) => Err(FORMAT.corrupt("its pixels do not have the size that its header states")),
        None => Err(FORMAT.corrupt("its pixels cannot be decoded")),
    }
}

/// Returns the width and height that a file states.
pub fn stated_size(file: &[u8]) -> Option<(u32, u32)> {
    let (mut width, mut height) = (0, 0);
    // SAFETY: it reads within the file, and writes the two numbers.
    let is_known =
        unsafe { libwebp::WebPGetInfo(file.as_ptr(), file.len(), &raw mut width, &raw mut height) != 0 };
    u32::try_from(width).ok().zip(u32::try_from(height).ok()).filter(|_| is_known)
}

/// Decodes a whole file of this width into rows of RGB, or with four channels RGBA. Returns `None` if it is damaged or does not
/// fit.
pub fn decode_whole(file: &[u8], width: u32, channels: usize, rows: &mut [u8]) -> Option<()> {
    let decode = if channels == 4 { libwebp::WebPDecodeRGBAInto } else { libwebp::WebPDecodeRGBInto };
    let row_bytes = i32::try_from(width as usize * channels).ok()?;
    // SAFETY: it reads within the file and writes within the rows, or refuses if they are too few.
    let written = unsafe { decode(file.as_ptr(), file.len(), rows.as_mut_ptr(), rows.len(), row_bytes) };
    (!written.is_null()).then_some(())
}
