//! A WebP whose file ends too early. It is completed with two different endings and decoded twice. Rows that are the same in
//! both do not depend on the ending, so they belong to the picture; the rest is missing.

use std::io::{BufReader, Seek, SeekFrom};

use edgezoom_geometry::Size;

use super::FORMAT;
use crate::buffered::read_all;
use crate::{Bounds, Layout, RowReader, SourceError, SourceFile};

/// Offset of the length of the file.
const LENGTH_AT: usize = 4;
/// Number of bytes that the length does not count.
const LENGTH_BEFORE: usize = 8;
/// Offset of the first chunk.
const FIRST_CHUNK: usize = 12;
/// Number of bytes of a chunk before its content: a name and a length.
const CHUNK_HEAD: usize = 8;
/// Number of bytes added beside thrice those that are missing: made-up data may decode to fewer pixels than the original, and a
/// decoder refuses a chunk that is too short.
const MORE_BYTES: usize = 64 << 10;

/// A picture whose last rows are missing.
pub struct CutOff {
    readers: [Box<dyn RowReader>; 2],
    others: Vec<u8>,
}

/// Returns the file with each of two endings. `None`: nothing is missing.
pub fn completed(
    mut file: BufReader<SourceFile>,
    bounds: Bounds,
) -> Result<Option<[Vec<u8>; 2]>, SourceError> {
    file.seek(SeekFrom::Start(0))?;
    let bytes = read_all(file, bounds)?;
    let Some((chunk, missing)) = find_cut(&bytes) else { return Ok(None) };
    let length = missing.saturating_mul(3).saturating_add(bytes.len() + MORE_BYTES).next_multiple_of(2);
    bounds.admit_memory(2 * length as u64, "completing a WebP")?;
    let complete = |ending: &mut dyn FnMut() -> u8| {
        let mut bytes = bytes.clone();
        bytes.resize_with(length, ending);
        for (at, before) in [(LENGTH_AT, LENGTH_BEFORE), (chunk + 4, chunk + CHUNK_HEAD)] {
            let counted = u32::try_from(length - before).ok()?;
            bytes.get_mut(at..)?.first_chunk_mut::<4>()?.copy_from_slice(&counted.to_le_bytes());
        }
        Some(bytes)
    };
    // Pseudo-random numbers (Knuth's MMIX), which decode like some picture.
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    Ok(complete(&mut || 0).zip(complete(&mut random)).map(|(one, other)| [one, other]))
}

/// Returns the offset of the chunk in which the file ends, and the number of its bytes that are missing.
fn find_cut(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut at = FIRST_CHUNK;
    loop {
        let length = u32::from_le_bytes(*bytes.get(at + 4..)?.first_chunk()?) as usize;
        let end = at.checked_add(CHUNK_HEAD)?.checked_add(length)?;
        if end > bytes.len() {
            return Some((at, end - bytes.len()));
        }
        at = end.checked_next_multiple_of(2)?;
    }
}

impl CutOff {
    /// Reads the rows on which two readers agree, of the same file with different endings.
    pub fn new(readers: [Box<dyn RowReader>; 2]) -> Self {
        Self { readers, others: Vec::new() }
    }
}

impl RowReader for CutOff {
    fn size(&self) -> Size {
        self.readers[0].size()
    }

    fn layout(&self) -> Layout {
        self.readers[0].layout()
    }

    fn needs_opacity(&self) -> bool {
        true
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let [one, other] = &mut self.readers;
        self.others.resize(into.len(), 0);
        one.read_rows(into)?;
        other.read_rows(&mut self.others)?;
        if *into == *self.others { Ok(()) } else { Err(FORMAT.corrupt("it ends before its last row")) }
    }
}
