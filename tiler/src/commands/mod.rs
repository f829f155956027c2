//! The subcommands of `tiler`, a file each, and the groups of flags that several of them share.

pub mod admin;
mod bot;
pub mod convert;
pub mod cost;
pub mod doctor;
mod drawing;
pub mod edge_metrics;
mod limits;
mod log;
mod pages;
mod policy;
pub mod render;
pub mod sandbox_probe;
pub mod serve;
