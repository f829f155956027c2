//! The directories of camera raw files that are TIFFs by structure, and the JPEGs in them, or pictures in JPEG XL.
//!
//! A tag may lead to more directories: SubIFDs, EXIF, and in EXIF the MakerNote with directories of Olympus, whose
//! offsets count from the start of the note.
//!
//! Source: TIFF Technical Note 1 (SubIFDs); Digital Negative Specification 1.7, "PreviewImage";
//! ExifTool, "Olympus Tags", "PanasonicRaw Tags".

use std::collections::HashSet;

use super::preview::{Found, JxlPreview, Place};
use crate::SourceFile;
use crate::formats::ifd::{Directory, Entry, Ifds};
use crate::formats::section::ReadAt;

/// The largest numbers of directories, and of values of an entry, that are read.
const MAX_DIRECTORIES: usize = 64;
const MAX_VALUES: u64 = 16;

const NEW_SUBFILE_TYPE: u16 = 254;
const WIDTH: u16 = 256;
const LENGTH: u16 = 257;
const COMPRESSION: u16 = 259;
const PHOTOMETRIC: u16 = 262;
const MAKE: u16 = 271;
const STRIP_OFFSETS: u16 = 273;
const ORIENTATION: u16 = 274;
const STRIP_BYTE_COUNTS: u16 = 279;
const TILE_OFFSETS: u16 = 324;
const TILE_BYTE_COUNTS: u16 = 325;
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
const JPEG_COMPRESSIONS: [u64; 2] = [6, 7];
/// The values for JPEG XL, as GDAL and as Adobe write it.
const JXL_COMPRESSIONS: [u64; 2] = [50_002, 52_546];
/// The values of pictures that are no raw samples, depths or masks: grey, RGB, YCbCr.
const PICTURES: [u64; 3] = [1, 2, 6];
/// Bit of NewSubfileType for a reduced version of another picture.
const REDUCED: u64 = 1;

/// The values for a colour filter array and for linear raw samples, which only cameras' TIFFs have.
const RAW_PHOTOMETRICS: [u64; 2] = [32_803, 34_892];

/// Returns true if a TIFF begins with the directory of a camera raw file: it says that it is a DNG, has samples of a
/// colour filter, or is a camera's thumbnail with more directories below.
pub fn is_camera_raw(head: &[u8]) -> bool {
    let Some((ifds, first)) = Ifds::of(head) else { return false };
    let Ok(directory) = ifds.directory(head, first) else { return false };
    let number = |tag| ifds.first(head, &directory, tag);
    directory.has(DNG_VERSION)
        || number(PHOTOMETRIC).is_some_and(|value| RAW_PHOTOMETRICS.contains(&value))
        || directory.has(MAKE) && directory.has(SUB_IFDS) && number(NEW_SUBFILE_TYPE) == Some(1)
}

/// Finds the previews in all directories of a file.
pub fn walk(file: &SourceFile) -> Found {
    let mut found = Found::default();
    let Some((ifds, first)) = Ifds::of(file) else { return found };
    let (mut ahead, mut seen) = (vec![first], HashSet::new());
    while let Some(offset) = ahead.pop() {
        if offset == 0 || seen.len() == MAX_DIRECTORIES || !seen.insert(offset) {
            continue;
        }
        let Ok(directory) = ifds.directory(file, offset) else {
            found.is_broken |= offset == first;
            continue;
        };
        let numbers = |tag| {
            let entry = directory.entry(tag).filter(|entry| entry.count <= MAX_VALUES);
            entry.and_then(|entry| ifds.list(file, entry).ok()).unwrap_or_default()
        };
        let number = |tag| match *numbers(tag) {
            [only] => Some(only),
            _ => None,
        };
        if offset == first {
            found.orientation = number(ORIENTATION).and_then(|value| value.try_into().ok());
        }
        if let Some(preview) = jxl_preview(file, ifds, &directory, offset)
            && found.jxl.is_none_or(|largest| preview.pixels > largest.pixels)
        {
            found.jxl = Some(preview);
        }
        let is_jpeg = number(COMPRESSION).is_some_and(|kind| JPEG_COMPRESSIONS.contains(&kind));
        let strip = number(STRIP_OFFSETS).zip(number(STRIP_BYTE_COUNTS)).filter(|_| is_jpeg);
        let table = number(JPEG_OFFSET).zip(number(JPEG_LENGTH));
        let blob = directory.entry(JPEG_FROM_RAW).filter(|entry| entry.kind == 7);
        let blob = blob.map(|entry| (ifds.offset(entry), entry.count));
        let olympus = directory.entry(MAKER_NOTE).and_then(|note| olympus(file, ifds, note));
        let places = [strip, table, blob].into_iter().flatten();
        found.places.extend(places.map(|(start, length)| Place { start, length }).chain(olympus));
        ahead.push(directory.next);
        ahead.extend([SUB_IFDS, EXIF].into_iter().flat_map(numbers));
    }
    found
}

/// Returns the preview in JPEG XL that a directory describes.
fn jxl_preview(file: &SourceFile, ifds: Ifds, directory: &Directory, offset: u64) -> Option<JxlPreview> {
    let number = |tag| ifds.first(file, directory, tag);
    let is_preview = JXL_COMPRESSIONS.contains(&number(COMPRESSION)?)
        && PICTURES.contains(&number(PHOTOMETRIC)?)
        && number(NEW_SUBFILE_TYPE)? & REDUCED != 0;
    let pixels = number(WIDTH)?.saturating_mul(number(LENGTH)?);
    let orientation = number(ORIENTATION).and_then(|value| value.try_into().ok());
    let only = |tag| {
        let entry = directory.entry(tag).filter(|entry| entry.count == 1);
        entry.and_then(|_| number(tag))
    };
    let chunk = |offset, length| Some(Place { start: only(offset)?, length: only(length)? });
    let place = chunk(STRIP_OFFSETS, STRIP_BYTE_COUNTS).or_else(|| chunk(TILE_OFFSETS, TILE_BYTE_COUNTS));
    (is_preview && pixels > 0).then_some(JxlPreview { directory: offset, place, pixels, orientation })
}

/// Finds the preview in the directory of an Olympus MakerNote.
///
/// ```text
/// "OLYMPUS\0"  byte order  3: u16         the directory, offsets from the note's start
/// "OM SYSTEM\0\0\0"  byte order  4: u16   the same
/// "OLYMP\0"  1: u16                       the directory, offsets from the file's start
/// ```
fn olympus(file: &SourceFile, ifds: Ifds, note: &Entry) -> Option<Place> {
    let base = ifds.offset(note);
    let head = file.array_at::<16>(base).ok()??;
    let of_note = |order: &[u8]| Ifds { base, is_little: order == b"II", ..ifds };
    let (ifds, directory) = if head.starts_with(b"OLYMPUS\0") {
        (of_note(&head[8..10]), 12)
    } else if head.starts_with(b"OM SYSTEM\0") {
        (of_note(&head[12..14]), 16)
    } else if head.starts_with(b"OLYMP\0") {
        (ifds, base + 8)
    } else {
        return None;
    };
    let directory = ifds.directory(file, directory).ok()?;
    let settings = ifds.offset(directory.entry(CAMERA_SETTINGS)?) - ifds.base;
    let directory = ifds.directory(file, settings).ok()?;
    let number = |tag| ifds.first(file, &directory, tag);
    Some(Place { start: ifds.base.saturating_add(number(PREVIEW_START)?), length: number(PREVIEW_LENGTH)? })
}
