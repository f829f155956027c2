//! The bytes of a codestream and of what is around it: a file, or a part of another format's file in memory.

use std::io;

use crate::SourceFile;
use crate::formats::section::ReadAt;

/// The name of the format.
pub const NAME: &str = "JPEG 2000";

/// The bytes of a codestream and of what is around it. Several threads read them, each at its own offset.
pub enum Source {
    File(SourceFile),
    Memory(Vec<u8>),
}

impl Source {
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.length(),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Appends `length` bytes, or fails with `UnexpectedEof` if the source has fewer.
    pub fn append(&self, offset: u64, length: u64, out: &mut Vec<u8>) -> io::Result<()> {
        let end = offset.checked_add(length).filter(|&end| self.length().is_ok_and(|length| end <= length));
        let length = end.and_then(|_| usize::try_from(length).ok()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.try_reserve(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let start = out.len();
        out.resize(start + length, 0);
        match self.read_up_to(offset, &mut out[start..])? {
            read if read == length => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl ReadAt for Source {
    fn read_up_to(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read_up_to(at, into),
            Self::Memory(bytes) => bytes.read_up_to(at, into),
        }
    }
}
