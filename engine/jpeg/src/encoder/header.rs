//! Markers and tables before the first block, in libjpeg's order.
//!
//! Source: ITU-T T.81, section B.2; JFIF 1.02.

use super::Sampling;
use super::huffman::Table;
use crate::tables::ZIGZAG;

/// Start of image, and the segment of JFIF: version 1.1, square pixels, no thumbnail.
const START: [u8; 20] = [0xff, 0xd8, 0xff, 0xe0, 0, 16, b'J', b'F', b'I', b'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0];
pub const END_OF_IMAGE: [u8; 2] = [0xff, 0xd9];

/// A header that is complete except for the file's size and Huffman tables.
#[derive(Clone)]
pub struct Header {
    /// Up to the frame, and the start of the scan.
    before: Vec<u8>,
    after: Vec<u8>,
    /// Offset of the height, which the width follows.
    size_at: usize,
    /// Kinds of components: luma, and chroma.
    kinds: usize,
}

impl Header {
    /// Makes the header of files with these quantisation steps of luma and chroma, which are in row order and at most
    /// 255.
    pub fn new(sampling: Sampling, steps: &[[u16; 64]; 2]) -> Self {
        let kinds = if sampling == Sampling::Grey { 1 } else { 2 };
        let components: &[(u8, u8, u8)] = match sampling {
            Sampling::Grey => &[(1, 0x11, 0)],
            Sampling::Full => &[(1, 0x11, 0), (2, 0x11, 1), (3, 0x11, 1)],
            Sampling::Halved => &[(1, 0x22, 0), (2, 0x11, 1), (3, 0x11, 1)],
        };
        let mut before = START.to_vec();
        for (number, steps) in (0..).zip(&steps[..kinds]) {
            let stored = ZIGZAG.map(|place| steps[place] as u8);
            segment(&mut before, 0xdb, &[&[number], stored.as_slice()]);
        }
        let size_at = before.len() + 5;
        let count = components.len() as u8;
        let described: Vec<u8> =
            components.iter().flat_map(|&(id, factors, kind)| [id, factors, kind]).collect();
        segment(&mut before, 0xc0, &[&[8, 0, 0, 0, 0, count], described.as_slice()]);
        let mut after = vec![];
        let selected: Vec<u8> = components.iter().flat_map(|&(id, _, kind)| [id, 0x11 * kind]).collect();
        segment(&mut after, 0xda, &[&[count], selected.as_slice(), &[0, 63, 0]]);
        Self { before, after, size_at, kinds }
    }

    /// Appends the header of a file of this size in pixels, at most 65,535 a side, with these Huffman tables of first
    /// and other coefficients.
    pub fn write(&self, (width, height): (u32, u32), tables: &[[Table; 2]; 2], file: &mut Vec<u8>) {
        let side = |pixels: u32| u16::try_from(pixels).unwrap_or(u16::MAX).to_be_bytes();
        let (before, after) = self.before.split_at(self.size_at);
        file.extend_from_slice(before);
        file.extend_from_slice(&[side(height), side(width)].concat());
        file.extend_from_slice(&after[4..]);
        for (number, [first, others]) in (0..).zip(&tables[..self.kinds]) {
            for (class, Table { counts, symbols }) in [(0, first), (0x10, others)] {
                segment(file, 0xc4, &[&[class | number], counts, symbols]);
            }
        }
        file.extend_from_slice(&self.after);
    }
}

/// Appends a marker segment, whose length includes the length itself.
fn segment(bytes: &mut Vec<u8>, marker: u8, parts: &[&[u8]]) {
    let length = 2 + parts.iter().map(|part| part.len()).sum::<usize>();
    bytes.extend_from_slice(&[0xff, marker]);
    bytes.extend_from_slice(&(length as u16).to_be_bytes());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}
