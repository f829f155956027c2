//! Every kind of picture file that is read, made by other people's encoders, through the whole engine and its sandbox, against
//! what other people's decoders show.
//!
//! A variant is a line in one of the tables: how the file is made, and how it is to look. `cargo xtask setup` brings the
//! programs. A file that comes out wrong stays in `target/tmp/raster/`, beside what it should have been.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod astronomy;
mod cameras;
mod colour;
mod containers;
mod frames;
mod medicine;
mod modern;
mod old;
mod photoshop;
mod refused;
mod tiff;
pub mod variant;
