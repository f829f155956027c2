//! The parts of `cargo xtask` that every task needs: set-up, calls of Cargo, steps that run side by side. Each crate that
//! this one depends on delays the first line of output on a fresh machine, so parts that need many crates are in
//! `tools/`, a program of its own that uses the modules here.

pub mod bench;
pub mod build;
pub mod chaos;
pub mod command;
pub mod deploy;
pub mod dev;
pub mod lighthouse;
pub mod port;
pub mod project;
pub mod release;
pub mod setup;
pub mod shots;
pub mod simulate;
pub mod steps;
pub mod test;
