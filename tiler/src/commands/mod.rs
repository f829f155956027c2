//! The subcommands of `tiler`: each file one of them, with its flags.

pub mod convert;
pub mod render;
