//! Pixels in runs. The bytes of all samples are in planes: the high bytes of the first sample, its low bytes, and so
//! on.
//!
//! ```text
//! 0               4
//! planes: u32     offset of each of 15 planes: u32          each plane by PackBits
//! 0 … 127 n: n + 1 bytes follow       129 … 255 n: the next byte, 257 - n times      128: nothing
//! ```
//! Numbers are little-endian. Source: DICOM PS3.5, annex G.

use std::io::{BufReader, Read};
use std::sync::Arc;

use super::elements::Place;
use super::{FORMAT, too_short};
use crate::formats::section::{Section, array};
use crate::{SourceError, SourceFile};

/// Reads a plane.
pub struct Plane {
    file: BufReader<Section>,
    /// Number of bytes that are still to be copied.
    literal: usize,
    /// A byte and how many times more it is repeated.
    run: (u8, usize),
}

/// Opens the planes of a frame. There have to be `count`.
pub fn planes(file: &Arc<SourceFile>, frame: Place, count: usize) -> Result<Vec<Plane>, SourceError> {
    let mut header = Section::new(file, frame.at, frame.length).buffered(64);
    let bytes: [u8; 64] = array(&mut header).map_err(|_| too_short())?;
    let numbers: Vec<u32> = bytes.as_chunks().0.iter().map(|&number| u32::from_le_bytes(number)).collect();
    let [stored, starts @ ..] = numbers.as_slice() else { return Err(too_short()) };
    if *stored as usize != count || count > starts.len() {
        return Err(FORMAT.corrupt(format_args!("it has {stored} planes, not {count}")));
    }
    let plane = |&start: &u32| {
        let length = frame.length.saturating_sub(start.into());
        let file = Section::new(file, frame.at.saturating_add(start.into()), length).buffered(16 << 10);
        Plane { file, literal: 0, run: (0, 0) }
    };
    Ok(starts.iter().take(count).map(plane).collect())
}

impl Plane {
    /// Reads bytes of the plane. A run may continue in the next row, although it should not.
    pub fn read(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        while !into.is_empty() {
            if self.literal > 0 {
                let (now, later) = into.split_at_mut(into.len().min(self.literal));
                self.file.read_exact(now).map_err(|_| too_short())?;
                self.literal -= now.len();
                into = later;
            } else if self.run.1 > 0 {
                let (now, later) = into.split_at_mut(into.len().min(self.run.1));
                now.fill(self.run.0);
                self.run.1 -= now.len();
                into = later;
            } else {
                match array(&mut self.file).map_err(|_| too_short())? {
                    [128] => {}
                    [control @ ..128] => self.literal = usize::from(control) + 1,
                    [control] => {
                        let [value] = array(&mut self.file).map_err(|_| too_short())?;
                        self.run = (value, 257 - usize::from(control));
                    }
                }
            }
        }
        Ok(())
    }
}
