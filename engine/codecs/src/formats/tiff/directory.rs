//! The structure of a TIFF: a chain of directories, each a list of tags with values. This file does not know the meaning of
//! tags.
//!
//! The reader tolerates common mistakes: values of another integer type than the specification requires, a chain that leads
//! into itself or out of the file, tags that are not in order.
//!
//! ```text
//! directory  count: u16 (BigTIFF: u64)  entries  offset of the next directory
//! entry      tag: u16  type: u16  count: u32  value or its offset: u32            12 bytes
//! BigTIFF    tag: u16  type: u16  count: u64  value or its offset: u64            20 bytes
//! NDPI       as TIFF, but the offset of the next directory has 8 bytes, and the upper halves of all values follow it
//! ```
//! Source: TIFF 6.0, section 2; the BigTIFF design; OpenSlide's notes on Hamamatsu's NDPI
//! (openslide.org/formats/hamamatsu).

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};

use super::tag;
use super::{FORMAT, too_early, too_large};
use crate::{SourceError, SourceFile};

/// Maximum number of bytes of one of the file's tables: enough for two million chunks.
const TABLE_BYTES: u64 = 16 << 20;
/// Maximum number of entries of a directory that are read. Directories of real files have fewer than a hundred.
const MAX_ENTRIES: u64 = 4096;

/// An open file, and its format of numbers.
pub struct Tiff {
    file: BufReader<SourceFile>,
    position: u64,
    /// Length of the file in bytes.
    pub length: u64,
    kind: Kind,
    /// True if numbers begin with their lowest byte.
    pub is_little: bool,
    /// Offset of the first directory.
    pub first: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Classic,
    Big,
    Ndpi,
}

/// A directory, which describes a picture of the file.
pub struct Directory {
    entries: Vec<Entry>,
    /// Offset of the next directory, 0 after the last one.
    pub next: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    /// Value or its offset, as stored.
    value: [u8; 8],
    /// Number of bytes in `value`.
    value_bytes: u64,
    /// Upper half of the offset, in NDPI.
    upper: u64,
}

/// Returns the number of bytes in a value of this type.
fn type_bytes(kind: u16) -> u64 {
    match kind {
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => 1,
    }
}

impl Tiff {
    /// Opens a file that is at its start.
    pub fn open(mut file: BufReader<SourceFile>) -> Result<Self, SourceError> {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        let (kind, is_little) = (Kind::Classic, true);
        let mut tiff = Self { file, position: 0, length, kind, is_little, first: 0 };
        let mut head = [0; 16];
        tiff.read_at(0, &mut head[..8])?;
        tiff.is_little = head[0] == b'I';
        if tiff.u16(&head[2..]) == 43 {
            tiff.read_at(8, &mut head[8..])?;
            (tiff.kind, tiff.first) = (Kind::Big, tiff.number(&head[8..16]));
        } else {
            tiff.first = tiff.number(&head[4..8]);
            tiff.read_at(4, &mut head[4..12])?;
            let first = tiff.number(&head[4..12]);
            // NDPI is recognised by a tag of its first directory, which may be beyond 4 GiB.
            let is_first_low = tiff.directory(tiff.first).is_ok_and(|first| first.has(tag::NDPI));
            if is_first_low || length > u64::from(u32::MAX) && first < length {
                (tiff.kind, tiff.first) = (Kind::Ndpi, first);
                if !tiff.directory(first).is_ok_and(|first| first.has(tag::NDPI)) {
                    (tiff.kind, tiff.first) = (Kind::Classic, tiff.number(&head[4..8]));
                }
            }
        }
        Ok(tiff)
    }

    /// Fills `into` with the bytes at an offset.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        match self.read_up_to(offset, into)? {
            bytes if bytes == into.len() => Ok(()),
            _ => Err(too_early()),
        }
    }

    /// Fills `into` with the bytes at an offset, as far as the file goes. Returns the number of bytes read. Keeps the file's
    /// buffer: chunks mostly follow each other.
    pub fn read_up_to(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, SourceError> {
        if offset >= self.length {
            return Ok(0);
        }
        let distance = i64::try_from(offset).ok().zip(i64::try_from(self.position).ok());
        let (to, from) = distance.ok_or_else(too_early)?;
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
        self.kind == Kind::Ndpi
    }

    fn u16(&self, bytes: &[u8]) -> u16 {
        self.number(bytes.get(..2).unwrap_or_default()) as u16
    }

    /// Returns a number of at most 8 bytes.
    pub fn number(&self, bytes: &[u8]) -> u64 {
        let add = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        match self.is_little {
            true => bytes.iter().rev().fold(0, add),
            false => bytes.iter().fold(0, add),
        }
    }

    /// Reads the directory at an offset.
    pub fn directory(&mut self, offset: u64) -> Result<Directory, SourceError> {
        let (count_bytes, entry_bytes, next_bytes) = match self.kind {
            Kind::Classic => (2, 12, 4),
            Kind::Ndpi => (2, 12, 8),
            Kind::Big => (8, 20, 8),
        };
        let mut count = [0; 8];
        self.read_at(offset, &mut count[..count_bytes])?;
        let count = self.number(&count[..count_bytes]);
        if count == 0 || count > u64::from(u16::MAX) {
            return Err(FORMAT.corrupt("a directory has no entries or too many"));
        }
        let begin = offset + count_bytes as u64;
        let mut stored = vec![0; (count.min(MAX_ENTRIES) * entry_bytes) as usize];
        // A directory may be cut off by the file's end.
        let read = self.read_up_to(begin, &mut stored)?;
        let mut entries: Vec<Entry> =
            stored[..read].chunks_exact(entry_bytes as usize).map(|stored| self.entry(stored)).collect();
        if entries.is_empty() {
            return Err(too_early());
        }
        let end = begin + count * entry_bytes;
        let mut next = [0; 8];
        let next = match self.read_at(end, &mut next[..next_bytes]) {
            Ok(()) => self.number(&next[..next_bytes]),
            Err(_) => 0,
        };
        if self.kind == Kind::Ndpi {
            let mut upper = vec![0; 4 * entries.len()];
            if self.read_at(end + next_bytes as u64, &mut upper).is_ok() {
                for (entry, upper) in entries.iter_mut().zip(upper.chunks_exact(4)) {
                    entry.upper = self.number(upper) << 32;
                }
            }
        }
        Ok(Directory { entries, next })
    }

    fn entry(&self, stored: &[u8]) -> Entry {
        let count_bytes = if self.kind == Kind::Big { 8 } else { 4 };
        let (head, value) = stored.split_at(4 + count_bytes);
        let mut padded = [0; 8];
        padded[..value.len()].copy_from_slice(value);
        Entry {
            tag: self.u16(head),
            kind: self.u16(&head[2..]),
            count: self.number(&head[4..]),
            value: padded,
            value_bytes: value.len() as u64,
            upper: 0,
        }
    }

    /// Returns the bytes of a tag's value.
    pub fn bytes(&mut self, directory: &Directory, tag: u16) -> Result<Option<Vec<u8>>, SourceError> {
        let Some(entry) = directory.entry(tag) else { return Ok(None) };
        let bytes = entry.count.saturating_mul(type_bytes(entry.kind));
        if bytes > TABLE_BYTES {
            return Err(too_large());
        }
        let bytes = bytes as usize;
        if bytes as u64 <= entry.value_bytes {
            return Ok(Some(entry.value[..bytes].to_vec()));
        }
        let offset = self.number(&entry.value[..entry.value_bytes as usize]) | entry.upper;
        let mut value = vec![0; bytes];
        self.read_at(offset, &mut value)?;
        Ok(Some(value))
    }

    /// Returns the integers of a tag, taken as unsigned: no tag of a picture is negative.
    pub fn list(&mut self, directory: &Directory, tag: u16) -> Result<Option<Vec<u64>>, SourceError> {
        let Some(entry) = directory.entry(tag) else { return Ok(None) };
        let each = type_bytes(entry.kind) as usize;
        let Some(bytes) = self.bytes(directory, tag)? else { return Ok(None) };
        // In NDPI a single value has its upper half beside it.
        let upper = if entry.count == 1 && each == 4 { entry.upper } else { 0 };
        Ok(Some(bytes.chunks_exact(each).map(|value| self.number(value) | upper).collect()))
    }

    /// Returns the first integer of a tag.
    pub fn first(&mut self, directory: &Directory, tag: u16) -> Result<Option<u64>, SourceError> {
        Ok(self.list(directory, tag)?.and_then(|list| list.first().copied()))
    }

    /// Returns the first integer of a tag, or `other` if it is missing or cannot be read.
    pub fn first_or(&mut self, directory: &Directory, tag: u16, other: u64) -> u64 {
        self.first(directory, tag).ok().flatten().unwrap_or(other)
    }

    /// Returns the fractions of a tag (type RATIONAL), or its floats.
    pub fn fractions(&mut self, directory: &Directory, tag: u16) -> Option<Vec<f64>> {
        let kind = directory.entry(tag)?.kind;
        let bytes = self.bytes(directory, tag).ok()??;
        let each = type_bytes(kind) as usize;
        let value = |stored: &[u8]| match kind {
            5 => self.number(&stored[..4]) as f64 / self.number(&stored[4..]) as f64,
            11 => f64::from(f32::from_bits(self.number(stored) as u32)),
            12 => f64::from_bits(self.number(stored)),
            _ => self.number(stored) as f64,
        };
        Some(bytes.chunks_exact(each).map(value).collect())
    }

    /// Returns the text of a tag, up to its first zero.
    pub fn text(&mut self, directory: &Directory, tag: u16) -> Option<String> {
        let bytes = self.bytes(directory, tag).ok()??;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

impl Directory {
    fn entry(&self, tag: u16) -> Option<Entry> {
        self.entries.iter().find(|entry| entry.tag == tag).copied()
    }

    /// Returns true if the directory has a tag.
    pub fn has(&self, tag: u16) -> bool {
        self.entry(tag).is_some()
    }
}
