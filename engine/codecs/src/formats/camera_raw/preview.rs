//! The previews of a file, and the header of the JPEG in each. It tells a preview, which has 8 bits and is lossy, from raw
//! samples, which are lossless, and has its size and orientation.
//!
//! ```text
//! ff d8  segments: ff marker  length: u16, itself included  bytes
//!        a frame's bytes: precision: u8  height: u16  width: u16  components: u8
//! ```
//! Source: ITU-T T.81, B.1.1 and B.2.2; CIPA DC-008 (Exif 2.3), 4.7.2.

use std::io::{BufRead, Read, Seek};

use crate::formats::ifd::exif_orientation;
use crate::formats::section::array;

/// The largest number of segments that are read.
const MAX_SEGMENTS: usize = 1000;

/// A position in the file where a JPEG may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub start: u64,
    pub length: u64,
}

/// The previews that a container has.
#[derive(Default)]
pub struct Found {
    pub places: Vec<Place>,
    /// The camera's orientation, for previews that have none of their own.
    pub orientation: Option<u32>,
    /// True if the first directory cannot be read.
    pub is_broken: bool,
}

/// The frame of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    width: u16,
    height: u16,
    /// The orientation in its own EXIF.
    pub orientation: Option<u32>,
}

impl Frame {
    /// Reads the header of a JPEG. Returns `None` if it is not a preview.
    pub fn read(file: &mut (impl BufRead + Seek)) -> Option<Self> {
        if array(file).ok()? != [0xff, 0xd8] {
            return None;
        }
        let mut orientation = None;
        for _ in 0..MAX_SEGMENTS {
            let [mark, mut marker] = array(file).ok()?;
            if mark != 0xff {
                return None;
            }
            // A marker may be preceded by any number of fill bytes.
            for _ in 0..MAX_SEGMENTS {
                if marker != 0xff {
                    break;
                }
                [marker] = array(file).ok()?;
            }
            let length = u16::from_be_bytes(array(file).ok()?).checked_sub(2)?;
            match marker {
                0xc0..=0xc2 => {
                    let [precision, h0, h1, w0, w1, components] = array(file).ok()?;
                    let (width, height) = (u16::from_be_bytes([w0, w1]), u16::from_be_bytes([h0, h1]));
                    let is_preview = precision == 8 && matches!(components, 1 | 3) && width > 0 && height > 0;
                    return is_preview.then_some(Self { width, height, orientation });
                }
                // Lossless frames and others that are not previews.
                0xc3 | 0xc5..=0xc7 | 0xc9..=0xcf | 0xd9 | 0xda => return None,
                0xe1 if orientation.is_none() => {
                    let mut segment = Vec::new();
                    file.by_ref().take(length.into()).read_to_end(&mut segment).ok()?;
                    orientation = segment.strip_prefix(b"Exif\0\0").and_then(exif_orientation);
                }
                _ => file.seek_relative(length.into()).ok()?,
            }
        }
        None
    }

    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}
