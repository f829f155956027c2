//! Reads every supported variant of the raster formats. Third-party encoders make the files, and third-party decoders
//! the reference pictures.
//!
//! Each variant is a line in a table, with one script that makes the file and one that makes the reference picture.
//! `cargo xtask setup` installs the programs. If a variant fails, its files stay in `target/tmp/formats/`.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

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
mod variant;
