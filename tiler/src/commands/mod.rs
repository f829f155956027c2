//! The subcommands of `tiler`, a file each, and the groups of flags that several of them share.

pub mod admin;
pub mod convert;
pub mod cost;
pub mod doctor;
mod drawing;
mod limits;
mod pages;
mod policy;
pub mod render;
pub mod sandbox_probe;
pub mod serve;
