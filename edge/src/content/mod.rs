//! A content as the edge knows it: its representation, what KV keeps of it, where it is found, and the responses made
//! of it.

pub mod cached_content;
pub mod descriptor;
pub mod events;
pub mod iiif;
pub mod lookup;
pub mod representation;
pub mod response;
pub mod unknown_ids;

pub(crate) mod kv_cache;
pub(crate) mod repository;
