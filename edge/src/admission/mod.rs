//! Decides whether new contents are admitted: maintenance, signatures, each client's limits and share of the queue, the
//! backlog; `durable/admit.rs` asks. And how much a client may have rendered in a day.

pub mod client;
pub mod policy;
pub mod renderings;
pub mod scheduler;
