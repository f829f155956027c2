//! A content as the edge knows it: its representation, its record in KV, how it is found, and the responses about it.

pub mod cached_content;
pub mod events;
pub mod iiif;
pub mod representation;
pub mod response;
pub mod tile_runs;
pub mod unknown_ids;

pub(crate) mod kv_cache;
pub(crate) mod repository;
