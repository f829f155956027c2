//! What Edgezoom's tasks consist of. This crate stays light, as everybody waits for it on a fresh machine: it sets up,
//! has Cargo build, and runs the steps of a test. What takes many crates is the program in `tools/`, which shares the
//! modules here.

pub mod bench;
pub mod build;
pub mod command;
pub mod dev;
pub mod port;
pub mod project;
pub mod setup;
pub mod steps;
pub mod test;
