//! A fast baseline JPEG encoder in safe Rust. It takes a picture row by row and writes, byte for byte, what libjpeg-turbo
//! writes with the tables of the standard (ITU-T T.81, annex K).
//!
//! ```
//! use edgezoom_jpeg::{Input, JpegEncoder};
//!
//! let mut encoder = JpegEncoder::new(Input::Rgb, 82, true);
//! encoder.begin(256, 100);
//! for row in 0..100 {
//!     encoder.row(&[row; 3 * 256]);
//! }
//! let file = encoder.finish();
//! assert!(file.starts_with(&[0xFF, 0xD8]) && file.ends_with(&[0xFF, 0xD9]));
//! ```
//!
//! Many encoders can be open side by side, one for each tile of a row of tiles: [`JpegEncoder::another`] shares the tables
//! and the working memory. [`ycbcr420`] is the layout of rows whose chroma is subsampled already.

#![forbid(unsafe_code)]

mod encoder;
pub mod ycbcr420;

pub use encoder::{Input, JpegEncoder};
