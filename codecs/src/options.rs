//! How a source is decoded. What a program's user may choose is [`DrawingOptions`], which other structs embed; what the
//! program itself decides is beside it in [`DecodeOptions`]. What a source may cost is not here but in
//! [`Bounds`](crate::Bounds).

use std::num::{NonZeroU32, NonZeroUsize};

use edgezoom_geometry::Size;

use crate::Orientation;

/// How PDF and SVG, which have no pixels of their own, become pictures. [`Bounds`](crate::Bounds) hold for them too: a
/// drawing that would have more pixels is drawn smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DrawingOptions {
    /// The page of a PDF or TIFF to show, counted from 1. `None`: all of a PDF, side by side; the first of a TIFF, at
    /// its highest level.
    pub page: Option<NonZeroU32>,
    /// The dots per inch of a PDF's pages, 1 to 10,000. 200 shows all that was made to be printed.
    pub dpi: u32,
    /// The pixels that the widest page of a PDF has at least. At 200 dpi a page of paper has 1,700, which leaves little
    /// to zoom into.
    pub page_width: u32,
    /// The pixels that the longer side of an SVG has at least.
    pub svg_side: u32,
}

/// How a source is decoded. The default suits every caller: any layout but planes, and one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// How documents are drawn.
    pub drawing: DrawingOptions,
    /// Whether an SVG keeps its transparent background. Otherwise it is drawn on white: nearly all are made to be seen
    /// on white, most have no background of their own, and black lines would vanish on a viewer's dark one.
    pub transparent: bool,
    /// Whether a JPEG may be given as its planes, [`Layout::YCbCr420`](crate::Layout::YCbCr420).
    pub ycbcr420: bool,
    /// Whether a picture may be given as it is stored, with its [`Orientation`](crate::RowReader::orientation), for a
    /// caller that turns it. Otherwise one that is not upright is buffered as a whole.
    pub as_stored: bool,
    /// Whether a damaged picture is refused, rather than shown as far as it goes.
    pub strict: bool,
    /// The threads that may decode or draw.
    pub threads: NonZeroUsize,
}

impl Default for DrawingOptions {
    fn default() -> Self {
        Self { page: None, dpi: 200, page_width: 4_000, svg_side: 8_192 }
    }
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            drawing: DrawingOptions::default(),
            transparent: false,
            ycbcr420: false,
            as_stored: false,
            strict: false,
            threads: NonZeroUsize::MIN,
        }
    }
}

impl DecodeOptions {
    /// Whether a picture that is stored with this orientation and size may be given as planes.
    pub(crate) fn allow_planes(&self, orientation: Orientation, stored: Size) -> bool {
        let is_upright = orientation == Orientation::UPRIGHT;
        self.ycbcr420 && (is_upright || self.as_stored && orientation.keeps_chroma(stored))
    }
}
