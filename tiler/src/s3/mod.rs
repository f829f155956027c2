//! Stores pyramids in an object store with the S3 API, such as R2: each as one archive, or as one object per tile
//! ([`Layout`]). The object that makes a pyramid visible is stored last: the completed archive, or the descriptor. No object
//! is ever overwritten, because each attempt has keys of its own.
//!
//! This module does not know queues, leases or rendering.

mod archive_upload;
mod bucket;
mod client;
mod concurrency_limit;
mod store;
mod tiles_upload;
mod upload;

pub use bucket::Stored;
pub use client::{S3Settings, StoreError};
pub use store::{S3Store, UploadedFileError};
pub use upload::{Layout, Upload};
