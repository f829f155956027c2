//! The platform's bindings, where they need more than one call of the `worker` crate.

pub(crate) mod bridge;
pub(crate) mod clock;
pub(crate) mod environment;
pub(crate) mod index_cache;
pub(crate) mod operator_lists;
pub(crate) mod r2;
pub(crate) mod sweep;
pub(crate) mod upload;
pub(crate) mod upload_parts;
