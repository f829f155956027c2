//! Stores pyramids in an object store with the S3 API, such as R2: each as one archive, or as an object for each tile
//! ([`Layout`]). What makes a pyramid visible is stored last: the completion of the archive, or the descriptor. No object
//! is overwritten: each attempt has keys of its own.
//!
//! This module does not know queues, leases or how tiles are rendered.

mod archive_upload;
mod bucket;
mod client;
mod concurrency_limit;
mod error;
mod multipart;
mod store;
mod stored;
mod tiles_upload;
mod upload;
mod uploaded_file;

pub use client::S3Settings;
pub use error::StoreError;
pub use store::S3Store;
pub use stored::Stored;
pub use upload::{Layout, Upload};
pub use uploaded_file::{UploadedFileError, UploadedFileLimits};
