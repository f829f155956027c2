//! The crate's front door: files of every format, whole and broken. What needs a process of its own is beside this folder.

mod bad_sources;
mod documentation;
mod formats;
