//! The previews of a file, and the header of the JPEG in each. It tells a preview, which has 8 bits and is lossy, from
//! raw samples, which are lossless, and has its size and orientation.
//!
//! Source: CIPA DC-008 (Exif 2.3), 4.7.2.

use std::io::BufRead;

use edgezoom_jpeg::markers::{self, FrameHeader, Markers};

use crate::formats::ifd::exif_orientation;

/// The largest number of segments that are read.
const MAX_SEGMENTS: usize = 1000;

/// A position in the file where a JPEG may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub start: u64,
    pub length: u64,
}

/// A preview in JPEG XL, which only DNG has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JxlPreview {
    /// Offset of its directory.
    pub directory: u64,
    /// Its place, if it is not in several tiles.
    pub place: Option<Place>,
    pub pixels: u64,
    pub orientation: Option<u32>,
}

/// The previews that a container has.
#[derive(Default)]
pub struct Found {
    pub places: Vec<Place>,
    /// The largest preview in JPEG XL.
    pub jxl: Option<JxlPreview>,
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
    pub fn read(file: &mut impl BufRead) -> Option<Self> {
        let mut markers = Markers::new(file);
        if markers.next_code().ok()?? != 0xd8 {
            return None;
        }
        let mut orientation = None;
        for _ in 0..MAX_SEGMENTS {
            let code = markers.next_code().ok()??;
            let is_frame = markers::is_frame(code);
            // Lossless frames, and others that are not previews.
            if matches!(code, 0xd8..=0xda) || is_frame && code > 0xc2 {
                return None;
            }
            let segment = markers.segment().ok()??;
            if is_frame {
                let FrameHeader { precision, width, height, count, .. } = FrameHeader::parse(&segment)?;
                let is_preview = precision == 8 && matches!(count, 1 | 3) && width > 0 && height > 0;
                return is_preview.then_some(Self { width, height, orientation });
            }
            if code == 0xe1 && orientation.is_none() {
                orientation = segment.strip_prefix(b"Exif\0\0").and_then(exif_orientation);
            }
        }
        None
    }

    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}
