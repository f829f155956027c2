//! Encodes tiles as lossy WebP, by libwebp with its usual settings. It takes a tile as a whole, so an unfinished tile has all
//! its pixels in memory.
//!
//! Source: libwebp's `src/webp/encode.h`, "One-stop-shop call".
#![allow(unsafe_code)]

use std::io;
use std::ptr;

use edgezoom_codecs::Layout;
use libwebp_sys as libwebp;

/// Encodes one tile after the other.
pub struct WebpEncoder {
    quality: u8,
    layout: Layout,
    size: (u32, u32),
    /// Red, green and blue, and opacity if the layout has it.
    pixels: Vec<u8>,
}

impl WebpEncoder {
    /// Makes an encoder of a quality, 1 to 100.
    pub fn new(layout: Layout, quality: u8) -> Self {
        Self { quality, layout, size: (0, 0), pixels: Vec::new() }
    }

    /// Makes another encoder of the same kind.
    pub fn another(&self) -> Self {
        Self::new(self.layout, self.quality)
    }

    /// Begins a tile.
    pub fn begin(&mut self, width: u32, height: u32) {
        self.size = (width, height);
        self.pixels.clear();
    }

    /// Adds a row of pixels.
    pub fn row(&mut self, pixels: &[u8]) {
        match self.layout {
            Layout::Grey => self.pixels.extend(pixels.iter().flat_map(|&grey| [grey; 3])),
            _ => self.pixels.extend_from_slice(pixels),
        }
    }

    /// Passes the finished tile to `take`.
    pub fn finish(&mut self, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let has_opacity = self.layout == Layout::Rgba;
        let (width, height) = (self.size.0 as usize, self.size.1 as usize);
        let stride = width * if has_opacity { 4 } else { 3 };
        if self.pixels.len() != stride * height {
            return Err(io::Error::other("the tile is not complete"));
        }
        let encode = if has_opacity { libwebp::WebPEncodeRGBA } else { libwebp::WebPEncodeRGB };
        let (width, height, stride) = (width as i32, height as i32, stride as i32);
        let mut file = ptr::null_mut();
        // SAFETY: it reads `height` rows of `stride` bytes, which the vector has, and sets `file`.
        let length = unsafe {
            encode(self.pixels.as_ptr(), width, height, stride, f32::from(self.quality), &raw mut file)
        };
        if length == 0 || file.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: libwebp has allocated this number of bytes there, which nobody else uses.
        let taken = take(unsafe { std::slice::from_raw_parts(file, length) });
        // SAFETY: it is libwebp's, and not used any more.
        unsafe { libwebp::WebPFree(file.cast()) };
        taken
    }
}
