//! The `tiler` command.

fn main() {}
