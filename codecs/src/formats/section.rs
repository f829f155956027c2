//! A part of a file as a reader of its own: a picture inside of another format's file, or one plane of several that are
//! read side by side. Several sections of one file do not disturb each other.

use crate::SourceFile;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Some bytes of a file. It reads where it stands, whatever else reads the file.
#[derive(Clone)]
pub struct Section {
    file: Arc<SourceFile>,
    start: u64,
    length: u64,
    position: u64,
}

impl Section {
    /// The bytes of a file from `start` on, at most `length` of them.
    pub fn new(file: &Arc<SourceFile>, start: u64, length: u64) -> Self {
        // Beyond the largest offset there is nothing.
        let start = start.min(i64::MAX as u64);
        let length = length.min(i64::MAX as u64 - start);
        Self { file: Arc::clone(file), start, length, position: 0 }
    }

    /// All bytes of a file.
    pub fn all(file: &Arc<SourceFile>) -> Self {
        Self::new(file, 0, u64::MAX)
    }

    /// The section with a buffer of so many bytes.
    pub fn buffered(self, bytes: usize) -> BufReader<Self> {
        BufReader::with_capacity(bytes, self)
    }
}

/// A file whose reader has not been used yet, to be read in sections.
pub fn share(file: BufReader<SourceFile>) -> Arc<SourceFile> {
    Arc::new(file.into_inner())
}

/// The next bytes of a reader, for numbers of a known byte order.
pub fn array<const N: usize>(reader: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Read for Section {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
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
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let beyond = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
        self.position =
            position.filter(|&position| position <= i64::MAX as u64 - self.start).ok_or_else(beyond)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn sections_of_a_file_are_read_side_by_side() {
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
