//! A pyramid as IIIF's APIs have it: another name for the tiles that are stored, of pyramids whose tiles do not overlap.

mod documents;
mod tiles;

pub use documents::{description, manifest};
pub use tiles::{canonical_path, tile_of};
