//! Parsed requests: the parts of the URL, the route that the router finds, and the R2 objects that it may read.

mod decimal;
pub mod iiif;
pub mod object_key;
pub mod place;
pub mod route;
pub mod router;
mod typed;
pub mod upload;
pub mod url;
