//! The directories of camera raw files that are TIFFs by structure, and the JPEGs in them.
//!
//! ```text
//! file       "II" or "MM" (byte order)  number: u16  offset of the first directory: u32
//! directory  count: u16  entries  offset of the next directory: u32
//! entry      tag: u16  type: u16  count: u32  value, or its offset: u32
//! ```
//! A tag may lead to more directories: SubIFDs, EXIF, and in EXIF the MakerNote with directories of Olympus, whose offsets
//! count from the start of the note.
//!
//! Source: TIFF 6.0, section 2; TIFF Technical Note 1 (SubIFDs); Digital Negative Specification 1.7, "PreviewImage";
//! ExifTool, "Olympus Tags", "PanasonicRaw Tags".

use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

use super::preview::{Found, Place};
use crate::SourceFile;
use crate::formats::section::Section;

/// The largest numbers of directories, of entries of each, and of values of an entry that are read.
const MAX_DIRECTORIES: usize = 64;
const MAX_ENTRIES: usize = 1000;
const MAX_VALUES: usize = 16;

const NEW_SUBFILE_TYPE: u16 = 254;
const COMPRESSION: u16 = 259;
const PHOTOMETRIC: u16 = 262;
const MAKE: u16 = 271;
const STRIP_OFFSETS: u16 = 273;
const ORIENTATION: u16 = 274;
const STRIP_BYTE_COUNTS: u16 = 279;
const SUB_IFDS: u16 = 330;
const JPEG_OFFSET: u16 = 513;
const JPEG_LENGTH: u16 = 514;
const EXIF: u16 = 34_665;
const MAKER_NOTE: u16 = 37_500;
const DNG_VERSION: u16 = 50_706;
/// Panasonic's JpgFromRaw.
const JPEG_FROM_RAW: u16 = 46;
/// Olympus' CameraSettings, and in it the start and length of the preview.
const CAMERA_SETTINGS: u16 = 0x2020;
const PREVIEW_START: u16 = 0x0101;
const PREVIEW_LENGTH: u16 = 0x0102;

/// The values for old-style JPEG and JPEG.
const JPEG_COMPRESSIONS: [u32; 2] = [6, 7];
/// The values for a colour filter array and for linear raw samples, which only cameras' TIFFs have.
const RAW_PHOTOMETRICS: [u32; 2] = [32_803, 34_892];

/// Reads exactly `count` bytes at an offset.
trait Bytes {
    fn at(&self, offset: u64, count: usize) -> Option<Vec<u8>>;
}

impl Bytes for &[u8] {
    fn at(&self, offset: u64, count: usize) -> Option<Vec<u8>> {
        let start = usize::try_from(offset).ok()?;
        self.get(start..start.checked_add(count)?).map(<[u8]>::to_vec)
    }
}

impl Bytes for Arc<SourceFile> {
    fn at(&self, offset: u64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        Section::new(self, offset, count as u64).read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// The origin of offsets, and the byte order.
#[derive(Clone, Copy)]
struct Origin {
    base: u64,
    is_little_endian: bool,
}

/// An entry of a directory.
#[derive(Clone, Copy)]
struct Entry {
    tag: u16,
    kind: u16,
    count: u32,
    value: [u8; 4],
}

impl Origin {
    fn u16(self, [a, b]: [u8; 2]) -> u16 {
        if self.is_little_endian { u16::from_le_bytes([a, b]) } else { u16::from_be_bytes([a, b]) }
    }

    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    /// Reads a file's byte order, and the offset of its first directory.
    fn of(file: &impl Bytes) -> Option<(Self, u64)> {
        let head = file.at(0, 8)?;
        let origin = Self { base: 0, is_little_endian: head.starts_with(b"II") };
        Some((origin, origin.u32(*head.last_chunk()?).into()))
    }

    /// Reads the entries of a directory, and the offset of the next one.
    fn directory(self, file: &impl Bytes, offset: u64) -> Option<(Vec<Entry>, u64)> {
        let at = self.base.checked_add(offset)?;
        let count = usize::from(self.u16(*file.at(at, 2)?.first_chunk()?));
        if count == 0 || count > MAX_ENTRIES {
            return None;
        }
        let stored = file.at(at.checked_add(2)?, count * 12)?;
        let entry = |&[t0, t1, k0, k1, c0, c1, c2, c3, value @ ..]: &[u8; 12]| Entry {
            tag: self.u16([t0, t1]),
            kind: self.u16([k0, k1]),
            count: self.u32([c0, c1, c2, c3]),
            value,
        };
        let entries = stored.as_chunks().0.iter().map(entry).collect();
        let next = file.at(at.checked_add(2 + count as u64 * 12)?, 4);
        let next = next.and_then(|next| Some(self.u32(*next.first_chunk()?).into()));
        Some((entries, next.unwrap_or(0)))
    }

    /// Reads the first values of an entry.
    fn numbers(self, file: &impl Bytes, entry: Entry) -> Vec<u32> {
        let width = match entry.kind {
            3 => 2,
            4 | 13 => 4,
            _ => return Vec::new(),
        };
        let count = (entry.count as usize).min(MAX_VALUES);
        let stored = match entry.count as usize * width <= 4 {
            true => Some(entry.value.to_vec()),
            false => file.at(self.base + u64::from(self.u32(entry.value)), count * width),
        };
        let stored = stored.unwrap_or_default();
        match width {
            2 => stored.as_chunks().0.iter().take(count).map(|&number| self.u16(number).into()).collect(),
            _ => stored.as_chunks().0.iter().take(count).map(|&number| self.u32(number)).collect(),
        }
    }
}

fn find(entries: &[Entry], tag: u16) -> Option<Entry> {
    entries.iter().copied().find(|entry| entry.tag == tag)
}

/// Returns true if a TIFF begins with the directory of a camera raw file: it says that it is a DNG, has samples of a colour
/// filter, or is a camera's thumbnail with more directories below.
pub fn is_camera_raw(head: &[u8]) -> bool {
    let Some((origin, first)) = Origin::of(&head) else { return false };
    let Some((entries, _)) = origin.directory(&head, first) else { return false };
    let number = |tag| find(&entries, tag).and_then(|entry| origin.numbers(&head, entry).first().copied());
    let has = |tag| find(&entries, tag).is_some();
    has(DNG_VERSION)
        || number(PHOTOMETRIC).is_some_and(|value| RAW_PHOTOMETRICS.contains(&value))
        || has(MAKE) && has(SUB_IFDS) && number(NEW_SUBFILE_TYPE) == Some(1)
}

/// Finds the previews in all directories of a file.
pub fn walk(file: &Arc<SourceFile>) -> Found {
    let mut found = Found::default();
    let Some((origin, first)) = Origin::of(file) else { return found };
    let (mut ahead, mut seen) = (vec![first], HashSet::new());
    while let Some(offset) = ahead.pop() {
        if offset == 0 || seen.len() == MAX_DIRECTORIES || !seen.insert(offset) {
            continue;
        }
        let Some((entries, next)) = origin.directory(file, offset) else {
            found.is_broken |= offset == first;
            continue;
        };
        let numbers = |tag| find(&entries, tag).map(|entry| origin.numbers(file, entry)).unwrap_or_default();
        let number = |tag| match *numbers(tag) {
            [only] => Some(only),
            _ => None,
        };
        if offset == first {
            found.orientation = number(ORIENTATION);
        }
        let is_jpeg = number(COMPRESSION).is_some_and(|kind| JPEG_COMPRESSIONS.contains(&kind));
        let strip = number(STRIP_OFFSETS).zip(number(STRIP_BYTE_COUNTS)).filter(|_| is_jpeg);
        let table = number(JPEG_OFFSET).zip(number(JPEG_LENGTH));
        let blob = find(&entries, JPEG_FROM_RAW).filter(|entry| entry.kind == 7);
        let blob = blob.map(|entry| (origin.u32(entry.value), entry.count));
        let olympus = find(&entries, MAKER_NOTE).and_then(|note| olympus(file, origin, note));
        let places = [strip, table, blob].into_iter().flatten();
        let places = places.map(|(start, length)| Place { start: start.into(), length: length.into() });
        found.places.extend(places.chain(olympus));
        ahead.push(next);
        ahead.extend([SUB_IFDS, EXIF].into_iter().flat_map(numbers).map(u64::from));
    }
    found
}

/// Finds the preview in the directory of an Olympus MakerNote.
///
/// ```text
/// "OLYMPUS\0"  byte order  3: u16         the directory, offsets from the note's start
/// "OM SYSTEM\0\0\0"  byte order  4: u16   the same
/// "OLYMP\0"  1: u16                       the directory, offsets from the file's start
/// ```
fn olympus(file: &Arc<SourceFile>, origin: Origin, note: Entry) -> Option<Place> {
    let at = u64::from(origin.u32(note.value));
    let head = file.at(at, 16)?;
    let (origin, directory) = if head.starts_with(b"OLYMPUS\0") {
        (Origin { base: at, is_little_endian: head.get(8..10) == Some(b"II") }, 12)
    } else if head.starts_with(b"OM SYSTEM\0") {
        (Origin { base: at, is_little_endian: head.get(12..14) == Some(b"II") }, 16)
    } else if head.starts_with(b"OLYMP\0") {
        (origin, at + 8)
    } else {
        return None;
    };
    let (entries, _) = origin.directory(file, directory)?;
    let settings = origin.u32(find(&entries, CAMERA_SETTINGS)?.value);
    let (entries, _) = origin.directory(file, settings.into())?;
    let number = |tag| origin.numbers(file, find(&entries, tag)?).first().copied();
    let (start, length) = (number(PREVIEW_START)?, number(PREVIEW_LENGTH)?);
    Some(Place { start: origin.base + u64::from(start), length: length.into() })
}
