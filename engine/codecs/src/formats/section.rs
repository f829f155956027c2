//! Reads parts of a file as files of their own: a picture inside another format's file, or one of several planes that
//! are read in turn. Sections of one file do not disturb each other.

use std::io::{self, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::SourceFile;

/// Bytes that are read at an offset, without a position.
pub trait ReadAt {
    /// Fills `into` with the bytes at an offset, as far as they go. Returns the number of bytes read.
    fn read_up_to(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Does the same, and fills the rest with zeros.
    fn read_with_zeros(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let read = self.read_up_to(at, into)?;
        into.get_mut(read..).unwrap_or_default().fill(0);
        Ok(read)
    }

    /// Returns the bytes at an offset, or `None` if there are fewer.
    fn array_at<const N: usize>(&self, at: u64) -> io::Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        Ok((self.read_up_to(at, &mut bytes)? == N).then_some(bytes))
    }
}

impl ReadAt for SourceFile {
    fn read_up_to(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.read_up_to_at(into, at)
    }
}

impl ReadAt for [u8] {
    fn read_up_to(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let there = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let bytes = there.len().min(into.len());
        into[..bytes].copy_from_slice(&there[..bytes]);
        Ok(bytes)
    }
}

/// A part of a file, with a position of its own.
#[derive(Clone)]
pub struct Section {
    file: Arc<SourceFile>,
    start: u64,
    length: u64,
    position: u64,
}

impl Section {
    /// Returns the bytes of a file from `start`, at most `length` of them.
    pub fn new(file: &Arc<SourceFile>, start: u64, length: u64) -> Self {
        // No file is longer than the largest offset.
        let start = start.min(i64::MAX as u64);
        let length = length.min(i64::MAX as u64 - start);
        Self { file: Arc::clone(file), start, length, position: 0 }
    }

    /// Returns all bytes of a file.
    pub fn all(file: &Arc<SourceFile>) -> Self {
        Self::new(file, 0, u64::MAX)
    }

    /// Returns the section with a buffer.
    pub fn buffered(self, bytes: usize) -> BufReader<Self> {
        BufReader::with_capacity(bytes, self)
    }
}

/// Bytes in memory, which clones share.
#[derive(Clone)]
pub struct SharedBytes(Arc<Vec<u8>>);

impl SharedBytes {
    /// Returns bytes as a file. Its clones are read independently.
    pub fn file(bytes: Vec<u8>) -> Cursor<Self> {
        Cursor::new(Self(Arc::new(bytes)))
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Shares a file whose reader has not been used yet, to read it in sections.
pub fn share(file: BufReader<SourceFile>) -> Arc<SourceFile> {
    Arc::new(file.into_inner())
}

/// Reads an array of bytes.
pub fn array<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Read for Section {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let most = into.len().min(left);
        let into = into.get_mut(..most).unwrap_or_default();
        if into.is_empty() {
            return Ok(0);
        }
        let read = self.file.read_at(into, self.start + self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for Section {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let is_valid = |position: &u64| *position <= i64::MAX as u64 - self.start;
        self.position = position.filter(is_valid).ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn sections_of_a_file_are_read_independently() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abcdefghij").unwrap();
        let file = Arc::new(SourceFile::from(file));
        let (mut one, mut other) = (Section::new(&file, 1, 3), Section::new(&file, 8, 100));
        let mut bytes = [0; 2];
        one.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"bc");
        other.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"ij");
        assert_eq!(one.read(&mut bytes).unwrap(), 1);
        assert_eq!((bytes[0], one.read(&mut bytes).unwrap()), (b'd', 0));
        one.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(one.seek(SeekFrom::Current(2)).unwrap(), 2);
        assert!(one.seek(SeekFrom::Current(-3)).is_err());
        assert_eq!(one.seek(SeekFrom::Start(50)).unwrap(), 50);
        assert_eq!(one.read(&mut bytes).unwrap(), 0);
        assert_eq!(Section::new(&file, u64::MAX, u64::MAX).read(&mut bytes).unwrap_or(0), 0);
    }
}
