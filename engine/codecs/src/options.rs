//! Options for decoding a source. Users choose [`DrawingOptions`], which other structs embed; the program decides the
//! rest of [`DecodeOptions`]. Limits on the cost of a source are in [`Bounds`](crate::Bounds).

use std::num::{NonZeroU32, NonZeroUsize};

use edgezoom_geometry::Size;

use crate::Orientation;

/// Options for drawing PDF and SVG, which have no pixels of their own. [`Bounds`](crate::Bounds) apply, too: a drawing
/// that would have more pixels is drawn smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DrawingOptions {
    /// The page of a PDF or TIFF to show, counted from 1. `None`: all of a PDF, side by side; the first of a TIFF, at
    /// its highest level.
    pub page: Option<NonZeroU32>,
    /// Dots per inch of a PDF's pages, 1 to 10,000. 200 shows every detail made for print.
    pub dpi: u32,
    /// Minimum width in pixels of the widest page of a PDF. At 200 dpi a sheet of paper has 1,700, which leaves little
    /// to zoom into.
    pub page_width: u32,
    /// Minimum length in pixels of the longer side of an SVG.
    pub svg_side: u32,
    /// True to leave an SVG that resvg would draw otherwise than browsers to a browser: opening it fails with
    /// [`NeedsBrowser`](crate::SourceError::NeedsBrowser). Otherwise it is drawn as far as possible, with
    /// [`Damage::NotDrawn`](crate::Damage::NotDrawn).
    pub to_browser: bool,
    /// True to read the words of a document, too.
    pub text: bool,
    /// True to draw the pages of a PDF, or an SVG, as vectors, too, with the feature `vector`.
    pub vectors: bool,
    /// True to draw the pages of a PDF with half the resolution if they may all have vectors, which show the rest.
    /// [`Vectors::are_needed`](crate::Vectors::are_needed) tells for which that is done.
    pub halved: bool,
}

/// Options for decoding a source. The default suits every caller: any layout but planes, and one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Options for drawing documents.
    pub drawing: DrawingOptions,
    /// True to keep the transparent background of an SVG. Otherwise it is drawn on white: nearly all are made for
    /// white, most have no background, and black lines would vanish on a viewer's dark one.
    pub transparent: bool,
    /// The pictures that may be returned as planes.
    pub planes: AsPlanes,
    /// True to allow pictures as stored, with their [`Orientation`](crate::RowReader::orientation), for a caller that
    /// turns them. Otherwise a picture that is not upright is buffered as a whole.
    pub as_stored: bool,
    /// True to refuse a damaged picture, rather than show it as far as it goes.
    pub strict: bool,
    /// Number of threads for decoding or drawing.
    pub threads: NonZeroUsize,
}

/// The pictures that may be returned as planes, in [`Layout::YCbCr420`](crate::Layout::YCbCr420).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsPlanes {
    /// None.
    Never,
    /// Those whose chroma is halved both ways.
    Halved,
    /// Also JPEGs with more chroma, whose 2×2 samples are averaged.
    Averaged,
}

impl Default for DrawingOptions {
    fn default() -> Self {
        Self {
            page: None,
            dpi: 200,
            page_width: 4_000,
            svg_side: 8_192,
            to_browser: false,
            text: false,
            vectors: false,
            halved: false,
        }
    }
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            drawing: DrawingOptions::default(),
            transparent: false,
            planes: AsPlanes::Never,
            as_stored: false,
            strict: false,
            threads: NonZeroUsize::MIN,
        }
    }
}

impl DecodeOptions {
    /// Returns true if a picture with this stored orientation and size may be returned as planes.
    pub(crate) fn allow_planes(&self, orientation: Orientation, stored: Size) -> bool {
        let is_upright = orientation == Orientation::UPRIGHT;
        self.planes != AsPlanes::Never && (is_upright || self.as_stored && orientation.keeps_chroma(stored))
    }
}
