//! The codecs of WebP, by libwebp. The lossy one gets the file piece by piece and decodes the rows in it, so that rows
//! are read before the last one is decoded. A file that ends too early shows the same rows as in browsers.
//!
//! Source: libwebp's `src/webp/decode.h`, "Incremental decoding" and "Advanced decoding parametrization".
#![allow(unsafe_code)]

use std::os::raw::c_int;
use std::ptr::{self, NonNull};

use edgezoom_geometry::Size;
use edgezoom_jpeg::ycbcr420;
use libwebp_sys as libwebp;
use libwebp_sys::{
    VP8StatusCode, WEBP_CSP_MODE, WebPBitstreamFeatures, WebPDecoderConfig, WebPIDecoder, WebPRGBABuffer,
    WebPYUVABuffer,
};

use super::FORMAT;
use crate::{Layout, SourceError};

/// Number of bytes passed to libwebp at once: a few rows of macroblocks.
const PIECE: usize = 64 << 10;

/// A picture's header.
#[derive(Clone, Copy)]
pub struct Features {
    pub size: Size,
    pub has_alpha: bool,
    pub is_lossy: bool,
}

/// Returns what the header of a file, or of the chunks of a frame, says.
pub fn features(bytes: &[u8]) -> Option<Features> {
    let mut found =
        WebPBitstreamFeatures { width: 0, height: 0, has_alpha: 0, has_animation: 0, format: 0, pad: [0; 5] };
    // SAFETY: it reads within the bytes, and writes the features.
    let status = unsafe { libwebp::WebPGetFeatures(bytes.as_ptr(), bytes.len(), &raw mut found) };
    let side = |length: c_int| u32::try_from(length).ok().filter(|&length| length > 0);
    let size = Size { width: side(found.width)?, height: side(found.height)? };
    let is_known = matches!(status, VP8StatusCode::VP8_STATUS_OK);
    is_known.then_some(Features { size, has_alpha: found.has_alpha != 0, is_lossy: found.format == 1 })
}

/// Decodes a file, or the chunks of a frame, into RGB or RGBA whose rows are `row_bytes` bytes apart. Returns the
/// number of rows that could be decoded. Those below are undefined. With `has_threads`, libwebp may use several.
///
/// # Errors
/// The picture does not fit into `out`, or libwebp has no memory.
pub fn decode(
    bytes: &[u8],
    layout: Layout,
    row_bytes: usize,
    out: &mut [u8],
    has_threads: bool,
) -> Result<u32, SourceError> {
    let stride = c_int::try_from(row_bytes).map_err(|_| FORMAT.unsupported("its rows are too long"))?;
    let mut config = config(has_threads)?;
    config.output.colorspace = match layout {
        Layout::Rgba => WEBP_CSP_MODE::MODE_RGBA,
        _ => WEBP_CSP_MODE::MODE_RGB,
    };
    config.output.is_external_memory = 1;
    config.output.u.RGBA = WebPRGBABuffer { rgba: out.as_mut_ptr(), stride, size: out.len() };
    let mut rows = 0;
    // SAFETY: the decoder reads within the bytes and writes within `out`, whose size it knows and compares with that of
    // the picture. It is deleted before they are used again.
    let status = unsafe {
        let decoder = libwebp::WebPIDecode(ptr::null(), 0, &raw mut config);
        if decoder.is_null() {
            return Err(SourceError::OutOfMemory);
        }
        let status = libwebp::WebPIUpdate(decoder, bytes.as_ptr(), bytes.len());
        let no = ptr::null_mut();
        libwebp::WebPIDecGetRGB(decoder, &raw mut rows, no, no, no);
        libwebp::WebPIDelete(decoder);
        status
    };
    match status {
        VP8StatusCode::VP8_STATUS_OUT_OF_MEMORY => Err(SourceError::OutOfMemory),
        VP8StatusCode::VP8_STATUS_INVALID_PARAM => {
            Err(FORMAT.corrupt("its pixels do not have the size that its header states"))
        }
        _ => Ok(u32::try_from(rows).unwrap_or(0)),
    }
}

fn config(has_threads: bool) -> Result<WebPDecoderConfig, SourceError> {
    let mut config =
        WebPDecoderConfig::new().map_err(|()| FORMAT.corrupt("the version of libwebp is wrong"))?;
    config.options.use_threads = has_threads.into();
    Ok(config)
}

/// A lossy picture without an alpha channel that is being decoded.
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
    chunk: Vec<u8>,
    /// Luma, Cb and Cr, in rows of full macroblocks.
    planes: [Vec<u8>; 3],
}

impl Lossy {
    /// Opens the chunk of a picture of this size. With `has_threads`, libwebp may use several.
    pub fn open(chunk: Vec<u8>, size: Size, has_threads: bool) -> Result<Self, SourceError> {
        let config = config(has_threads)?;
        let stride = ycbcr420::stride(size.width);
        let rows = size.height.next_multiple_of(ycbcr420::ROWS) as usize;
        let chroma = stride / 2 * (rows / 2);
        let planes = [stride * rows, chroma, chroma].map(|bytes| vec![0; bytes]);
        let state = Box::into_raw(Box::new(State { decoder: ptr::null_mut(), config, chunk, planes }));
        // SAFETY: the pointers are to fields of one allocation, and to those of its vectors, which do not change in
        // length and live until `drop` has deleted the decoder.
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
        if decoder.is_null() { Err(SourceError::OutOfMemory) } else { Ok(lossy) }
    }

    /// Decodes at least the first `rows` rows.
    ///
    /// # Errors
    /// The file ends before, or is damaged there.
    pub fn decode(&mut self, rows: usize) -> Result<(), SourceError> {
        let state = self.state.as_ptr();
        while self.rows < rows {
            // SAFETY: nothing else uses the state while `self` is borrowed mutably. The decoder writes within the
            // planes, whose sizes it knows, and reads within the part of the chunk that it gets.
            let (status, decoded) = unsafe {
                let chunk = &(*state).chunk;
                if self.given == chunk.len() {
                    return Err(FORMAT.ends_early());
                }
                self.given = (self.given + PIECE).min(chunk.len());
                let status = libwebp::WebPIUpdate((*state).decoder, chunk.as_ptr(), self.given);
                let (mut last, no, none) = (0, ptr::null_mut(), ptr::null_mut());
                let decoder = (*state).decoder;
                libwebp::WebPIDecGetYUVA(decoder, &raw mut last, none, none, none, no, no, no, no, no);
                (status, last)
            };
            self.rows = usize::try_from(decoded).unwrap_or(0);
            match status {
                VP8StatusCode::VP8_STATUS_OK | VP8StatusCode::VP8_STATUS_SUSPENDED => {}
                _ if self.rows >= rows => {}
                _ => return Err(FORMAT.corrupt("its pixels cannot be decoded")),
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
