//! The tests of the crate as a whole, in one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod dzsave;
mod exact;
mod example;
mod output;
mod sinks;
mod ycbcr420;
