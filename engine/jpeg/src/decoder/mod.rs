//! Decodes regular JPEGs, baseline and progressive, sample by sample as libjpeg-turbo does.
//!
//! [`frame`] reads the headers, and says if a file is one for this decoder. A [`pipeline`] cuts the scan into chunks,
//! which several threads decode, and gives samples in order; [`sequential`] does so on the calling thread.
//! [`progressive`] decodes all scans of a picture side by side. [`mcu_rows`] collects samples, [`scans`] joins those of
//! several scans, and [`rows`] makes pixels, [`chroma`] planes of YCbCr 4:2:0; [`requantise`] makes tiles of the blocks
//! themselves. Irregularities in the headers or in the middle of a scan are reported, and the caller goes on with
//! libjpeg: a damaged file has only one right picture, the one that everyone else shows.
//!
//! ```text
//! input (bytes) ─▶ chunk (huffman ─▶ coefficients) ─▶ planes (idct) ─▶ mcu_rows ─▶ rows, chroma
//! └───────────────────── pipeline, sequential ──────────────────┘
//! ```

pub mod chroma;
mod chunk;
mod coefficients;
pub mod frame;
mod huffman;
mod idct;
mod input;
pub mod mcu_rows;
pub mod pipeline;
pub mod planes;
pub mod progressive;
mod refine;
pub mod requantise;
pub mod rows;
pub mod scans;
pub mod sequential;
mod threads;
