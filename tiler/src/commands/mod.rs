//! The subcommands of `tiler`, one file each, and the flags that several of them share.

pub mod admin;
pub mod collection;
pub mod convert;
pub mod doctor;
pub mod edge_metrics;
mod flags;
mod log;
mod machine;
pub mod seal;
pub mod serve;
mod targets;
