//! Whether a new content may be created, and when its job's turn is: maintenance, the limits of each client, the queue.

mod allowance;
pub mod client;
pub mod policy;
pub mod scheduler;

pub(crate) mod check;
