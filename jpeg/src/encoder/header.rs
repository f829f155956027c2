//! Markers and tables before the first block, in libjpeg's order.
//!
//! Source: ITU-T T.81, section B.2; JFIF 1.02.

use super::Sampling;
use crate::tables::{AC, DC, Huffman, ZIGZAG};

/// Start of image, and the segment of JFIF: version 1.1, square pixels, no thumbnail.
const START: [u8; 20] = [0xff, 0xd8, 0xff, 0xe0, 0, 16, b'J', b'F', b'I', b'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0];
pub const END_OF_IMAGE: [u8; 2] = [0xff, 0xd9];

/// A header that is complete except for the file's size.
#[derive(Clone)]
pub struct Header {
    bytes: Vec<u8>,
    /// Offset of the height, which the width follows.
    size_at: usize,
}

impl Header {
    /// Makes the header of files with these quantisation steps of luma and chroma, which are in row order.
    pub fn new(sampling: Sampling, steps: &[[u16; 64]; 2]) -> Self {
        let kinds = if sampling == Sampling::Grey { 1 } else { 2 };
        let components: &[(u8, u8, u8)] = match sampling {
            Sampling::Grey => &[(1, 0x11, 0)],
            Sampling::Full => &[(1, 0x11, 0), (2, 0x11, 1), (3, 0x11, 1)],
            Sampling::Halved => &[(1, 0x22, 0), (2, 0x11, 1), (3, 0x11, 1)],
        };
        let mut bytes = START.to_vec();
        let mut is_baseline = true;
        for (number, steps) in (0..).zip(&steps[..kinds]) {
            let are_bytes = steps.iter().all(|&step| step < 256);
            is_baseline &= are_bytes;
            let stored = ZIGZAG.map(|place| steps[place].to_be_bytes());
            let (precision, stored) = match are_bytes {
                true => (0, stored.iter().map(|&[_, low]| low).collect()),
                false => (0x10, stored.concat()),
            };
            segment(&mut bytes, 0xdb, &[&[precision | number], stored.as_slice()]);
        }
        // Baseline decoders need not accept steps of 16 bits.
        let frame = if is_baseline { 0xc0 } else { 0xc1 };
        let size_at = bytes.len() + 5;
        let count = components.len() as u8;
        let described: Vec<u8> =
            components.iter().flat_map(|&(id, factors, kind)| [id, factors, kind]).collect();
        segment(&mut bytes, frame, &[&[8, 0, 0, 0, 0, count], described.as_slice()]);
        for (number, (dc, ac)) in (0..).zip(DC.iter().zip(&AC).take(kinds)) {
            for (class, Huffman { counts, symbols }) in [(0, dc), (0x10, ac)] {
                segment(&mut bytes, 0xc4, &[&[class | number], counts, symbols]);
            }
        }
        let selected: Vec<u8> = components.iter().flat_map(|&(id, _, kind)| [id, 0x11 * kind]).collect();
        segment(&mut bytes, 0xda, &[&[count], selected.as_slice(), &[0, 63, 0]]);
        Self { bytes, size_at }
    }

    /// Appends the header of a file of this size in pixels, at most 65,535 a side.
    pub fn write(&self, width: u32, height: u32, file: &mut Vec<u8>) {
        let side = |pixels: u32| u16::try_from(pixels).unwrap_or(u16::MAX).to_be_bytes();
        let (before, after) = self.bytes.split_at(self.size_at);
        file.extend_from_slice(before);
        file.extend_from_slice(&[side(height), side(width)].concat());
        file.extend_from_slice(&after[4..]);
    }
}

/// Appends a marker segment, whose length includes the length itself.
fn segment(bytes: &mut Vec<u8>, marker: u8, parts: &[&[u8]]) {
    let length = 2 + parts.iter().map(|part| part.len()).sum::<usize>();
    bytes.extend_from_slice(&[0xff, marker]);
    bytes.extend_from_slice(&(length as u16).to_be_bytes());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}
