//! The Durable Objects: one for each content, the only writer of its conversion's state, and one for the queue.

pub mod messages;

pub(crate) mod backlog;
mod conversion;
mod record;
mod subscribers;
