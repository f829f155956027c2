//! Pictures, documents and drawings of many formats, read as rows of 8-bit sRGB pixels from top to bottom.
//!
//! [`open()`] finds a file's format by its first bytes, never by its name, and returns a [`RowReader`]:
//!
//! ```
//! use std::fs::File;
//!
//! use edgezoom_codecs::{Bounds, Layout};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("picture.ppm");
//! # std::fs::write(&path, b"P6 2 1 255\n\xff\0\0\0\0\xff")?;
//! let mut picture = edgezoom_codecs::open(File::open(path)?, Bounds::default())?;
//! let (size, layout) = (picture.size(), picture.layout());
//! assert_eq!((size.width, size.height, layout), (2, 1, Layout::Rgb));
//!
//! let mut row = vec![0; layout.row_bytes(size.width)];
//! for _ in 0..size.height {
//!     picture.read_rows(&mut row)?;
//! }
//! assert_eq!(row, [255, 0, 0, 0, 0, 255]);
//! # Ok(())
//! # }
//! ```
//!
//! A file may be bytes in memory, too, or anything that is read at an [offset](ReadAt), and another thread can
//! [end](Cancel) the work. [`Pixels`] in memory are a picture of their own.
//!
//! [`Format::reading`] tells how a format is read: row by row, strip by strip, or [buffered](Reading::Buffered) in the
//! memory that [`Bounds`] allow. Pictures that EXIF rotates or flips are buffered, too, unless the caller [turns
//! them](DecodeOptions::as_stored). Sizes are compared with the bounds before anything is allocated. Colour profiles
//! are applied: the pixels are sRGB. PDF and SVG have no pixels of their own: [`DrawingOptions`] decide their size.
//!
//! A process in a sandbox cannot open fonts or libraries: [`prepare`] loads them before, and [`Prepared::open`] opens
//! the picture. The bytes may be hostile, so run all of this in a process of its own, as the tiler does.
//!
//! Formats with heavy dependencies are features, all of them on by default: `modern` (AVIF, HEIC, JPEG XL, JPEG 2000),
//! `pdf`, `rare` (OpenEXR and the formats that crates decode as a whole), `svg`, `tiff`. The feature `vector`
//! draws the pages of PDFs as SVGs, too; `serde` lets options and bounds be sent to another process.

// Helpers of formats that this build leaves out are not called.
#![cfg_attr(
    not(all(feature = "modern", feature = "pdf", feature = "rare", feature = "svg", feature = "tiff")),
    allow(dead_code, unused_imports)
)]

mod bounds;
mod buffered;
mod cancel;
mod centred;
mod colour;
mod described;
mod error;
mod format;
pub mod formats;
#[cfg(feature = "tiff")]
mod lzw;
mod metadata;
mod mosaic;
mod open;
mod options;
mod pack_bits;
mod parallel;
mod pixels;
mod positioned;
mod read_ahead;
mod row_reader;
mod scratch;
mod source_file;
mod tolerant;
mod upright;
mod vectors;

pub use bounds::{Bounds, machine_memory};
pub use cancel::Cancel;
pub use centred::Centred;
pub use colour::flatten::{Flattened, is_opaque};
pub use edgezoom_geometry::{Damage, DrawingFeatures, Orientation};
pub use edgezoom_jpeg::ycbcr420;
pub use error::{BrowserDrawing, SourceError};
pub use format::{Format, Reading};
#[cfg(any(feature = "pdf", feature = "svg"))]
pub use formats::fonts::installed as installed_fonts;
#[cfg(feature = "pdf")]
pub use formats::pdf::{installed_cjk_font, locate as locate_pdfium};
pub use formats::{HEAD_BYTES, Thumbnail};
pub use metadata::{LateMetadata, Metadata};
pub use mosaic::Mosaic;
pub use open::{Prepared, open, open_with, prepare};
pub use options::{AsPlanes, DecodeOptions, DrawingOptions};
pub use parallel::vectorised;
pub use pixels::Pixels;
pub use row_reader::{BlockReader, Jpeg, Layout, RowReader, Turned};
pub use scratch::TemporaryFile;
pub use source_file::{ReadAt, SourceFile, announcement};
pub use vectors::{PageVectors, PixelsOnly, Vectors};

// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
