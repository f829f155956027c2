//! What the tiler puts up with: one struct, every field settable, each default with its reason.

use std::num::NonZeroUsize;
use std::time::Duration;

use edgezoom_codecs::Bounds;

/// The limits of one conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes a source may have. Enough for scanned maps as TIFF; a picture of 20 gigapixels as JPEG is about as large.
    pub source_bytes: u64,
    /// The pixels a picture may have.
    pub pixels: u64,
    /// The pixels a side may have: what memory is proportional to.
    pub side: u32,
    /// The pages of a PDF that are drawn; the rest is left out.
    pub pdf_pages: NonZeroUsize,
    /// The bytes that an SVG may have when unpacked. It is held in memory as a whole, as a tree some ten times as large.
    pub svg_bytes: u64,
    /// The redirects followed until a source answers.
    pub redirects: u32,
    /// How long connecting to a source's host may take, its name look-up included.
    pub connect: Duration,
    /// How long a download may stand still.
    pub stall: Duration,
    /// How long a download may take altogether, redirects included: 2 GiB at a little over a megabyte a second. Without
    /// it, a byte every half minute would hold a place for years.
    pub download: Duration,
    /// The memory that a renderer process may use, in bytes.
    pub renderer_memory: u64,
    /// How long a renderer process may work, by the clock.
    pub renderer_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let bounds = Bounds::default();
        Self {
            source_bytes: 2 << 30,
            pixels: bounds.pixels,
            side: bounds.side,
            pdf_pages: bounds.pdf_pages,
            svg_bytes: bounds.svg_bytes,
            redirects: 5,
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            download: Duration::from_secs(30 * 60),
            renderer_memory: 1 << 30,
            renderer_time: Duration::from_secs(30 * 60),
        }
    }
}
