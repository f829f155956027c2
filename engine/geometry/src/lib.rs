//! Arithmetic of Deep Zoom images: levels, tile grids, descriptors, and an index of tiles in an archive.
//!
//! A [`Dzi`] describes a pyramid: its [`Size`], levels and tiles, and the descriptor that viewers read. A [`TileIndex`]
//! finds a tile in a pyramid that is stored as one [`Archive`]. [`Previews`] are two small pictures of the whole. A
//! [`Scale`] is the physical size of a pixel, an [`Orientation`] the way in which a picture is stored, [`Damage`] what
//! a picture lacks.
//!
//! ```
//! use edgezoom_geometry::{Dzi, Size, TileFormat};
//!
//! let size = Size { width: 8192, height: 6144 };
//! let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg };
//! assert_eq!(dzi.max_level(), 13);
//! assert_eq!(dzi.level_size(12), Size { width: 4096, height: 3072 });
//! assert_eq!(dzi.grid(13), (16, 12));
//! assert_eq!(dzi.tile_path(13, 4, 2), "13/4_2.jpg");
//! ```
//!
//! Everything here is a value or a pure function.

#![forbid(unsafe_code)]

mod damage;
mod drawing_features;
mod dzi;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod orientation;
mod preview;
mod scale;
mod tile_index;

pub use damage::Damage;
pub use drawing_features::DrawingFeatures;
pub use dzi::{Dzi, NAMESPACE, Size, TileFormat};
pub use orientation::Orientation;
pub use preview::{PreviewKind, Previews};
pub use scale::{Scale, ScaleBasis, ScaleUnit};
pub use tile_index::{Archive, TileIndex, TileIndexError, TileRange, tile_number};

// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
