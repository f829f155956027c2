//! A file of which several threads read parts.

use crate::SourceFile;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// A file that is not read from start to end, or a codestream that another format has in memory.
pub struct Source {
    file: Mutex<Box<dyn ReadSeek>>,
    pub length: u64,
}

trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

impl Source {
    pub fn new(mut file: SourceFile) -> io::Result<Self> {
        // The sandbox forbids asking for metadata, so the length comes from seeking to the end.
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Self { file: Mutex::new(Box::new(file)), length })
    }

    pub fn in_memory(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        Self { file: Mutex::new(Box::new(Cursor::new(bytes))), length }
    }

    /// Appends bytes of the file. An error of the kind `UnexpectedEof` when it has fewer.
    pub fn append(&self, offset: u64, length: u64, out: &mut Vec<u8>) -> io::Result<()> {
        let end = offset.checked_add(length).filter(|&end| end <= self.length);
        let length = end.and_then(|_| usize::try_from(length).ok()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.try_reserve(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let start = out.len();
        out.resize(start + length, 0);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut out[start..])
    }

    /// `N` bytes of the file, or `None` when it has fewer.
    pub fn read<const N: usize>(&self, offset: u64) -> io::Result<Option<[u8; N]>> {
        if offset.checked_add(N as u64).is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        let mut bytes = [0; N];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }
}
