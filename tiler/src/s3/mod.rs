//! Stores pyramids in an object store with the S3 API, such as R2. The tiles of an attempt are uploaded with bounded
//! concurrency; the descriptor follows when every tile is stored, so an incomplete pyramid is never linked. No object
//! is overwritten: each attempt has keys of its own. The objects of an attempt are deleted by listing its prefix.
//!
//! This module does not know queues, leases or how tiles are rendered.

mod bucket;
mod client;
mod concurrency_limit;
mod error;
mod store;
mod upload;

pub use client::S3Settings;
pub use error::StoreError;
pub use store::S3Store;
pub use upload::{Stored, Upload};
