//! The crate from outside, in one program: every further one would link the codecs once more.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod coarse;
mod dzsave;
mod exact;
mod example;
mod output;
mod packages;
mod preview;
mod sinks;
mod turned;
mod ycbcr420;
