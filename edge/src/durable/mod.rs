//! The Durable Objects: one for each content, the only writer of its conversion's state, and one for the queue.

pub(crate) mod admit;
pub(crate) mod backlog;
pub(crate) mod collection;
pub(crate) mod conversion;
mod record;
mod subscribers;
