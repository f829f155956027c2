//! A WebP that is a part of another file, as pixels at once.
//!
//! Source: libwebp's `src/webp/decode.h`.
#![allow(unsafe_code)]

use libwebp_sys as libwebp;

/// The width and height that a file says it has.
pub(crate) fn size(file: &[u8]) -> Option<(u32, u32)> {
    let (mut width, mut height) = (0, 0);
    // SAFETY: it reads within the file, and writes the two numbers.
    let is_known =
        unsafe { libwebp::WebPGetInfo(file.as_ptr(), file.len(), &raw mut width, &raw mut height) != 0 };
    u32::try_from(width).ok().zip(u32::try_from(height).ok()).filter(|_| is_known)
}

/// Decodes a file of this width into rows of pixels of three channels, RGB, or four, RGBA. `None`: it is damaged, or does not
/// fit.
pub(crate) fn decode(file: &[u8], width: u32, channels: usize, rows: &mut [u8]) -> Option<()> {
    let decode = if channels == 4 { libwebp::WebPDecodeRGBAInto } else { libwebp::WebPDecodeRGBInto };
    let row_bytes = i32::try_from(width as usize * channels).ok()?;
    // SAFETY: it reads within the file and writes within the rows, or refuses when they are too few.
    let written = unsafe { decode(file.as_ptr(), file.len(), rows.as_mut_ptr(), rows.len(), row_bytes) };
    (!written.is_null()).then_some(())
}
