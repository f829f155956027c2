//! Tests of the public API, in one test binary: each further binary would link the codecs again.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod blocks;
mod centred;
mod coarse;
mod decoders;
mod dzsave;
mod exact;
mod example;
mod iiif;
mod labels;
mod output;
mod packages;
mod preview;
mod sinks;
mod turned;
mod watched;
mod ycbcr420;
