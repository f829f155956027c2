//! Where pyramids go: each file one kind of place.

pub mod archive;
pub mod directory;
mod error;
pub mod pace;
pub mod s3;

pub use error::SinkError;
