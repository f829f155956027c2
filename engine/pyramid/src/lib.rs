//! Deep Zoom pyramids of pictures of any size, in memory proportional to the picture's width.
//!
//! [`dzsave`] does what libvips' operation of that name does: it cuts a picture into tiles, halves it, cuts the smaller
//! picture into tiles, and so on down to one pixel. It writes all tiles to a [sink](sinks): a directory or an archive.
//!
//! ```
//! use std::fs::{self, File};
//!
//! use edgezoom_pyramid::codecs::{Bounds, open_with};
//! use edgezoom_pyramid::sinks::DirectorySink;
//! use edgezoom_pyramid::{Built, Options, TileFormat, dzsave};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let photo = folder.path().join("photo.ppm");
//! # fs::write(&photo, [b"P6 600 400 255\n".as_slice(), &vec![128; 3 * 600 * 400]].concat())?;
//! # let out = folder.path().join("out");
//! let Built { dzi, damage, .. } = dzsave(
//!     |decode| open_with(File::open(&photo)?, Bounds::default(), decode),
//!     &DirectorySink::new(&out)?,
//!     &Options { tile_size: 254, ..Options::default() },
//! )?;
//! assert_eq!((dzi.size.width, dzi.tile_format), (600, TileFormat::Jpg));
//! assert_eq!(damage, None); // a damaged picture is saved as far as it can be read
//! assert!(fs::read_to_string(out.with_extension("dzi"))?.contains(r#"TileSize="254""#));
//! assert!(folder.path().join("out_files/10/2_1.jpg").is_file());
//! # Ok(())
//! # }
//! ```
//!
//! # Layouts
//! A pyramid can have the files of Zoomify, Google Maps or IIIF instead ([`TileLayout`]), named as libvips names them.
//! The sink needs the options, too, because it names the files:
//!
//! ```no_run
//! use edgezoom_pyramid::sinks::{DirectorySink, Tree};
//! use edgezoom_pyramid::{Options, TileLayout};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options { quality: 85, ..Options::of_layout(TileLayout::Iiif3) };
//! let sink = DirectorySink::new("out")?.with_tree(Tree::of(&options).with_id("https://iiif.example.org"));
//! # Ok(())
//! # }
//! ```
//! [`Options`] has libvips' other options: depth, background, blank tiles to leave out, and a rotation. A default
//! pyramid costs nothing for them; where rows have to be looked at or padded, JPEG sources are converted to RGB first.
//!
//! A picture is a [`RowReader`](codecs::RowReader): anything that returns rows of pixels from top to bottom. The
//! program `examples/dzsave.rs` opens any file that the codecs read.
//!
//! # Hostile files
//! [`dzsave`] decodes in the calling process. [`Bounds`](codecs::Bounds) reject pictures that are too large, but a file
//! made to attack a decoder can still crash it or keep it busy for long. Decode files of strangers in a process without
//! network, credentials and file system, with limits on memory and time. Edgezoom's `tiler` does so: its renderer
//! process opens a [`TileSource`] and passes the tiles to its parent by its own [`TileOutput`].
//!
//! # How it works
//! One thread reads a strip of a few rows, halves it into a strip of the level below, and so on. All strips go to the
//! encoder threads. Each thread owns some columns of tiles and keeps an encoder for each unfinished tile, to which it
//! passes the tile's part of each row. So a tile's pixels are not collected first, no thread waits for a whole row of
//! tiles, and the encoders read a strip while the cache still holds it.
//!
//! A picture of 20,000×10,000 pixels takes 40 MiB. Buffering rows of tiles would take 31 MB for each, and several of
//! them.
//!
//! A JPEG whose blocks are blocks of the tiles is read as blocks ([`as_jpeg`](codecs::RowReader::as_jpeg)), quantised
//! for the tiles by the threads that decode it, with rows of half the size. Full-size pixels are never made.
//!
//! A picture that has to be turned, as most photographs of phones, is read and halved as stored, and turned tile by
//! tile. Only then are the pixels of tiles collected.

mod background;
mod build_error;
mod builder;
mod choose;
mod coarse;
mod cutter;
mod downsampler;
mod dzsave;
mod geometry;
mod layout;
mod mean_filter;
mod options;
mod png_tile;
mod prefetch;
mod preview;
mod row_pairs;
mod shrink;
pub mod sinks;
mod stored_tile;
mod strip;
mod tile;
mod tile_encoder;
mod tile_source;
mod turn;
mod webp_tile;
mod words;

pub use build_error::BuildError;
pub use builder::build_tiles;
pub use coarse::coarse_of_thumbnail;
pub use dzsave::{DzsaveError, Observer, dzsave, dzsave_with};
pub use edgezoom_codecs as codecs;
pub use edgezoom_geometry::{Dzi, PreviewKind, Size, TileFormat};
pub use edgezoom_text::Text;
pub use layout::{Angle, Depth, RegionShrink, TileLayout};
pub use options::{Options, OptionsError};
pub use tile::{Tile, TileCoord, TileOutput};
pub use tile_source::{Built, TileSource};

// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
