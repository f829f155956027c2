//! Whether a new content may be created: maintenance, the limit of each client, the queue's backlog.

pub mod policy;

pub(crate) mod check;
