//! JPEG in safe Rust: an encoder for many small baseline files at once, the tiles of a picture that arrives row by row, and
//! a decoder of baseline and progressive files that uses all cores for one file.
//!
//! - [`encoder`] encodes rows of pixels with Huffman tables for each file, and the steps of [`quantisation`].
//! - [`decoder`] decodes regular files on several threads, sample by sample as libjpeg-turbo does, or into blocks for tiles, which it turns.
//! - [`markers`] reads the markers of a file, of any kind.
//! - [`ycbcr420`] is the layout of rows whose chroma is subsampled already, as JPEG decoders and video codecs give them.
//!
//! ```
//! use edgezoom_jpeg::encoder::{Encoder, Input};
//! use edgezoom_jpeg::quantisation::Quantisation;
//!
//! let mut encoder = Encoder::new(Input::Rgb, &Quantisation::of_quality(82, true), true);
//! encoder.begin(256, 100);
//! for row in 0..100 {
//!     encoder.row(&[row; 3 * 256]);
//! }
//! let file = encoder.finish();
//! assert!(file.starts_with(&[0xff, 0xd8]) && file.ends_with(&[0xff, 0xd9]));
//! ```

#![forbid(unsafe_code)]

pub mod decoder;
pub mod encoder;
pub mod markers;
pub mod quantisation;
mod tables;
mod turn;
mod vectors;
pub mod ycbcr420;

// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
