//! Storage for intermediate data of a decoder: memory, or a temporary file if there is much.
//!
//! A process in a sandbox cannot create files, so the [`TemporaryFile`] is created before.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::mapped::Mapping;
use crate::{Bounds, SourceError};

/// The share of [`Bounds::memory`] up to which memory is used although there is a file. It leaves enough of a renderer's
/// memory for everything else, and common pictures fit into it.
const MEMORY_SHARE: u64 = 4;
/// Number of bytes read or written at once.
const BLOCK_BYTES: usize = 256 << 10;

/// A file that decoders may use in place of memory. It serves one picture at a time. A [`Scratch`] has its beginning, the
/// program's allocator its end; neither gets bytes that the other has.
#[derive(Clone, Debug)]
pub struct TemporaryFile {
    file: Arc<File>,
    bytes: u64,
    taken: Arc<Mutex<Taken>>,
}

/// The parts of a temporary file that are in use.
#[derive(Debug, Default)]
struct Taken {
    /// Number of scratches in the file, and the end of the longest.
    scratches: (usize, u64),
    /// Offset from which the allocator has the file, for ever.
    allocator: Option<u64>,
}

impl TemporaryFile {
    /// Returns a temporary file of up to `bytes` bytes. `file` is readable and writable, with any content.
    #[must_use]
    pub fn new(file: File, bytes: u64) -> Self {
        Self { file: Arc::new(file), bytes, taken: Arc::default() }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the allocator all bytes from an offset on. Returns false if a scratch has some of them.
    pub(crate) fn give_to_allocator(&self, offset: u64) -> bool {
        let mut taken = self.taken();
        let is_free = taken.scratches.1 <= offset;
        if is_free {
            taken.allocator = Some(taken.allocator.map_or(offset, |before| before.min(offset)));
        }
        is_free
    }

    /// Returns its largest size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }
}

/// Bytes in memory or in a file. Unwritten bytes have any value.
pub(crate) enum Scratch {
    Memory(Vec<u8>),
    File(InFile),
}

/// The first bytes of a temporary file.
pub(crate) struct InFile {
    whole: TemporaryFile,
    bytes: u64,
}

impl InFile {
    /// Returns the file, if the scratch has these bytes.
    fn file_at(&self, offset: u64, bytes: usize) -> io::Result<&File> {
        let end = offset.checked_add(bytes as u64).filter(|end| *end <= self.bytes);
        end.map(|_| &*self.whole.file).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for InFile {
    fn drop(&mut self) {
        let mut taken = self.whole.taken();
        let scratches = taken.scratches.0.saturating_sub(1);
        taken.scratches = (scratches, if scratches == 0 { 0 } else { taken.scratches.1 });
    }
}

impl Scratch {
    /// Returns room for `bytes` bytes. `reason` names the use.
    pub(crate) fn new(
        bytes: u64,
        reason: &'static str,
        bounds: Bounds,
        file: Option<&TemporaryFile>,
    ) -> Result<Self, SourceError> {
        if let Some(file) = file.filter(|_| bytes > bounds.memory / MEMORY_SHARE) {
            return Self::in_file(bytes, reason, file);
        }
        bounds.admit_memory(bytes, reason)?;
        let mut memory = Vec::new();
        usize::try_from(bytes)
            .ok()
            .and_then(|bytes| memory.try_reserve_exact(bytes).ok())
            .ok_or(SourceError::TooMuchMemory { reason, bytes, memory: bounds.memory })?;
        memory.resize(bytes as usize, 0);
        Ok(Self::Memory(memory))
    }

    /// Returns room for `bytes` bytes in a file.
    pub(crate) fn in_file(
        bytes: u64,
        reason: &'static str,
        file: &TemporaryFile,
    ) -> Result<Self, SourceError> {
        let mut taken = file.taken();
        let room = taken.allocator.unwrap_or(u64::MAX).min(file.bytes);
        if bytes > room {
            return Err(SourceError::TooMuchMemory { reason, bytes, memory: room });
        }
        taken.scratches = (taken.scratches.0 + 1, taken.scratches.1.max(bytes));
        drop(taken);
        Ok(Self::File(InFile { whole: file.clone(), bytes }))
    }

    /// Maps the first bytes, so that they can be written in any order. Sets them to `value`.
    pub(crate) fn map(&mut self, bytes: u64, value: u8) -> Result<Mapped<'_>, SourceError> {
        let bytes = usize::try_from(bytes).map_err(|_| SourceError::OutOfMemory)?;
        Ok(match self {
            Self::Memory(memory) => {
                memory.fill(value);
                Mapped::Memory(memory)
            }
            Self::File(file) => Mapped::File(Mapping::new(file.file_at(0, bytes)?, bytes, value)?),
        })
    }

    /// Reads bytes at an offset.
    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Memory(memory) => {
                let part = part(offset, into.len()).and_then(|range| memory.get(range));
                into.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::File(file) => file.file_at(offset, into.len())?.read_exact_at(into, offset),
        }
    }

    /// Writes at an offset.
    pub(crate) fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Memory(memory) => {
                let part = part(offset, bytes.len()).and_then(|range| memory.get_mut(range));
                part.ok_or(io::ErrorKind::WriteZero)?.copy_from_slice(bytes);
                Ok(())
            }
            Self::File(file) => file.file_at(offset, bytes.len())?.write_all_at(bytes, offset),
        }
    }
}

/// Bytes of a scratch that can be written in any order.
pub(crate) enum Mapped<'a> {
    Memory(&'a mut [u8]),
    File(Mapping),
}

impl Mapped<'_> {
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Memory(memory) => memory,
            Self::File(mapping) => mapping.bytes(),
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
        let read = self.block.get(self.next..self.next + bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
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
    fn a_scratch_and_the_allocator_never_have_the_same_bytes() {
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10_000_000);
        let scratch = |bytes| Scratch::in_file(bytes, "a test", &file);
        let mut first = scratch(3_000_000).unwrap();
        let other = scratch(1000).unwrap();
        assert!(
            !file.give_to_allocator(0) && !file.give_to_allocator(2_999_999),
            "the scratch has these bytes"
        );
        assert!(first.write_at(&[1], 2_999_999).is_ok());
        assert!(first.write_at(&[1, 2], 2_999_999).is_err() && first.read_at(&mut [0], 3_000_000).is_err());
        assert!(first.map(3_000_001, 0).is_err() && first.write_at(&[1], u64::MAX).is_err());
        drop(first);
        assert!(!file.give_to_allocator(2_999_999), "another scratch is left");
        drop(other);
        assert!(file.give_to_allocator(2_000_000));
        assert!(scratch(2_000_000).is_ok() && scratch(2_000_001).is_err(), "the allocator has these bytes");
    }

    #[test]
    fn too_many_bytes_without_a_file_or_for_its_size_are_refused() {
        let file = TemporaryFile::new(tempfile::tempfile().unwrap(), 10_000_000);
        assert!(Scratch::new(3_000_000, "a test", bounds(), None).is_ok());
        assert!(Scratch::new(5_000_000, "a test", bounds(), None).is_err());
        assert!(Scratch::new(10_000_001, "a test", bounds(), Some(&file)).is_err());
    }
}
