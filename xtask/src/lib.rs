//! The foundations of every `cargo xtask` task: set-up, calls of Cargo, concurrent steps. Each dependency of this crate
//! delays a task's first line of output on a fresh machine, so parts with many dependencies belong in `tools/`, a
//! separate program that uses these modules.

pub mod build;
pub mod command;
pub mod dev;
pub mod lines;
pub mod project;
pub mod release;
pub mod setup;
pub mod steps;
pub mod tasks;
pub mod test;
