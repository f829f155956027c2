//! A property of our parsers: however a file is changed or cut off, reading ends, with a picture or an error.

use std::fs::File;
use std::io::Write;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::{Bounds, DecodeOptions, Layout, SourceError};

/// Reads a whole file. Returns its width, layout and pixels.
pub fn read(bytes: &[u8]) -> Result<(u32, Layout, Vec<u8>), SourceError> {
    let bounds = Bounds { pixels: 1 << 20, memory: 64 << 20, ..Bounds::default() };
    let options = DecodeOptions { strict: true, ..DecodeOptions::default() };
    let mut reader = crate::open_with(file(bytes), bounds, &options)?;
    let (size, layout) = (reader.size(), reader.layout());
    let mut pixels = vec![0; layout.row_bytes(size.width) * size.height as usize];
    pixels.chunks_mut(layout.row_bytes(size.width)).try_for_each(|row| reader.read_rows(row))?;
    Ok((size.width, layout, pixels))
}

/// Returns a file with these bytes.
pub fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Reads variants of a file with some bytes changed, half of them in the first `head` bytes, or cut off.
pub fn check(file: &[u8], head: usize) {
    let changes = prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<u8>()), 1..6);
    let cut = prop::option::weighted(0.2, any::<prop::sample::Index>());
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(400) });
    let result = runner.run(&(changes, cut), |(changes, cut)| {
        let mut bytes = file.to_vec();
        for (is_in_head, index, value) in changes {
            let at = index.index(if is_in_head { head.min(bytes.len()) } else { bytes.len() });
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match read(&bytes) {
            Err(SourceError::Io(error)) => Err(TestCaseError::fail(error.to_string())),
            _ => Ok(()),
        }
    });
    result.unwrap();
}
