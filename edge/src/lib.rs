//! The Worker that answers for Edgezoom at the edge: Rust compiled to wasm, between Cloudflare's runtime and the rules
//! in [`edgezoom_content`].
//!
//! A request enters in `entry`, which `entry.js` calls. `request` finds its route, and `handlers` look up what the
//! route names and make the `response`. The modules:
//!
//! - `config`: what the operator configures: addresses, limits, secrets.
//! - `request`: the parts of a request's URL, the router, and the R2 keys that may be read.
//! - `response`: status, headers and body as a value; the errors of the API; the choice between JSON, XML and JSONP;
//!   escaping.
//! - `representation`: what a response says about a content, and the record of a finished one in KV.
//! - `lookup`: finds a content in KV or at its Durable Object, and the index of its tiles.
//! - `durable`: the Durable Objects: one for each content, the only writer of its conversion's state, and one for the
//!   queue.
//! - `admission`: whether a new content may be created, and how much a client may have rendered.
//! - `containers`: how many of the operator's containers run tilers, and what the Worker serves to them.
//! - `uploads`: files that clients send instead of naming a source.
//! - `regions`: pictures that are rendered from tiles.
//! - `text`: the words of a picture: the table of pages, lines as annotations, searches.
//! - `pages`: HTML for people, the embed script and oEmbed.
//! - `tiler_api`: the calls of tilers and the operator to `/internal/`.
//! - `platform`: the runtime's bindings where the `worker` crate is not enough, and what an isolate keeps.
//!
//! Everything that decides is pure and tested natively: `config`, `request`, `response`, `representation`, `pages`,
//! `admission`, the fleet of containers, and the parsers of the other rooms. All others use the `worker` crate.
//! Imports between files have no circles; `content/tests/imports` checks both.

mod admission;
mod config;
mod containers;
mod durable;
mod entry;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod handlers;
mod lookup;
mod pages;
mod platform;
mod regions;
mod representation;
mod request;
mod response;
#[cfg(test)]
mod tests;
mod text;
mod tiler_api;
mod uploads;
