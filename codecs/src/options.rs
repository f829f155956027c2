//! How documents are drawn, which have no pixels of their own: how large, and which of their pages.

use std::num::{NonZeroU32, NonZeroUsize};

/// How PDF and SVG become pictures. Bounds on pixels hold for them too: what would be larger is drawn smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawingOptions {
    /// The page of a document to draw, counted from 1. `None`: all of them, side by side.
    pub page: Option<NonZeroU32>,
    /// The dots per inch of a PDF's pages. 200 shows all that was made to be printed.
    pub dpi: u32,
    /// The pixels that the widest page of a PDF has at least. At 200 dpi a page of paper has 1,700, which leaves little to
    /// zoom into.
    pub page_width: u32,
    /// How many pages of a PDF are drawn; the rest is left out.
    pub pages: NonZeroUsize,
    /// The pixels that the longer side of an SVG has at least.
    pub svg_side: u32,
    /// The bytes that an SVG may have when unpacked. It is held in memory as a whole, as a tree some ten times as large.
    pub svg_bytes: u64,
    /// Whether an SVG keeps its transparent background. Else it is drawn on white: nearly all are made to be seen on white,
    /// most have no background of their own, and black lines would vanish on a viewer's dark one.
    pub transparent: bool,
    /// How many threads draw an SVG.
    pub threads: NonZeroUsize,
}

impl Default for DrawingOptions {
    fn default() -> Self {
        Self {
            page: None,
            dpi: 200,
            page_width: 4_000,
            pages: NonZeroUsize::MIN.saturating_add(99),
            svg_side: 8_192,
            svg_bytes: 64 << 20,
            transparent: false,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// What whoever reads a source could do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Whether a JPEG may be given as its planes, [`Layout::YCbCr420`].
    pub ycbcr420: bool,
    /// The threads that may decode.
    pub threads: NonZeroUsize,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { ycbcr420: false, threads: NonZeroUsize::MIN }
    }
}
