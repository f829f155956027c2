//! Decides whether new contents are admitted: maintenance, signatures, each client's limits and share of the queue, the
//! backlog. `durable/admit.rs` asks.

pub mod client;
pub mod policy;
pub mod scheduler;
