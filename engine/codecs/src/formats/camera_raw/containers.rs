//! The positions of previews in containers other than TIFF.
//!
//! ```text
//! CR3  boxes; the content of uuid begins with 16 bytes
//!      moov / uuid 85c0b687… / CMT1                      a TIFF of EXIF's first directory: the orientation
//!      moov / trak / mdia / minf / stbl / stsz, co64     the length and place of the full preview, and of raw samples
//!      uuid eaf42b5e… / PRVW                             at 24: a preview of 1,620×1,080
//! RAF  84  offset of the preview: u32, big-endian   88  its length: u32
//! ```
//! Source: ISO/IEC 14496-12, 8.7.3, 8.7.5; Laurent Clévy, "Describing the Canon Raw v3 (CR3) file format";
//! LibRaw's notes on RAF.

use std::io::Read;
use std::sync::Arc;

use super::preview::{Found, Place};
use crate::SourceFile;
use crate::formats::ifd::exif_orientation;
use crate::formats::iso_boxes::{IsoBox, boxes as iso_boxes};
use crate::formats::section::{Section, array};

/// The largest number of boxes that are read at each level.
const MAX_BOXES: usize = 256;
/// The deepest level of boxes.
const MAX_DEPTH: usize = 6;
/// The largest number of bytes of EXIF that are read.
const EXIF_BYTES: u64 = 64 << 10;

const CANON: [u8; 16] = *b"\x85\xc0\xb6\x87\x82\x0f\x11\xe0\x81\x11\xf4\xce\x46\x2b\x6a\x48";
const PREVIEWS: [u8; 16] = *b"\xea\xf4\x2b\x5e\x1c\x98\x4b\x88\xb9\xfb\xb7\xdc\x40\x6e\x4d\x16";

/// Finds the previews of a CR3.
pub fn boxes(file: &Arc<SourceFile>) -> Found {
    let mut found = Found::default();
    look_into(file, Place { start: 0, length: u64::MAX }, 0, &mut Track::default(), &mut found);
    found
}

/// The position of a track's first sample.
#[derive(Default)]
struct Track {
    start: Option<u64>,
    length: Option<u64>,
}

fn look_into(file: &Arc<SourceFile>, within: Place, depth: usize, track: &mut Track, found: &mut Found) {
    let within = within.start..within.start.saturating_add(within.length);
    for IsoBox { kind, content, .. } in iso_boxes(&**file, within).take(MAX_BOXES).map_while(Result::ok) {
        let content = Place { start: content.start, length: content.end - content.start };
        let after = |bytes| Place {
            start: content.start.saturating_add(bytes),
            length: content.length.saturating_sub(bytes),
        };
        // The list of lengths is missing if all samples have the same.
        let mut reader = Section::new(file, content.start, u64::MAX);
        match &kind {
            b"moov" | b"mdia" | b"minf" | b"stbl" if depth < MAX_DEPTH => {
                look_into(file, content, depth + 1, track, found);
            }
            b"trak" if depth < MAX_DEPTH => {
                let mut track = Track::default();
                look_into(file, content, depth + 1, &mut track, found);
                if let Track { start: Some(start), length: Some(length) } = track {
                    found.places.push(Place { start, length });
                }
            }
            b"uuid" if depth < MAX_DEPTH => match array(&mut reader) {
                Ok(CANON) => look_into(file, after(16), depth + 1, track, found),
                // These bytes include a version and a count of four bytes each.
                Ok(PREVIEWS) => look_into(file, after(24), depth + 1, track, found),
                _ => {}
            },
            b"PRVW" => found.places.push(after(16)),
            b"CMT1" => {
                let mut block = Vec::new();
                if reader.take(content.length.min(EXIF_BYTES)).read_to_end(&mut block).is_ok() {
                    found.orientation = exif_orientation(&block);
                }
            }
            // Version and flags, then the length of each sample; or 0, their number, and a list of lengths.
            b"stsz" => {
                track.length = array::<16>(&mut reader).ok().map(|bytes| {
                    let [_, all, _, first] = numbers(bytes);
                    u64::from(if all > 0 { all } else { first })
                });
            }
            b"stco" => track.start = array::<12>(&mut reader).ok().map(|bytes| numbers::<3>(bytes)[2].into()),
            b"co64" => {
                track.start = array::<16>(&mut reader).ok().map(|bytes| {
                    let [_, _, high, low] = numbers(bytes);
                    u64::from(high) << 32 | u64::from(low)
                });
            }
            _ => {}
        }
    }
}

fn numbers<const N: usize>(bytes: impl AsRef<[u8]>) -> [u32; N] {
    let mut numbers = [0; N];
    let (stored, _) = bytes.as_ref().as_chunks::<4>();
    numbers.iter_mut().zip(stored).for_each(|(number, &stored)| *number = u32::from_be_bytes(stored));
    numbers
}

/// Finds the preview of a RAF.
pub fn fujifilm(head: &[u8]) -> Found {
    let place = head.get(84..).and_then(<[u8]>::first_chunk::<8>).map(|bytes| {
        let [start, length] = numbers(bytes);
        Place { start: start.into(), length: length.into() }
    });
    Found { places: place.into_iter().collect(), ..Found::default() }
}
