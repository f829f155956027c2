//! Decodes regular baseline JPEGs on several threads, sample by sample as libjpeg-turbo does.
//!
//! [`frame`] reads the headers, and says if a file is one for this decoder. A [`pipeline`] cuts the scan into chunks and
//! gives samples in order; [`rows`] makes pixels of them. Whatever is not regular, in the headers or in the middle of the
//! scan, is reported as such, and the caller goes on with libjpeg: of damaged files there is only one right picture, the one
//! that everyone else shows.
//!
//! ```text
//! input (bytes) ─▶ chunk (huffman ─▶ coefficients) ─▶ planes (idct) ─▶ rows
//! └──────────────────── pipeline: several threads ──────────────┘
//! ```

mod chunk;
mod coefficients;
pub mod frame;
mod huffman;
mod idct;
mod input;
pub mod pipeline;
pub mod planes;
pub mod rows;
