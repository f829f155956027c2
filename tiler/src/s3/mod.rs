//! Stores pyramids in an object store with the S3 API, such as R2: each is one object, which exists once its upload is
//! completed. No object is ever overwritten, because each attempt has keys of its own.
//!
//! This module does not know queues, leases or rendering.

mod bucket;
mod client;
mod store;
mod text;
mod tile_sink;
mod upload;

pub use bucket::Stored;
pub use client::{S3Settings, StoreError};
pub use store::{S3Store, UploadedFileError};
pub use tile_sink::{Places, SinkError, TileSink};
pub use upload::Upload;
