//! Pictures, documents and drawings of many formats, read as rows of 8-bit sRGB pixels from top to bottom.
//!
//! [`prepare`] looks at a file's first bytes, never at a name or at what somebody said it was, and [`Prepared::open`] gives its
//! picture as [`RowReader`]. JPEG, PNG, TIFF, QOI, PNM, TGA, HDR and Farbfeld are decoded as they are read; all others, interlaced PNG,
//! and pictures that EXIF turns or flips are decoded as a whole, if that fits into the memory that [`Bounds`] allow. Sizes
//! are checked against the bounds from the header, before anything is allocated for them. Colour profiles are applied
//! here too: what comes out is sRGB. PDF and SVG have no pixels of their own: they are drawn, a strip at a time, as large
//! as [`DrawingOptions`] say.
//!
//! Nothing here knows of tiles. All of it is meant to run in the renderer process, as the bytes may be hostile.

// Helpers of formats that this build leaves out are not called.
#![cfg_attr(
    not(all(
        feature = "dds",
        feature = "modern",
        feature = "openexr",
        feature = "pdf",
        feature = "svg",
        feature = "tiff"
    )),
    allow(dead_code, unused_imports)
)]

mod bounds;
mod buffered;
mod colour;
mod error;
pub mod formats;
mod open;
mod options;
mod orientation;
mod registry;
mod row_reader;
mod vector;
pub mod ycbcr420;

pub use bounds::Bounds;
use buffered::Buffered;
pub use colour::flatten::{Flattened, is_opaque};
use colour::icc::Profile;
pub use error::SourceError;
use open::{Decoded, READ_BYTES};
pub use open::{Prepared, open, open_with, prepare};
pub use options::{DecodeOptions, DrawingOptions};
pub use orientation::Orientation;
pub use registry::{Format, Reading};
pub use row_reader::{Layout, RowReader};
#[cfg(feature = "pdf")]
pub use vector::pdf::locate as locate_pdfium;
