//! Camera raw files, shown by their largest preview, which is what the camera's screen shows. It is a JPEG, or a JPEG XL
//! in newer DNGs. The sensor's samples are not developed: that needs a profile of each camera, and every program gets
//! another picture.
//!
//! | files | container | where previews are |
//! |---|---|---|
//! | DNG, NEF, ARW, CR2, PEF, SRW | TIFF | strips and JPEG tables of all directories, JPEG XL in those of DNG |
//! | ORF | TIFF with another number | Olympus' own directories too |
//! | RW2 | TIFF with another number | a tag of Panasonic's |
//! | CR3 | ISO base media | samples of tracks, and a box of Canon's |
//! | RAF | Fujifilm's own | its header |
//!
//! A TIFF is a camera raw file if its first directory says so. If it has no JPEG preview, it is read as an ordinary
//! TIFF.
//!
//! Source: Adobe, Digital Negative Specification 1.7; ExifTool's tag names for each maker (exiftool.org/TagNames).

mod containers;
mod directories;
mod preview;

use std::io::{BufReader, Read, Seek};
use std::sync::Arc;

use crate::format::{Decoded, Input, Open};
use crate::formats::jpeg;
use crate::formats::section::{self, Section};
use crate::{Format, Orientation, Reading, SourceError};
use preview::{Frame, Place};

pub(crate) static FORMAT: Format = Format {
    name: "camera raw",
    media_types: &[
        "image/x-adobe-dng",
        "image/x-canon-cr2",
        "image/x-canon-cr3",
        "image/x-nikon-nef",
        "image/x-sony-arw",
        "image/x-fuji-raf",
        "image/x-olympus-orf",
        "image/x-panasonic-rw2",
        "image/x-pentax-pef",
        "image/x-samsung-srw",
    ],
    endings: &["dng", "cr2", "cr3", "nef", "nrw", "arw", "raf", "orf", "rw2", "pef", "srw"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| Container::of(head).is_some(),
    open: Open::Directly(open),
};

/// The container of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    /// A TIFF that other programs can read, too.
    Tiff,
    /// A TIFF by structure, with a maker's number in place of 42.
    OwnTiff,
    Boxes,
    Fujifilm,
}

impl Container {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [b'I', b'I', b'R', b'O' | b'S', ..]
            | [b'M', b'M', b'O', b'R', ..]
            | [b'I', b'I', b'U', 0, ..] => Some(Self::OwnTiff),
            [b'I', b'I', 42, 0, _, _, _, _, b'C', b'R', 2, ..] => Some(Self::Tiff),
            [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => {
                directories::is_camera_raw(head).then_some(Self::Tiff)
            }
            [_, _, _, _, b'f', b't', b'y', b'p', b'c', b'r', b'x', b' ', ..] => Some(Self::Boxes),
            _ => head.starts_with(b"FUJIFILMCCD-RAW").then_some(Self::Fujifilm),
        }
    }
}

/// Bytes that are needed to recognise the container, the same number as for any format.
const HEAD_BYTES: u64 = 64 << 10;

fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = section::share(file);
    let mut head = Vec::new();
    Section::new(&file, 0, HEAD_BYTES).take(HEAD_BYTES).read_to_end(&mut head)?;
    let container = Container::of(&head);
    let found = match container {
        Some(Container::Boxes) => containers::boxes(&file),
        Some(Container::Fujifilm) => containers::fujifilm(&head),
        _ => directories::walk(&file),
    };
    let frames = found.places.iter().filter_map(|&place| {
        let frame = Frame::read(&mut Section::new(&file, place.start, place.length).buffered(4 << 10))?;
        Some((place, frame))
    });
    // Of equally large previews, the first.
    let largest = frames.reduce(|one, other| if other.1.pixels() > one.1.pixels() { other } else { one });
    let end = file.length()?;
    let is_beyond = |place: &Place| place.start.saturating_add(place.length) > end;
    let has_always = matches!(container, Some(Container::Boxes | Container::Fujifilm));
    let is_cut_off = found.is_broken || has_always || found.places.iter().any(is_beyond);
    #[cfg(all(feature = "modern", feature = "tiff"))]
    if let Some(jxl) = found.jxl.filter(|jxl| largest.is_none_or(|(_, jpeg)| jxl.pixels > jpeg.pixels())) {
        // A picture of one piece has a colour space of its own, which that of a TIFF's tiles has not.
        let decoded = match jxl.place {
            Some(place) => {
                super::jxl::open_section(Section::new(&file, place.start, place.length), bounds, options)?
            }
            None => super::tiff::open_at(&file, jxl.directory, bounds, options)?,
        };
        let orientation = jxl.orientation.or(found.orientation).map(Orientation::from_exif);
        return Ok(Decoded { orientation: orientation.unwrap_or_default(), ..decoded });
    }
    match (largest, container) {
        (Some((place, frame)), _) => {
            let section = Section::new(&file, place.start, place.length);
            let decoded = jpeg::open_shared(section, bounds, options)?;
            let orientation = match (frame.orientation, found.orientation) {
                (None, Some(of_camera)) => Orientation::from_exif(of_camera),
                _ => decoded.orientation,
            };
            Ok(Decoded { orientation, ..decoded })
        }
        _ if is_cut_off => Err(FORMAT.corrupt("its preview is missing")),
        #[cfg(feature = "tiff")]
        (None, Some(Container::Tiff)) => {
            // Every section of the file has been dropped by now.
            let mut file = Arc::into_inner(file).ok_or(SourceError::Empty)?;
            file.rewind()?;
            let file = BufReader::with_capacity(crate::format::READ_BYTES, file);
            super::tiff::open(Input { file, bounds, options, temporary: None })
        }
        _ => Err(FORMAT.unsupported("it has no JPEG preview")),
    }
}

#[cfg(test)]
mod tests;
