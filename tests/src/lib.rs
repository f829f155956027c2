//! Building blocks of the end-to-end tests and benchmarks. They drive the built programs from outside, as users and
//! clients do: a [`System`] is a real `cargo xtask dev`, a [`SourceServer`] serves [`picture`]s in place of the web, a
//! [`Client`] makes requests, and a [`pyramid`] is judged by what is served.
//!
//! Nothing here knows the service's internals. The expected pyramid is computed independently of the code under test.

pub mod chaos;
pub mod client;
pub mod processes;
pub mod programs;
pub mod pyramid;
pub mod source_server;
pub mod system;

pub use client::{Client, Course};
pub use edgezoom_test_pictures as picture;
pub use source_server::{Source, SourceServer};
pub use system::{Options, System};
