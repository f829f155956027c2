//! What the end-to-end tests and the benchmarks are written with. They drive the built things from outside, as a user
//! and a client would: a [`System`] is a real `cargo xtask dev`, a [`SourceServer`] stands for the web that sources come
//! from and serves [`picture`]s, a [`Client`] asks as clients do, and a [`pyramid`] is judged by what is served of it.
//!
//! Nothing here knows how the service works inside. What a pyramid should be is computed anew, not taken from the code
//! that is tested.

pub mod browser;
pub mod bucket;
pub mod chaos;
pub mod client;
pub mod helper;
pub mod processes;
pub mod prometheus;
pub mod pyramid;
pub mod source_server;
pub mod system;

pub use client::{Client, Course};
pub use edgezoom_test_pictures as picture;
pub use source_server::{Source, SourceServer};
pub use system::{Options, System};
