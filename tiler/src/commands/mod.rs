//! The subcommands of `tiler`: each file one of them, with its flags; and the flags they share.

pub mod convert;
mod drawing;
mod limits;
mod pages;
pub mod render;
pub mod serve;
