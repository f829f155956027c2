//! What a request asks for: its URL in parts, the route that the router finds, and the keys of R2 objects that may be
//! read.

pub mod iiif;
pub mod object_key;
pub mod query;
pub mod route;
pub mod router;
pub mod upload;
pub mod upload_parts;
pub mod url;
