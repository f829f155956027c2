//! Decodes files of every format, intact and broken, through the public API. Tests that need a separate process are in
//! `tests/`, next to this folder.

mod bad_sources;
mod documentation;
mod formats;
mod kept;
mod maps;
mod mosaic;
mod scale;
mod thumbnail;
mod tiff;
