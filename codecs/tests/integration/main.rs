//! Files of every format, intact and broken, through the crate's public functions. Tests that need a process of their own
//! are beside this folder.

mod bad_sources;
mod documentation;
mod formats;
mod kept;
mod thumbnail;
mod tiff;
