//! The Worker that answers for Edgezoom at the edge: a pure half that decides, and a rim that touches the platform.
//!
//! **Pure**, tested natively: [`config`] says what the operator chose, [`router`] what a request asks for, [`negotiate`] in
//! which form ([`callback`] for scripts); [`answer`] is everything that can be sent back; [`conditional`] reads what a client has already;
//! [`admission`] says when new contents may be created; [`object_key`] names what may be read from the store. None of them names the `worker` crate.
//!
//! **Rim**, bindings only: `worker` takes requests and sends answers; `contents` finds a content in KV (`finished`) or asks
//! its Durable Object (`conversion_object`, to which `listeners` may listen), and `gate` lets new ones in, as long as the `backlog` is bearable; `tiles` streams from R2; `internal` hears the tilers.

pub mod admission;
pub mod answer;
pub mod callback;
pub mod conditional;
pub mod config;
pub mod escape;
pub mod href;
pub mod known;
pub mod negotiate;
pub mod object_key;
pub mod object_protocol;
pub mod record;
pub mod router;

mod backlog;
mod bridge;
mod contents;
mod conversion_object;
mod finished;
mod gate;
mod internal;
mod listeners;
mod tiles;
mod worker;
