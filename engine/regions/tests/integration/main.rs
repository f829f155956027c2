//! Regions rendered from pyramids that are made here, tile by tile, so that every tile size, overlap and kind of tile
//! occurs.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod colours;
mod damage;
mod libvips;
mod places;
mod pyramid;
