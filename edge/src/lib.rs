//! The Worker that answers for Edgezoom at the edge: Rust, compiled to wasm, between Cloudflare's runtime and the rules
//! in [`edgezoom_content`].
//!
//! A request enters in `entry`, which `entry.js` calls. [`request`] finds its route, `handlers` look up what the route
//! names and make the [`response`]. The rooms:
//!
//! - [`config`]: what the operator chose: addresses, limits, the tilers' token.
//! - [`request`]: a request's URL in parts, the router, and which keys of R2 may be read.
//! - [`response`]: status, headers and body as a value; the errors of the interface; the choice between JSON, XML and
//!   JSONP; escaping.
//! - [`content`]: a content as the edge knows it. `representation` prints it, `cached_content` is what KV keeps,
//!   `repository` finds it in KV or at its Durable Object.
//! - [`durable`]: the Durable Objects: one for each content, the single writer of its conversion's state, and one for
//!   the backlog.
//! - [`admission`]: whether a new content may be created.
//! - [`pages`]: HTML for people, the embed script and oEmbed.
//! - `tiler_api`: what tilers and the operator send to `/internal/`.
//! - `platform`: the runtime's bindings where the `worker` crate needs help: headers in one call, R2, the
//!   configuration, the clock.
//!
//! What decides is pure and tested natively: [`config`], [`request`], [`response`], [`pages`], the messages, and of
//! [`content`] what prints. Only `entry`, `handlers`, `platform`, `tiler_api`, the two objects, KV, the repository and
//! the admission check name the `worker` crate. No two files import each other, in however many steps;
//! `content/tests/imports` holds the code to that.

pub mod admission;
pub mod config;
pub mod content;
pub mod durable;
pub mod pages;
pub mod request;
pub mod response;

mod entry;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod handlers;
mod platform;
mod tiler_api;
