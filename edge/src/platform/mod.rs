//! The platform's bindings, where one call of the `worker` crate is not enough.

pub(crate) mod bridge;
pub(crate) mod isolate;
pub(crate) mod kv;
pub(crate) mod r2;
