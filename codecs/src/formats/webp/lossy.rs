//! The lossy codec, by libwebp: it is given the file piece by piece and decodes the rows that are in it, so that rows are
//! read before the last one is decoded. Of a file that ends too early it gives those that browsers show.
//!
//! Source: libwebp's `src/webp/decode.h`, "Incremental decoding" and "Advanced decoding parametrization".
#![allow(unsafe_code)]

use std::io::Read;
use std::os::raw::c_int;
use std::ptr::{self, NonNull};

use edgezoom_geometry::Size;
use libwebp_sys as libwebp;
use libwebp_sys::{VP8StatusCode, WEBP_CSP_MODE, WebPDecoderConfig, WebPIDecoder, WebPYUVABuffer};

use super::FORMAT;
use super::chunks::Pixels;
use super::small;
use crate::SourceError;
use edgezoom_jpeg::ycbcr420;

/// The bytes that are given at once: a few rows of macroblocks.
const PIECE: usize = 64 << 10;
/// The bytes before the codec's own: the header of the file and that of its only chunk (RFC 9649, 2.5).
const HEADER: usize = 20;

/// A picture that is being decoded.
pub struct Lossy {
    state: NonNull<State>,
    /// How many bytes of the file have been given, and the rows that have been decoded.
    given: usize,
    rows: usize,
}

/// What libwebp keeps pointers to. Owned, and only used through a pointer.
struct State {
    decoder: *mut WebPIDecoder,
    config: WebPDecoderConfig,
    file: Vec<u8>,
    /// Luma, Cb and Cr, in rows of full macroblocks.
    planes: [Vec<u8>; 3],
}

impl Lossy {
    /// A picture of this size, whose codec's bytes begin where `file` does. Several threads may decode it.
    pub fn open(file: impl Read, pixels: Pixels, size: Size, has_threads: bool) -> Result<Self, SourceError> {
        let file = whole(file, pixels)?;
        check_size(&file, size)?;
        let mut config =
            WebPDecoderConfig::new().map_err(|()| FORMAT.corrupt("libwebp is another version"))?;
        config.options.use_threads = has_threads.into();
        let stride = ycbcr420::stride(size.width);
        let rows = size.height.next_multiple_of(ycbcr420::ROWS) as usize;
        let chroma = stride / 2 * (rows / 2);
        let planes = [stride * rows, chroma, chroma].map(|bytes| vec![0; bytes]);
        let state = Box::into_raw(Box::new(State { decoder: ptr::null_mut(), config, file, planes }));
        // SAFETY: the pointers are to fields of one allocation, and to those of its vectors, which are not changed in length
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
        if decoder.is_null() { Err(FORMAT.corrupt("libwebp has no memory for it")) } else { Ok(lossy) }
    }

    /// Decodes at least the first `rows` rows.
    ///
    /// # Errors
    /// The file ends before, or is damaged there.
    pub fn decode(&mut self, rows: usize) -> Result<(), SourceError> {
        let state = self.state.as_ptr();
        while self.rows < rows {
            // SAFETY: nothing else uses the state while `self` is borrowed mutably. The decoder writes within the planes,
            // of whose sizes it knows, and reads within the part of the file that it is given.
            let (status, decoded) = unsafe {
                let file = &(*state).file;
                if self.given == file.len() {
                    return Err(FORMAT.corrupt("it ends before its last row"));
                }
                self.given = (self.given + PIECE).min(file.len());
                let status = libwebp::WebPIUpdate((*state).decoder, file.as_ptr(), self.given);
                let (mut last, no) = (0, ptr::null_mut());
                let none = ptr::null_mut();
                libwebp::WebPIDecGetYUVA(
                    (*state).decoder,
                    &raw mut last,
                    none,
                    none,
                    none,
                    no,
                    no,
                    no,
                    no,
                    no,
                );
                (status, last)
            };
            self.rows = usize::try_from(decoded).unwrap_or(0);
            match status {
                VP8StatusCode::VP8_STATUS_OK | VP8StatusCode::VP8_STATUS_SUSPENDED => {}
                _ if self.rows >= rows => {}
                other => return Err(FORMAT.corrupt(format_args!("libwebp says {other:?}"))),
            }
        }
        Ok(())
    }

    /// Luma, Cb and Cr. Rows have [`ycbcr420::stride`] bytes, and half of it; those that have not been decoded are zero.
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

/// The codec's bytes in a file of their own.
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
    match small::size(file) {
        Some(own) if own == (size.width, size.height) => Ok(()),
        Some(_) => Err(FORMAT.corrupt("its pixels have another size than its header says")),
        None => Err(FORMAT.corrupt("its pixels cannot be decoded")),
    }
}
