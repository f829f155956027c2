//! Storage for intermediate data of a decoder: memory, or a temporary file if there is much.
//!
//! A process in a sandbox cannot create files, so the [`TemporaryFile`] is created before.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::{Bounds, SourceError, positioned};

/// The share of [`Bounds::memory`] up to which memory is used although there is a file. It leaves enough of a
/// renderer's memory for everything else, and common pictures fit into it.
const MEMORY_SHARE: u64 = 4;
/// Number of bytes read or written at once.
const BLOCK_BYTES: usize = 256 << 10;

/// A file that decoders may use in place of memory. It serves one picture at a time.
#[derive(Clone, Debug)]
pub struct TemporaryFile {
    file: Arc<File>,
    bytes: u64,
}

impl TemporaryFile {
    /// Returns a temporary file of up to `bytes` bytes. `file` is readable and writable, with any content.
    #[must_use]
    pub fn new(file: File, bytes: u64) -> Self {
        Self { file: Arc::new(file), bytes }
    }
}

/// Bytes in memory or at the start of a file. Unwritten bytes have any value.
pub(crate) enum Scratch {
    Memory(Vec<u8>),
    File(TemporaryFile),
}

impl Scratch {
    /// Returns room for `bytes` bytes. `reason` names the use.
    pub(crate) fn new(
        bytes: u64,
        reason: &'static str,
        bounds: Bounds,
        file: Option<&TemporaryFile>,
    ) -> Result<Self, SourceError> {
        match file.filter(|_| bytes > bounds.memory / MEMORY_SHARE) {
            None => bounds.allocate(bytes, reason).map(Self::Memory),
            Some(file) if bytes > file.bytes => {
                Err(SourceError::TooMuchMemory { reason, bytes, memory: file.bytes })
            }
            Some(file) => Ok(Self::File(TemporaryFile { bytes, ..file.clone() })),
        }
    }

    /// Reads bytes at an offset.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Memory(memory) => {
                let part = part(offset, into.len()).and_then(|range| memory.get(range));
                into.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::File(TemporaryFile { file, .. }) => positioned::read_exact_at(file, into, offset),
        }
    }

    /// Writes at an offset.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Memory(memory) => {
                let part = part(offset, bytes.len()).and_then(|range| memory.get_mut(range));
                part.ok_or(ErrorKind::WriteZero)?.copy_from_slice(bytes);
                Ok(())
            }
            Self::File(TemporaryFile { file, bytes: room }) => {
                let end = offset.checked_add(bytes.len() as u64).filter(|end| end <= room);
                end.ok_or(ErrorKind::WriteZero)?;
                positioned::write_all_at(file, bytes, offset)
            }
        }
    }
}

fn part(offset: u64, length: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    Some(start..start.checked_add(length)?)
}

/// Writes to a scratch from an offset on, in large blocks.
pub(crate) struct ScratchWriter {
    offset: u64,
    block: Vec<u8>,
}

impl ScratchWriter {
    pub(crate) fn new(offset: u64) -> Self {
        Self { offset, block: Vec::with_capacity(BLOCK_BYTES) }
    }

    pub(crate) fn write(&mut self, scratch: &mut Scratch, bytes: &[u8]) -> io::Result<()> {
        if self.block.len() + bytes.len() > BLOCK_BYTES {
            self.flush(scratch)?;
        }
        if bytes.len() >= BLOCK_BYTES {
            scratch.write_at(bytes, self.offset)?;
            self.offset += bytes.len() as u64;
        } else {
            self.block.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Writes the last block. Call it after the last byte.
    pub(crate) fn flush(&mut self, scratch: &mut Scratch) -> io::Result<()> {
        scratch.write_at(&self.block, self.offset)?;
        self.offset += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }
}

/// Reads a part of a scratch from its start to its end, in large blocks.
pub(crate) struct ScratchReader {
    offset: u64,
    end: u64,
    block: Vec<u8>,
    next: usize,
}

impl ScratchReader {
    pub(crate) fn new(offset: u64, bytes: u64) -> Self {
        Self { offset, end: offset + bytes, block: Vec::new(), next: 0 }
    }

    /// Reads the next bytes.
    pub(crate) fn read(&mut self, scratch: &Scratch, bytes: usize) -> io::Result<&[u8]> {
        if self.block.len() - self.next < bytes {
            self.block.drain(..self.next);
            self.next = 0;
            let kept = self.block.len();
            let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
            let more = (bytes - kept).max(BLOCK_BYTES).min(left);
            self.block.resize(kept + more, 0);
            scratch.read_at(&mut self.block[kept..], self.offset)?;
            self.offset += more as u64;
        }
        let read = self.block.get(self.next..self.next + bytes).ok_or(ErrorKind::UnexpectedEof)?;
        self.next += bytes;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        Bounds { memory: 4_000_000, ..Bounds::default() }
    }

    #[test]
    fn written_bytes_are_read_from_memory_and_from_a_file() {
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10_000_000);
        for (bytes, is_file) in [(900_000, false), (3_000_000, true)] {
            let mut scratch = Scratch::new(bytes, "a test", bounds(), Some(&file)).unwrap();
            assert_eq!(matches!(scratch, Scratch::File(_)), is_file);
            let content: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
            let mut writer = ScratchWriter::new(0);
            for part in content.chunks(70_001) {
                writer.write(&mut scratch, part).unwrap();
            }
            writer.flush(&mut scratch).unwrap();
            let (first, rest) = content.split_at(1000);
            let mut readers = [ScratchReader::new(0, 1000), ScratchReader::new(1000, bytes - 1000)];
            assert_eq!(readers[1].read(&scratch, 300_000).unwrap(), &rest[..300_000]);
            assert_eq!(readers[0].read(&scratch, 1000).unwrap(), first);
            assert_eq!(readers[1].read(&scratch, 7).unwrap(), &rest[300_000..300_007]);
            assert!(readers[0].read(&scratch, 1).is_err());
        }
    }

    #[test]
    fn nothing_is_written_beyond_the_room() {
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10_000_000);
        for (bytes, memory) in [(3000, 4_000_000), (3000, 10_000)] {
            let bounds = Bounds { memory, ..Bounds::default() };
            let mut scratch = Scratch::new(bytes, "a test", bounds, Some(&file)).unwrap();
            assert!(scratch.write_at(&[1], bytes - 1).is_ok());
            assert!(
                scratch.write_at(&[1, 2], bytes - 1).is_err() && scratch.write_at(&[1], u64::MAX).is_err()
            );
            assert!(scratch.read_at(&mut [0], bytes).is_err());
        }
    }

    #[test]
    fn too_many_bytes_without_a_file_or_for_its_size_are_refused() {
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10_000_000);
        assert!(Scratch::new(3_000_000, "a test", bounds(), None).is_ok());
        assert!(Scratch::new(5_000_000, "a test", bounds(), None).is_err());
        assert!(Scratch::new(10_000_001, "a test", bounds(), Some(&file)).is_err());
    }
}
