//! The boxes of the ISO base media format, which HEIF, JPEG 2000 and Canon's raw files share.
//!
//! ```text
//! length: u32  type: 4 bytes  [length: u64, if the first is 1]  content        a length of 0: up to the end
//! ```
//! Source: ISO/IEC 14496-12, 4.2; ITU-T T.800, I.4.

use std::ops::Range;
use std::{io, iter};

use super::section::ReadAt;

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsoBox {
    pub kind: [u8; 4],
    /// Offset of its length.
    pub start: u64,
    /// The place of its content, which may end beyond the file.
    pub content: Range<u64>,
}

impl IsoBox {
    /// Returns the place of its content in bytes that are all there is.
    pub fn content_in(&self, bytes: &[u8]) -> Range<usize> {
        let place = |offset: u64| usize::try_from(offset).map_or(bytes.len(), |place| place.min(bytes.len()));
        place(self.content.start)..place(self.content.end)
    }
}

/// Returns the boxes at a place of a file, up to its end or to an invalid length.
pub fn boxes<F: ReadAt + ?Sized>(
    file: &F,
    within: Range<u64>,
) -> impl Iterator<Item = io::Result<IsoBox>> + use<'_, F> {
    let mut at = within.start;
    iter::from_fn(move || {
        let found = read(file, at, within.end).transpose()?;
        at = found.as_ref().map_or(within.end, |found| found.content.end);
        Some(found)
    })
}

fn read<F: ReadAt + ?Sized>(file: &F, start: u64, end: u64) -> io::Result<Option<IsoBox>> {
    let Some([l0, l1, l2, l3, kind @ ..]) = file.array_at::<8>(start)?.filter(|_| start < end) else {
        return Ok(None);
    };
    let (length, head) = match u32::from_be_bytes([l0, l1, l2, l3]) {
        0 => (end - start, 8),
        1 => match file.array_at(start + 8)? {
            Some(length) => (u64::from_be_bytes(length), 16),
            None => return Ok(None),
        },
        length => (length.into(), 8),
    };
    let content = start + head..start.saturating_add(length);
    Ok((length >= head).then_some(IsoBox { kind, start, content }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_all_kinds_of_lengths_follow_each_other() {
        let file = b"\0\0\0\x0cftypavif\0\0\0\x01mdat\0\0\0\0\0\0\0\x12xy\0\0\0\0freeabc";
        let found: Vec<_> = boxes(file.as_slice(), 0..file.len() as u64).map(Result::unwrap).collect();
        let contents = [(*b"ftyp", 8..12), (*b"mdat", 28..30), (*b"free", 38..41)];
        assert_eq!(found.iter().map(|it| (it.kind, it.content.clone())).collect::<Vec<_>>(), contents);
    }

    #[test]
    fn an_invalid_length_is_the_end_and_a_content_may_be_cut_off() {
        let invalid = b"\0\0\0\x07free\0\0\0\x08skip";
        assert_eq!(boxes(invalid.as_slice(), 0..16).count(), 0);
        let cut = b"\0\0\0\x10free";
        let found = boxes(cut.as_slice(), 0..8).next().unwrap().unwrap();
        assert_eq!((found.content.clone(), found.content_in(cut)), (8..16, 8..8));
    }
}
