//! The elements of a DICOM file: those that describe the pixels, and the position of the pixels.
//!
//! ```text
//! file      128 bytes  "DICM"  elements of group 2, which say how all others are written  other elements
//!           the beginning is optional: files begin with "DICM", with group 2 or, from before 1993, with group 8
//! element   tag: u16 u16  VR: 2 letters  length: u16  value                   explicit VR
//!           tag: u16 u16  VR: 2 letters  0: u16  length: u32  value           … of OB, OW, SQ, UN and others
//!           tag: u16 u16  length: u32  value                                  implicit VR
//! sequence  items: fffe e000  length: u32  elements                           a length of ffffffff: up to
//!                                                                             fffe e00d (item), fffe e0dd (sequence)
//! ```
//! Source: DICOM PS3.5, 7.1 to 7.5, A.4; PS3.10, 7.1.

use std::collections::HashMap;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::formats::section::{Section, array};
use crate::{SourceError, SourceFile};

/// The tags of the elements that are used.
pub mod tag {
    pub const TRANSFER_SYNTAX: u32 = 0x0002_0010;
    /// The size of a pixel at the detector, and in the patient.
    pub const IMAGER_SPACING: u32 = 0x0018_1164;
    pub const SPACING: u32 = 0x0028_0030;
    pub const SAMPLES: u32 = 0x0028_0002;
    pub const PHOTOMETRIC: u32 = 0x0028_0004;
    pub const PLANAR: u32 = 0x0028_0006;
    pub const FRAMES: u32 = 0x0028_0008;
    pub const ROWS: u32 = 0x0028_0010;
    pub const COLUMNS: u32 = 0x0028_0011;
    pub const BITS_ALLOCATED: u32 = 0x0028_0100;
    pub const BITS_STORED: u32 = 0x0028_0101;
    pub const REPRESENTATION: u32 = 0x0028_0103;
    pub const PADDING: u32 = 0x0028_0120;
    pub const CENTER: u32 = 0x0028_1050;
    pub const WIDTH: u32 = 0x0028_1051;
    pub const INTERCEPT: u32 = 0x0028_1052;
    pub const SLOPE: u32 = 0x0028_1053;
    pub const FUNCTION: u32 = 0x0028_1056;
    /// Tables of the items of [`MODALITY_LUTS`] and [`VOI_LUTS`], which are kept by these tags.
    pub const LUT_DESCRIPTOR: u32 = 0x0028_3002;
    pub const LUT_DATA: u32 = 0x0028_3006;
    pub const MODALITY_LUTS: u32 = 0x0028_3000;
    pub const VOI_LUTS: u32 = 0x0028_3010;
    /// The descriptors of the red, green and blue palette, and the palettes.
    pub const DESCRIPTORS: [u32; 3] = [0x0028_1101, 0x0028_1102, 0x0028_1103];
    pub const PALETTES: [u32; 3] = [0x0028_1201, 0x0028_1202, 0x0028_1203];
    pub const TOTAL_COLUMNS: u32 = 0x0048_0006;
    pub const SHAPE: u32 = 0x2050_0020;
    pub const PIXELS: u32 = 0x7fe0_0010;
}

/// These also count inside sequences, where newer files have them for each frame. The first frame is shown.
const IN_SEQUENCES: [u32; 6] =
    [tag::SPACING, tag::CENTER, tag::WIDTH, tag::INTERCEPT, tag::SLOPE, tag::FUNCTION];
/// Sequences whose items have tables. The first item of each counts.
const OF_TABLES: [u32; 2] = [tag::MODALITY_LUTS, tag::VOI_LUTS];
const ITEM: u32 = 0xfffe_e000;
const ITEM_END: u32 = 0xfffe_e00d;
const SEQUENCE_END: u32 = 0xfffe_e0dd;
const UNDEFINED: u32 = u32::MAX;

/// The largest number of elements that are read.
const MAX_ELEMENTS: usize = 1 << 20;
/// The deepest level of sequences.
const MAX_DEPTH: usize = 64;
/// The largest value that is kept: a palette of 16 bits.
const MAX_VALUE_BYTES: u32 = 1 << 17;
/// The largest number of fragments of pixels that are read.
const MAX_FRAGMENTS: usize = 1 << 16;

const IMPLICIT: &str = "1.2.840.10008.1.2";
const BIG_ENDIAN: &str = "1.2.840.10008.1.2.2";

/// Returns the position of the first element, if it is one that DICOM files begin with.
pub fn first_element(head: &[u8]) -> Option<u64> {
    if head.get(128..132) == Some(b"DICM") {
        return Some(132);
    }
    let start = if head.starts_with(b"DICM") { 4 } else { 0 };
    let &[2 | 8, 0, _, 0, ref kind @ ..] = head.get(start..start + 8)? else { return None };
    // The first elements of both groups are short, and all lengths are even.
    let is_implicit = matches!(kind, [length @ 2..=64, 0, 0, 0] if length % 2 == 0);
    (is_implicit || is_explicit(kind)).then_some(start as u64)
}

/// Returns true if a tag is followed by a VR that the first elements of a group have.
fn is_explicit(after_tag: &[u8]) -> bool {
    [b"CS", b"DA", b"OB", b"UI", b"UL"].iter().any(|kind| after_tag.starts_with(*kind))
}

/// Returns the sequence of tables in whose item an element is, or 0.
fn sequence_of_tables(around: &[(u32, Option<u64>)]) -> u32 {
    match *around {
        [.., (sequence, _), (ITEM, _)] if OF_TABLES.contains(&sequence) => sequence,
        _ => 0,
    }
}

/// A range of bytes of the file.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub at: u64,
    pub length: u64,
}

/// The elements of a file that are used.
#[derive(Default)]
pub struct Elements {
    /// Values by their tags; those of tables by the sequence, too, which is 0 for all others.
    values: HashMap<(u32, u32), Vec<u8>>,
    pub is_big_endian: bool,
    /// The place of uncompressed pixels; or a table of the frames of compressed ones, which may be empty, and their
    /// fragments.
    pub pixels: Vec<Place>,
    pub is_encapsulated: bool,
}

impl Elements {
    pub fn read(file: &Arc<SourceFile>) -> Result<Self, SourceError> {
        let mut head = [0; 140];
        file.read_up_to_at(&mut head, 0)?;
        let start = first_element(&head).unwrap_or_default();
        let is_explicit = head.get(start as usize + 4..).is_some_and(is_explicit);
        let mut elements = Self::default();
        let mut reader = Section::all(file).buffered(16 << 10);
        reader.seek(SeekFrom::Start(start))?;
        // An error is reported when an element is missing.
        let _ = elements.read_all(&mut reader, is_explicit);
        Ok(elements)
    }

    fn read_all(&mut self, reader: &mut BufReader<Section>, mut is_explicit: bool) -> std::io::Result<()> {
        let mut in_head = true;
        // The names and ends of the enclosing sequences and items. Those of undefined length end with a mark.
        let mut around: Vec<(u32, Option<u64>)> = Vec::new();
        for _ in 0..MAX_ELEMENTS {
            let at = reader.stream_position()?;
            while around.last().is_some_and(|(_, end)| end.is_some_and(|end| end <= at)) {
                around.pop();
            }
            let mut start = array::<4>(reader)?;
            if in_head && start.first() != Some(&2) {
                in_head = false;
                if let Some(syntax) = self.text(tag::TRANSFER_SYNTAX) {
                    is_explicit = syntax != IMPLICIT;
                    self.is_big_endian = syntax == BIG_ENDIAN;
                }
            }
            if self.is_big_endian {
                let [a, b, c, d] = start;
                start = [b, a, d, c];
            }
            let [g0, g1, e0, e1] = start;
            let name = u32::from_be_bytes([g1, g0, e1, e0]);
            let is_mark = matches!(name, ITEM | ITEM_END | SEQUENCE_END);
            let (is_sequence, length) = if is_mark || !is_explicit {
                (false, self.u32(array(reader)?))
            } else {
                match &array::<2>(reader)? {
                    b"SQ" => (true, self.long_length(reader)?),
                    b"OB" | b"OD" | b"OF" | b"OL" | b"OV" | b"OW" | b"SV" | b"UC" | b"UN" | b"UR" | b"UT"
                    | b"UV" => (false, self.long_length(reader)?),
                    _ => (false, self.u16(array(reader)?).into()),
                }
            };
            let content = reader.stream_position()?;
            let end = (length != UNDEFINED).then(|| content.saturating_add(length.into()));
            match (name, end) {
                (ITEM_END | SEQUENCE_END, _) => drop(around.pop()),
                (tag::PIXELS, Some(_)) if around.is_empty() => {
                    self.pixels = vec![Place { at: content, length: length.into() }];
                    return Ok(());
                }
                (tag::PIXELS, None) if around.is_empty() => return self.fragments(reader),
                (ITEM, _) | (_, None) => around.push((name, end)),
                // A sequence of implicit VR cannot be told from a value but by its name.
                _ if is_sequence || OF_TABLES.contains(&name) => around.push((name, end)),
                (_, Some(_)) if self.is_wanted(name, &around) && length <= MAX_VALUE_BYTES => {
                    let mut value = vec![0; length as usize];
                    reader.read_exact(&mut value)?;
                    self.values.entry((sequence_of_tables(&around), name)).or_insert(value);
                }
                _ => reader.seek_relative(length.into())?,
            }
            if around.len() > MAX_DEPTH {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_wanted(&self, name: u32, around: &[(u32, Option<u64>)]) -> bool {
        let is_known = matches!(name >> 16, 0x0002 | 0x0028 | 0x0048 | 0x2050) || name == tag::IMAGER_SPACING;
        let is_table = matches!(name, tag::LUT_DESCRIPTOR | tag::LUT_DATA) && sequence_of_tables(around) != 0;
        is_known && (around.is_empty() || IN_SEQUENCES.contains(&name) || is_table)
    }

    /// Reads the places of compressed pixels.
    fn fragments(&mut self, reader: &mut BufReader<Section>) -> std::io::Result<()> {
        self.is_encapsulated = true;
        for _ in 0..MAX_FRAGMENTS {
            let mark: [u8; 4] = array(reader)?;
            let length = u32::from_le_bytes(array(reader)?);
            if mark != [0xfe, 0xff, 0x00, 0xe0] {
                break;
            }
            let at = reader.stream_position()?;
            self.pixels.push(Place { at, length: length.into() });
            reader.seek_relative(length.into())?;
        }
        Ok(())
    }

    fn long_length(&self, reader: &mut BufReader<Section>) -> std::io::Result<u32> {
        let [_, _, length @ ..] = array::<6>(reader)?;
        Ok(self.u32(length))
    }

    fn u16(&self, bytes: [u8; 2]) -> u16 {
        if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    pub fn has_pixels(&self) -> bool {
        !self.pixels.is_empty()
    }

    /// Returns a value as it is stored.
    pub fn bytes(&self, name: u32) -> Option<&[u8]> {
        self.bytes_in(0, name)
    }

    /// Returns a value of a table in a sequence.
    pub fn bytes_in(&self, sequence: u32, name: u32) -> Option<&[u8]> {
        self.values.get(&(sequence, name)).map(Vec::as_slice)
    }

    /// Returns numbers of 16 bits.
    pub fn numbers(&self, name: u32) -> Vec<u16> {
        self.numbers_in(0, name)
    }

    /// Returns numbers of 16 bits of a table in a sequence.
    pub fn numbers_in(&self, sequence: u32, name: u32) -> Vec<u16> {
        let (stored, _) = self.bytes_in(sequence, name).unwrap_or_default().as_chunks();
        stored.iter().map(|&number| self.u16(number)).collect()
    }

    pub fn number(&self, name: u32) -> Option<u16> {
        self.numbers(name).first().copied()
    }

    pub fn long(&self, name: u32) -> Option<u32> {
        self.bytes(name)?.first_chunk().map(|&number| self.u32(number))
    }

    /// Returns a text without its padding.
    pub fn text(&self, name: u32) -> Option<String> {
        let text = String::from_utf8_lossy(self.bytes(name)?);
        Some(text.trim_matches(['\0', ' ']).to_owned())
    }

    /// Returns the first of several decimal numbers.
    pub fn decimal(&self, name: u32) -> Option<f64> {
        self.decimals(name).first().copied()
    }

    /// Returns decimal numbers, up to the first one that is invalid.
    pub fn decimals(&self, name: u32) -> Vec<f64> {
        let text = self.text(name).unwrap_or_default();
        text.split('\\')
            .map_while(|number| number.trim().parse().ok().filter(|number: &f64| number.is_finite()))
            .collect()
    }
}
