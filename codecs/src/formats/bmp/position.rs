//! Reading a file at a place, without moving its position.

use crate::SourceFile;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Reads as many bytes as there are, up to the length of `into`. The rest of it is zeros.
pub fn read_up_to(file: &SourceFile, at: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = into.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at.saturating_add(read as u64)) {
            Ok(0) => break,
            Ok(bytes) => read += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    into.get_mut(read..).unwrap_or_default().fill(0);
    Ok(read)
}

/// The bytes of a file. The sandbox forbids asking for metadata, so its end is sought.
pub fn length(file: &SourceFile) -> io::Result<u64> {
    file.length()
}

/// A file from a place on, as if it began there. Several may share the file, which the sandbox forbids to duplicate.
pub struct Section {
    file: Arc<SourceFile>,
    start: u64,
    at: u64,
}

impl Section {
    pub fn new(file: Arc<SourceFile>, start: u64) -> Self {
        Self { file, start, at: 0 }
    }
}

impl Read for Section {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.start.saturating_add(self.at))?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Section {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => {
                length(&self.file)?.checked_sub(self.start).and_then(|end| end.checked_add_signed(by))
            }
        };
        self.at = at.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
