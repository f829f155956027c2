//! Finds what requests name: contents, finished ones in KV and all others at their Durable Object, and stored pyramids.

pub mod content;
pub mod index_cache;
pub mod pyramid;
pub mod repository;
mod unknown_ids;
