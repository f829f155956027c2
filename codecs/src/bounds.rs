//! The bounds on a picture. Decoders compare them with the header before they allocate anything.

use std::num::NonZeroUsize;

use edgezoom_geometry::Size;

use crate::SourceError;

/// The size and the memory that a picture may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// The pixels it may have.
    pub pixels: u64,
    /// The pixels that a file of its length may have.
    pub pixels_by_length: u64,
    /// The pixels that a document or drawing is drawn with at most.
    pub drawn_pixels: u64,
    /// The pixels that a page of a document is drawn with at most.
    pub page_pixels: u64,
    /// The same for a page that is a scan, which has pixels of its own.
    pub scan_pixels: u64,
    /// The pixels a side may have.
    pub side: u32,
    /// The bytes of memory that may be used to buffer a picture.
    pub memory: u64,
    /// The pages of a PDF that are drawn; the rest is left out.
    pub pdf_pages: NonZeroUsize,
    /// The bytes that an SVG may have when unpacked. It is held in memory as a tree some ten times as large.
    pub svg_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            pixels: 20_000_000_000,
            pixels_by_length: u64::MAX,
            drawn_pixels: 1_000_000_000,
            page_pixels: 200_000_000,
            scan_pixels: 200_000_000,
            side: 1_000_000,
            memory: 768 << 20,
            pdf_pages: NonZeroUsize::MIN.saturating_add(99),
            svg_bytes: 64 << 20,
        }
    }
}

impl Bounds {
    /// The size, if it is within the bounds.
    pub(crate) fn admit(&self, width: u32, height: u32) -> Result<Size, SourceError> {
        let size = Size { width, height };
        if width == 0 || height == 0 {
            return Err(SourceError::Empty);
        }
        if size.pixels() > self.pixels {
            return Err(SourceError::TooManyPixels { size, pixels: self.pixels });
        }
        if width.max(height) > self.side {
            return Err(SourceError::TooLong { size, side: self.side });
        }
        if size.pixels() > self.pixels_by_length {
            return Err(SourceError::TooFewBytes { size, pixels: self.pixels_by_length });
        }
        Ok(size)
    }

    /// The bounds of what has no pixels of its own: the length of its file says nothing of its size.
    #[cfg(any(feature = "pdf", feature = "svg"))]
    pub(crate) fn of_drawings(self) -> Self {
        Self { pixels: self.pixels.min(self.drawn_pixels), pixels_by_length: u64::MAX, ..self }
    }

    /// Checks that so many bytes may be used. `reason` says what for.
    pub(crate) fn admit_memory(&self, bytes: u64, reason: &'static str) -> Result<(), SourceError> {
        if bytes > self.memory {
            return Err(SourceError::TooMuchMemory { reason, bytes, memory: self.memory });
        }
        Ok(())
    }
}
