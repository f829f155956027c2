//! The file of a TIFF: its bytes, its directories, and the values of their tags.

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};

use super::tag;
use super::{FORMAT, too_large};
pub use crate::formats::ifd::Directory;
use crate::formats::ifd::{IfdError, Ifds, Kind};
use crate::{SourceError, SourceFile};

/// An open file, and its format of numbers.
pub struct Tiff {
    file: BufReader<SourceFile>,
    position: u64,
    /// Length of the file in bytes.
    pub length: u64,
    ifds: Ifds,
    /// Offset of the first directory.
    pub first: u64,
}

impl Tiff {
    /// Opens a file that is at its start.
    pub fn open(mut file: BufReader<SourceFile>) -> Result<Self, SourceError> {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        let ifds = Ifds { kind: Kind::Classic, is_little: true, base: 0 };
        let mut tiff = Self { file, position: 0, length, ifds, first: 0 };
        let mut head = [0; 16];
        tiff.read_at(0, &mut head[..8])?;
        tiff.ifds.is_little = head[0] == b'I';
        if tiff.number(&head[2..4]) == 43 {
            tiff.read_at(8, &mut head[8..])?;
            tiff.begin(Kind::Big, &head[8..16]);
            return Ok(tiff);
        }
        tiff.begin(Kind::Classic, &head[4..8]);
        tiff.read_at(4, &mut head[4..12])?;
        // NDPI is recognised by a tag of its first directory, which may be beyond 4 GiB.
        let may_be_high = length > u64::from(u32::MAX) && tiff.number(&head[4..12]) < length;
        if tiff.begins_as_ndpi() || may_be_high {
            tiff.begin(Kind::Ndpi, &head[4..12]);
            if !tiff.begins_as_ndpi() {
                tiff.begin(Kind::Classic, &head[4..8]);
            }
        }
        Ok(tiff)
    }

    /// Sets the kind of the file, and the offset of its first directory.
    fn begin(&mut self, kind: Kind, first: &[u8]) {
        self.ifds.kind = kind;
        self.first = self.number(first);
    }

    /// Returns true if numbers begin with their lowest byte.
    pub fn is_little(&self) -> bool {
        self.ifds.is_little
    }

    fn begins_as_ndpi(&self) -> bool {
        self.directory(self.first).is_ok_and(|first| first.has(tag::NDPI))
    }

    /// Fills `into` with the bytes at an offset.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        match self.read_up_to(offset, into)? {
            bytes if bytes == into.len() => Ok(()),
            _ => Err(FORMAT.ends_early()),
        }
    }

    /// Fills `into` with the bytes at an offset, as far as the file goes. Returns the number of bytes read. Keeps the
    /// file's buffer: chunks mostly follow each other.
    pub fn read_up_to(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, SourceError> {
        if offset >= self.length {
            return Ok(0);
        }
        let distance = i64::try_from(offset).ok().zip(i64::try_from(self.position).ok());
        let (to, from) = distance.ok_or_else(|| FORMAT.ends_early())?;
        self.file.seek_relative(to - from)?;
        self.position = offset;
        let mut read = 0;
        while read < into.len() {
            match self.file.read(&mut into[read..]) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.position += read as u64;
        Ok(read)
    }

    /// Does the same without the file's buffer, so that several threads can read.
    pub fn read_up_to_apart(&self, offset: u64, into: &mut [u8]) -> Result<usize, SourceError> {
        if offset >= self.length {
            return Ok(0);
        }
        Ok(self.file.get_ref().read_up_to_at(into, offset)?)
    }

    /// Returns the length in bytes of the longest of some chunks, as far as they are in the file.
    pub fn longest(&self, chunks: &[(u64, u64)]) -> u64 {
        let there = |&(offset, bytes): &(u64, u64)| bytes.min(self.length.saturating_sub(offset));
        chunks.iter().map(there).max().unwrap_or(0)
    }

    /// Returns true for a file of Hamamatsu's slide scanners.
    pub fn is_ndpi(&self) -> bool {
        self.ifds.kind == Kind::Ndpi
    }

    /// Returns a number of at most 8 bytes.
    pub fn number(&self, bytes: &[u8]) -> u64 {
        self.ifds.number(bytes)
    }

    /// Reads the directory at an offset.
    pub fn directory(&self, offset: u64) -> Result<Directory, SourceError> {
        Ok(self.ifds.directory(self.file.get_ref(), offset)?)
    }

    /// Returns the bytes of a tag's value.
    pub fn bytes(&self, directory: &Directory, tag: u16) -> Result<Option<Vec<u8>>, SourceError> {
        let bytes = |entry| self.ifds.bytes(self.file.get_ref(), entry);
        Ok(directory.entry(tag).map(bytes).transpose()?)
    }

    /// Returns the integers of a tag.
    pub fn list(&self, directory: &Directory, tag: u16) -> Result<Option<Vec<u64>>, SourceError> {
        let list = |entry| self.ifds.list(self.file.get_ref(), entry);
        Ok(directory.entry(tag).map(list).transpose()?)
    }

    /// Returns the first integer of a tag.
    pub fn first(&self, directory: &Directory, tag: u16) -> Result<Option<u64>, SourceError> {
        Ok(self.list(directory, tag)?.and_then(|list| list.first().copied()))
    }

    /// Returns the first integer of a tag, or `other` if it is missing or cannot be read.
    pub fn first_or(&self, directory: &Directory, tag: u16, other: u64) -> u64 {
        self.first(directory, tag).ok().flatten().unwrap_or(other)
    }

    /// Returns the fractions of a tag (type RATIONAL), or its floats.
    pub fn fractions(&self, directory: &Directory, tag: u16) -> Option<Vec<f64>> {
        let entry = directory.entry(tag)?;
        let bytes = self.bytes(directory, tag).ok()??;
        let value = |stored: &[u8]| match (entry.kind, stored.split_at_checked(4)) {
            (5, Some((over, under))) => self.number(over) as f64 / self.number(under) as f64,
            (11, _) => f64::from(f32::from_bits(self.number(stored) as u32)),
            (12, _) => f64::from_bits(self.number(stored)),
            _ => self.number(stored) as f64,
        };
        Some(bytes.chunks_exact(entry.bytes_each()).map(value).collect())
    }

    /// Returns the text of a tag, up to its first zero.
    pub fn text(&self, directory: &Directory, tag: u16) -> Option<String> {
        let bytes = self.bytes(directory, tag).ok()??;
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

impl From<IfdError> for SourceError {
    fn from(error: IfdError) -> Self {
        match error {
            IfdError::Io(error) => error.into(),
            IfdError::CutOff => FORMAT.ends_early(),
            IfdError::Invalid => FORMAT.corrupt("a directory has no entries or too many"),
            IfdError::TooLarge => too_large(),
        }
    }
}

/// Returns true if a picture is a map or a picture of a satellite.
pub fn is_map(directory: &Directory) -> bool {
    tag::GEO.iter().any(|&tag| directory.has(tag))
}
