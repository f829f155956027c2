//! Image file directories: lists of tags with values, which TIFF, camera raw files and EXIF share. This file does not
//! know the meaning of tags, but for the two that are read of EXIF.
//!
//! The reader tolerates common mistakes: values of another integer type than the specification requires, tags that are
//! not in order, a directory that is cut off by the file's end.
//!
//! ```text
//! file       "II" or "MM" (byte order)  number: u16  offset of the first directory: u32
//! directory  count: u16 (BigTIFF: u64)  entries  offset of the next directory
//! entry      tag: u16  type: u16  count: u32  value or its offset: u32            12 bytes
//! BigTIFF    tag: u16  type: u16  count: u64  value or its offset: u64            20 bytes
//! NDPI       as TIFF, but the offset of the next directory has 8 bytes, and the upper halves of all values follow it
//! ```
//! Source: TIFF 6.0, section 2; the BigTIFF design; OpenSlide's notes on Hamamatsu's NDPI
//! (openslide.org/formats/hamamatsu); CIPA DC-008 (Exif 2.3), 4.5.

use std::io;

use edgezoom_geometry::Orientation;

use super::section::ReadAt;

/// Maximum number of bytes of a value: enough for the places of two million chunks.
const MAX_VALUE_BYTES: u64 = 16 << 20;
/// Maximum number of entries of a directory that are read. Directories of real files have fewer than a hundred.
const MAX_ENTRIES: u64 = 4096;

const ORIENTATION: u16 = 274;
const JPEG_OFFSET: u16 = 513;
const JPEG_LENGTH: u16 = 514;

/// The format of a file's directories.
#[derive(Clone, Copy)]
pub struct Ifds {
    pub kind: Kind,
    /// True if numbers begin with their lowest byte.
    pub is_little: bool,
    /// Offset in the file from which the offsets of directories and values count.
    pub base: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Classic,
    #[cfg_attr(not(feature = "tiff"), allow(dead_code))]
    Big,
    #[cfg_attr(not(feature = "tiff"), allow(dead_code))]
    Ndpi,
}

/// A directory, which describes a picture of the file.
#[derive(Clone)]
pub struct Directory {
    entries: Vec<Entry>,
    /// Offset of the next directory, 0 after the last one.
    pub next: u64,
}

#[derive(Clone, Copy)]
pub struct Entry {
    tag: u16,
    pub kind: u16,
    pub count: u64,
    /// Value or its offset, as stored.
    value: [u8; 8],
    /// Number of bytes in `value`.
    value_bytes: usize,
    /// Upper half of the offset, in NDPI.
    upper: u64,
}

/// The reason why a directory or a value cannot be read.
pub enum IfdError {
    Io(io::Error),
    /// The file ends before it.
    CutOff,
    /// A directory has no entries, or too many.
    Invalid,
    /// A value has more than [`MAX_VALUE_BYTES`] bytes.
    TooLarge,
}

impl From<io::Error> for IfdError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Ifds {
    /// Reads the byte order of a file, and the offset of its first directory, which is not that of a BigTIFF.
    pub fn of(file: &(impl ReadAt + ?Sized)) -> Option<(Self, u64)> {
        let head = file.array_at::<8>(0).ok()??;
        let ifds = Self { kind: Kind::Classic, is_little: head.starts_with(b"II"), base: 0 };
        Some((ifds, ifds.number(&head[4..])))
    }

    /// Returns a number of at most 8 bytes.
    pub fn number(self, bytes: &[u8]) -> u64 {
        let add = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        if self.is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
    }

    /// Reads the directory at an offset.
    pub fn directory(self, file: &(impl ReadAt + ?Sized), offset: u64) -> Result<Directory, IfdError> {
        let (count_bytes, entry_bytes, next_bytes) = match self.kind {
            Kind::Classic => (2, 12, 4),
            Kind::Ndpi => (2, 12, 8),
            Kind::Big => (8, 20, 8),
        };
        let begin = self.base.saturating_add(offset);
        let count = self.number(&exactly(file, begin, count_bytes)?);
        if count == 0 || count > u64::from(u16::MAX) {
            return Err(IfdError::Invalid);
        }
        let begin = begin.saturating_add(count_bytes as u64);
        let mut stored = vec![0; (count.min(MAX_ENTRIES) * entry_bytes) as usize];
        let read = file.read_up_to(begin, &mut stored)?;
        stored.truncate(read);
        let mut entries: Vec<Entry> =
            stored.chunks_exact(entry_bytes as usize).map(|stored| self.entry(stored)).collect();
        if entries.is_empty() {
            return Err(IfdError::CutOff);
        }
        let end = begin.saturating_add(count * entry_bytes);
        let next = exactly(file, end, next_bytes).map_or(0, |next| self.number(&next));
        if self.kind == Kind::Ndpi
            && let Ok(upper) = exactly(file, end.saturating_add(next_bytes as u64), 4 * entries.len())
        {
            for (entry, upper) in entries.iter_mut().zip(upper.chunks_exact(4)) {
                entry.upper = self.number(upper) << 32;
            }
        }
        Ok(Directory { entries, next })
    }

    fn entry(self, stored: &[u8]) -> Entry {
        let count_bytes = if self.kind == Kind::Big { 8 } else { 4 };
        let (head, value) = stored.split_at(4 + count_bytes);
        let mut padded = [0; 8];
        padded[..value.len()].copy_from_slice(value);
        Entry {
            tag: self.number(&head[..2]) as u16,
            kind: self.number(&head[2..4]) as u16,
            count: self.number(&head[4..]),
            value: padded,
            value_bytes: value.len(),
            upper: 0,
        }
    }

    /// Returns the place of an entry's value, if it is not in the entry itself.
    pub fn offset(self, entry: &Entry) -> u64 {
        let offset = self.number(&entry.value[..entry.value_bytes]) | entry.upper;
        self.base.saturating_add(offset)
    }

    /// Reads the bytes of an entry's value.
    pub fn bytes(self, file: &(impl ReadAt + ?Sized), entry: &Entry) -> Result<Vec<u8>, IfdError> {
        let bytes = entry.count.saturating_mul(entry.bytes_each() as u64);
        if bytes > MAX_VALUE_BYTES {
            return Err(IfdError::TooLarge);
        }
        let bytes = bytes as usize;
        match entry.value.get(..bytes).filter(|_| bytes <= entry.value_bytes) {
            Some(value) => Ok(value.to_vec()),
            None => exactly(file, self.offset(entry), bytes),
        }
    }

    /// Reads an entry's integers, taken as unsigned: no tag of a picture is negative.
    pub fn list(self, file: &(impl ReadAt + ?Sized), entry: &Entry) -> Result<Vec<u64>, IfdError> {
        let each = entry.bytes_each();
        // In NDPI a single value has its upper half beside it.
        let upper = if entry.count == 1 && each == 4 { entry.upper } else { 0 };
        let bytes = self.bytes(file, entry)?;
        Ok(bytes.chunks_exact(each).map(|value| self.number(value) | upper).collect())
    }

    /// Reads the first integer of a tag.
    pub fn first(self, file: &(impl ReadAt + ?Sized), directory: &Directory, tag: u16) -> Option<u64> {
        self.list(file, directory.entry(tag)?).ok()?.first().copied()
    }
}

/// Reads `count` bytes.
fn exactly(file: &(impl ReadAt + ?Sized), at: u64, count: usize) -> Result<Vec<u8>, IfdError> {
    let mut bytes = vec![0; count];
    if file.read_up_to(at, &mut bytes)? == count { Ok(bytes) } else { Err(IfdError::CutOff) }
}

impl Directory {
    pub fn entry(&self, tag: u16) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tag == tag)
    }

    /// Returns true if the directory has a tag.
    pub fn has(&self, tag: u16) -> bool {
        self.entry(tag).is_some()
    }
}

impl Entry {
    /// Returns the number of bytes of each of its values.
    pub fn bytes_each(&self) -> usize {
        match self.kind {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16 | 17 | 18 => 8,
            _ => 1,
        }
    }
}

/// Returns the orientation in a block of EXIF, 1 to 8 if it is valid.
pub fn exif_orientation(exif: &[u8]) -> Option<u32> {
    let (ifds, first) = exif_directories(exif)?;
    let directory = ifds.directory(exif, first).ok()?;
    ifds.first(exif, &directory, ORIENTATION)?.try_into().ok()
}

/// Returns the same as an orientation. Broken EXIF counts as upright: the pixels may be good.
pub fn orientation_of_exif(exif: &[u8]) -> Orientation {
    exif_orientation(exif).map_or(Orientation::UPRIGHT, Orientation::from_exif)
}

/// Returns the JPEG file of the thumbnail in a block of EXIF, which its second directory describes.
pub fn exif_thumbnail(exif: &[u8]) -> Option<&[u8]> {
    let (ifds, first) = exif_directories(exif)?;
    let directory = ifds.directory(exif, ifds.directory(exif, first).ok()?.next).ok()?;
    let number = |tag| usize::try_from(ifds.first(exif, &directory, tag)?).ok();
    let (start, length) = (number(JPEG_OFFSET)?, number(JPEG_LENGTH)?);
    exif.get(start..start.checked_add(length)?)
}

/// Returns the directories of a block of EXIF, and the offset of the first one.
pub fn exif_directories(exif: &[u8]) -> Option<(Ifds, u64)> {
    let is_exif = exif.starts_with(b"II\x2a\0") || exif.starts_with(b"MM\0\x2a");
    Ifds::of(exif).filter(|_| is_exif)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns EXIF of two directories, of which the second has a thumbnail of three bytes at the end.
    fn exif(orientation: u8) -> Vec<u8> {
        let entry = |tag: u16, value: u8| {
            let [t0, t1] = tag.to_be_bytes();
            [t0, t1, 0, 3, 0, 0, 0, 1, 0, value, 0, 0]
        };
        let first = [&[0, 1][..], &entry(ORIENTATION, orientation), &[0, 0, 0, 26]].concat();
        let second = [&[0, 2][..], &entry(JPEG_OFFSET, 56), &entry(JPEG_LENGTH, 3), &[0; 4]].concat();
        [b"MM\0\x2a\0\0\0\x08", first.as_slice(), &second, b"abc"].concat()
    }

    #[test]
    fn exif_has_an_orientation_and_a_thumbnail() {
        assert_eq!(exif_orientation(&exif(6)), Some(6));
        assert_eq!(exif_thumbnail(&exif(6)), Some(b"abc".as_slice()));
    }

    #[test]
    fn exif_that_is_cut_off_or_something_else_has_neither() {
        let whole = exif(6);
        assert_eq!(exif_thumbnail(&whole[..whole.len() - 1]), None);
        assert_eq!(exif_orientation(&whole[..12]), None);
        assert_eq!(exif_orientation(b"Exif\0\0MM\0\x2a"), None);
        assert_eq!(exif_orientation(b""), None);
    }
}
