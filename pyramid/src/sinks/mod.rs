//! Where pyramids go: each file one kind of place.

pub mod archive;
pub mod directory;
mod error;

pub use error::SinkError;
