//! The Durable Objects: one for each content, the single writer of its conversion's state, and one that keeps the
//! queue's backlog.

pub mod messages;

pub(crate) mod backlog;
mod conversion;
mod record;
mod subscribers;
