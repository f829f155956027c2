//! The structure of a codestream: the boxes around it, its main header and its tile-parts. With it, each tile can be
//! given to the decoder as a picture of its own.
//!
//! ```text
//! JP2         box "jP  "  box "ftyp"  box "jp2h"  …  box "jp2c": the codestream
//! codestream  SOC  SIZ  COD QCD …  tile-part  tile-part  …  EOC
//! SIZ         0xff51  Lsiz: u16  Rsiz: u16  Xsiz Ysiz XOsiz YOsiz XTsiz YTsiz XTOsiz YTOsiz: u32 each  Csiz: u16  …
//! tile-part   0xff90  10: u16  tile: u16  length: u32, from the marker on, or 0: to the end  TPsot: u8  TNsot: u8  …
//! ```
//! Source: ITU-T T.800, A.4.2 (SOT), A.5.1 (SIZ), B.3 (tiles), I.4 (boxes).

use std::io;

use edgezoom_geometry::Size;

use super::FORMAT;
use super::single_tile::{SingleTile, TilePart, for_tile};
use super::source::Source;
use crate::SourceError;
use crate::formats::iso_boxes::{IsoBox, boxes};
use crate::formats::section::ReadAt;

/// Marker codes (ITU-T T.800, table A.2).
const SOC: u8 = 0x4f;
const SIZ: u8 = 0x51;
const TLM: u8 = 0x55;
const PLM: u8 = 0x57;
const PPM: u8 = 0x60;
const COM: u8 = 0x64;
const SOT: u8 = 0x90;
const SOD: u8 = 0x93;
/// Marker codes of segments that a tile's header may have in place of the main header: COD, COC, QCD, QCC, RGN, POC.
const OF_TILES: [u8; 6] = [0x52, 0x53, 0x5c, 0x5d, 0x5e, 0x5f];
/// The marker code of packet headers in a tile's header.
const PPT: u8 = 0x61;
const EOC: [u8; 2] = [0xff, 0xd9];

/// The largest number of bytes kept of the boxes before the codestream, and of its main header. A colour profile may
/// take megabytes.
const MAX_HEADER_BYTES: u64 = 8 << 20;
/// The largest number of tiles (ITU-T T.800, table A.5).
const MOST_TILES: usize = 65_535;
/// Maximum number of components: four inks and opacity.
const MOST_COMPONENTS: u16 = 5;
/// Bytes of an SOT marker segment, with the marker.
const SOT_BYTES: u64 = 12;
/// Offsets in SIZ, with its marker: of the sizes, of the number of components, and of their precision and sampling.
const SIZES_AT: usize = 6;
const COMPONENTS_AT: usize = 38;
const SAMPLING_AT: usize = 40;

/// A codestream and the boxes around it.
pub struct Codestream {
    /// The boxes before the codestream that describe its colours.
    pub boxes: Vec<u8>,
    /// The main header's marker segments after SIZ, without those about other tiles and comments.
    segments: Vec<u8>,
    siz: Vec<u8>,
    /// The tile-parts, by tile.
    parts: Vec<Part>,
    /// True if packet headers are in the main header, so that tiles cannot be separated.
    has_packed_headers: bool,
    /// True if the last tile-part is complete.
    pub is_complete: bool,
    pub tiles: Tiles,
}

/// A tile-part of the file.
#[derive(Clone, Copy)]
struct Part {
    tile: u16,
    offset: u64,
    length: u64,
    /// Number of parts of its tile, if given.
    count: Option<u8>,
    is_whole: bool,
}

/// The part of a tile that the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Part,
    All,
}

/// The division of a picture into tiles, on the reference grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Left and upper edge of the picture.
    start: [u32; 2],
    /// Right and lower edge of the picture.
    end: [u32; 2],
    /// Width and height of a tile.
    size: [u32; 2],
    /// Left and upper edge of the first tile.
    origin: [u32; 2],
    /// Number of columns and rows of tiles.
    pub count: [u32; 2],
    /// True if a component has a sample at each point of the grid, so that points are pixels.
    has_full_component: bool,
    pub components: u16,
}

impl Codestream {
    /// Parses the structure of a file.
    pub fn find(source: &Source) -> Result<Self, SourceError> {
        let mut boxes = Vec::new();
        let mut end = source.length()?;
        let mut at = 0;
        if source.array_at(0)? != Some([0xff, SOC]) {
            (at, end) = find_codestream(source, &mut boxes)?;
        }
        let cut_off = || FORMAT.ends_in_header();
        let mut found = Self {
            boxes,
            segments: Vec::new(),
            siz: Vec::new(),
            parts: Vec::new(),
            has_packed_headers: false,
            is_complete: false,
            tiles: Tiles::NONE,
        };
        at += 2;
        loop {
            let [prefix, marker] = source.array_at(at)?.ok_or_else(cut_off)?;
            if prefix != 0xff {
                return Err(FORMAT.corrupt("its header is invalid"));
            }
            if marker == SOT {
                break;
            }
            // Markers without a segment (ITU-T T.800, A.1).
            if (0x30..=0x3f).contains(&marker) {
                at += 2;
                continue;
            }
            let length = 2 + u64::from(u16::from_be_bytes(source.array_at(at + 2)?.ok_or_else(cut_off)?));
            match marker {
                SIZ => append(source, at, length, &mut found.siz)?,
                PPM => found.has_packed_headers = true,
                TLM | PLM | COM => {}
                _ => append(source, at, length, &mut found.segments)?,
            }
            at += length;
        }
        found.tiles = Tiles::of_siz(&found.siz).ok_or_else(|| FORMAT.corrupt("its size is invalid"))?;
        found.is_complete = found.find_parts(source, at, end)?;
        found.parts.sort_by_key(|part| (part.tile, part.offset));
        Ok(found)
    }

    /// Returns true if the code blocks are those of high-throughput JPEG 2000.
    pub fn is_high_throughput(&self) -> bool {
        super::high_throughput::is_announced(&self.siz)
    }

    /// Checks the number of components. The decoder decodes all of them, also those that are not shown, and a component
    /// may take three bytes of the file.
    pub fn admit_components(&self) -> Result<(), SourceError> {
        match self.tiles.components {
            ..=MOST_COMPONENTS => Ok(()),
            more => Err(FORMAT.unsupported(format_args!("it has {more} components"))),
        }
    }

    /// Follows the tile-parts from the first one. Returns true if the last one is complete.
    fn find_parts(&mut self, source: &Source, mut at: u64, end: u64) -> Result<bool, SourceError> {
        let tiles = u64::from(self.tiles.count[0]) * u64::from(self.tiles.count[1]);
        // A tile has at most 255 parts (ITU-T T.800, A.4.2).
        let most = usize::try_from(tiles.saturating_mul(255)).unwrap_or(usize::MAX);
        loop {
            let Some(head) = source.array_at::<2>(at)? else { return Ok(false) };
            if head != [0xff, SOT] {
                return Ok(head == EOC);
            }
            let Some(sot) = source.array_at::<{ SOT_BYTES as usize }>(at)? else { return Ok(false) };
            let [_, _, _, _, t0, t1, l0, l1, l2, l3, _, count] = sot;
            let tile = u16::from_be_bytes([t0, t1]);
            if u64::from(tile) >= tiles || self.parts.len() >= most {
                return Err(FORMAT.corrupt("its tiles are invalid"));
            }
            let count = Some(count).filter(|count| *count > 0);
            let mut add =
                |length, is_whole| self.parts.push(Part { tile, offset: at, length, count, is_whole });
            match u64::from(u32::from_be_bytes([l0, l1, l2, l3])) {
                // Up to the end of the codestream, which should be an end marker.
                0 => {
                    let is_ended = end >= at + 2 && source.array_at(end - 2)? == Some(EOC);
                    let end = if is_ended { end - 2 } else { end };
                    add(end.saturating_sub(at), is_ended);
                    return Ok(is_ended);
                }
                length if length < SOT_BYTES => return Err(FORMAT.corrupt("its tiles are invalid")),
                length if at + length > end => {
                    add(end.saturating_sub(at), false);
                    return Ok(false);
                }
                length => {
                    add(length, true);
                    at += length;
                }
            }
        }
    }

    /// Returns true if each tile can be decoded by itself. In a file that is cut off, some may be missing.
    pub fn is_divisible(&self) -> bool {
        let tiles = (self.tiles.count[0] as usize).saturating_mul(self.tiles.count[1] as usize);
        let found = self.parts.chunk_by(|one, other| one.tile == other.tile).count();
        let are_cut_off = !self.is_complete && found > 0 && tiles <= MOST_TILES;
        !self.has_packed_headers && self.tiles.has_full_component && (found == tiles || are_cut_off)
    }

    /// Returns how much of a tile the file has.
    pub fn found(&self, number: u32) -> Found {
        let parts = self.parts_of(number);
        match parts.iter().find_map(|part| part.count) {
            _ if parts.is_empty() => Found::Nothing,
            _ if parts.iter().any(|part| !part.is_whole) => Found::Part,
            Some(count) if parts.len() < usize::from(count) => Found::Part,
            _ => Found::All,
        }
    }

    /// Returns the first tile that is not missing.
    pub fn first_tile(&self) -> u32 {
        self.parts.first().map_or(0, |part| part.tile.into())
    }

    fn parts_of(&self, number: u32) -> &[Part] {
        let first = self.parts.partition_point(|part| u32::from(part.tile) < number);
        let end = self.parts.partition_point(|part| u32::from(part.tile) <= number);
        &self.parts[first..end]
    }

    /// Returns the picture's single tile, if it has only one and that can be read by rows.
    pub fn single_tile(&self, source: &Source) -> Result<Option<SingleTile>, SourceError> {
        if self.tiles.count != [1, 1] || self.has_packed_headers {
            return Ok(None);
        }
        let corners = [self.tiles.start, self.tiles.end];
        Ok(match self.segments_of(source, 0)? {
            (_, true) => None,
            (segments, false) => SingleTile::new(&self.siz, &segments, corners),
        })
    }

    /// Returns the marker segments that apply to a tile, and true if the headers of its packets are apart from them.
    fn segments_of(&self, source: &Source, number: u32) -> Result<(Vec<u8>, bool), SourceError> {
        let (mut own, mut has_packed_headers) = (Vec::new(), false);
        for part in self.parts_of(number) {
            let (mut at, end) = (part.offset + SOT_BYTES, part.offset + part.length);
            while let Some([0xff, marker, high, low]) = source.array_at(at)?
                && marker != SOD
                && at < end
            {
                let length = 2 + u64::from(u16::from_be_bytes([high, low]));
                has_packed_headers |= marker == PPT;
                if at + length > end {
                    break; // cut off
                }
                if OF_TILES.contains(&marker) {
                    append(source, at, length, &mut own)?;
                }
                at += length;
            }
        }
        Ok((for_tile(&self.segments, &own), has_packed_headers))
    }

    /// Returns the parts of all tiles.
    pub fn parts(&self) -> Vec<TilePart> {
        self.parts.iter().map(|part| (part.offset, part.length)).collect()
    }

    /// Returns the file without any tile, to parse its headers.
    pub fn header(&self) -> Vec<u8> {
        let mut file = self.begin(self.siz.clone(), &self.segments);
        file.extend_from_slice(&[0xff, SOT]);
        file
    }

    /// Returns a tile as a file of its own. It keeps its position on the reference grid, because code blocks depend on
    /// it. The segments of its header are in the main header, too: the decoder takes the wavelet from there.
    pub fn tile(&self, source: &Source, column: u32, row: u32) -> Result<Vec<u8>, SourceError> {
        let number = row * self.tiles.count[0] + column;
        let (segments, _) = self.segments_of(source, number)?;
        let mut file = self.begin(self.tiles.siz_of(column, row, self.siz.clone()), &segments);
        for part in self.parts_of(number) {
            let start = file.len();
            source.append(part.offset, part.length, &mut file)?;
            if let Some(tile) = file.get_mut(start + 4..start + 6) {
                tile.fill(0);
            }
            if !part.is_whole
                && let (Some(length), Ok(bytes)) =
                    (file.get_mut(start + 6..start + 10), u32::try_from(part.length))
            {
                length.copy_from_slice(&bytes.to_be_bytes());
            }
        }
        file.extend_from_slice(&EOC);
        Ok(file)
    }

    /// Returns the file up to its first tile-part.
    fn begin(&self, siz: Vec<u8>, segments: &[u8]) -> Vec<u8> {
        let mut file = self.boxes.clone();
        if !file.is_empty() {
            file.extend_from_slice(b"\0\0\0\0jp2c");
        }
        file.extend_from_slice(&[0xff, SOC]);
        file.extend(siz);
        file.extend_from_slice(segments);
        file
    }
}

/// Collects the boxes before the codestream, and returns the codestream's start and end.
fn find_codestream(source: &Source, collected: &mut Vec<u8>) -> Result<(u64, u64), SourceError> {
    let length = source.length()?;
    for found in boxes(source, 0..length) {
        let IsoBox { kind, start, content } = found?;
        match &kind {
            b"jp2c" => return Ok((content.start, content.end.min(length))),
            b"jP  " | b"ftyp" | b"jp2h" => append(source, start, content.end - start, collected)?,
            _ => {}
        }
    }
    Err(FORMAT.corrupt("it has no codestream"))
}

fn append(source: &Source, at: u64, length: u64, out: &mut Vec<u8>) -> Result<(), SourceError> {
    if length > MAX_HEADER_BYTES || out.len() as u64 > MAX_HEADER_BYTES {
        return Err(FORMAT.corrupt("its header is too long"));
    }
    source.append(at, length, out).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => FORMAT.ends_in_header(),
        _ => error.into(),
    })
}

impl Tiles {
    /// Returns the size of the picture on the reference grid.
    pub fn picture(&self) -> Size {
        let [width, height] = [0, 1].map(|axis| self.end[axis].saturating_sub(self.start[axis]));
        Size { width, height }
    }

    const NONE: Self = Self {
        start: [0; 2],
        end: [0; 2],
        size: [1; 2],
        origin: [0; 2],
        count: [0; 2],
        has_full_component: false,
        components: 0,
    };

    /// Reads a SIZ marker segment.
    fn of_siz(siz: &[u8]) -> Option<Self> {
        let number = |index: usize| {
            let at = SIZES_AT + 4 * index;
            Some(u32::from_be_bytes(*siz.get(at..)?.first_chunk()?))
        };
        let pair = |index: usize| Some([number(index)?, number(index + 1)?]);
        let [end, start, size, origin] = [pair(0)?, pair(2)?, pair(4)?, pair(6)?];
        let mut count = [0; 2];
        for axis in 0..2 {
            let is_valid = size[axis] > 0
                && start[axis] < end[axis]
                && origin[axis] <= start[axis]
                && u64::from(origin[axis]) + u64::from(size[axis]) > u64::from(start[axis]);
            if !is_valid {
                return None;
            }
            count[axis] = (end[axis] - origin[axis]).div_ceil(size[axis]);
        }
        let components = u16::from_be_bytes(*siz.get(COMPONENTS_AT..)?.first_chunk()?);
        let (sampling, _) = siz.get(SAMPLING_AT..)?.as_chunks::<3>();
        let has_full = |axis: usize| sampling.iter().any(|component| component[1 + axis] == 1);
        Some(Self {
            end,
            start,
            size,
            origin,
            count,
            has_full_component: has_full(0) && has_full(1),
            components,
        })
    }

    /// Returns the start and the end of a column (axis 0) or row (axis 1) of tiles, in pixels of the picture.
    pub fn range(&self, axis: usize, index: u32) -> (u32, u32) {
        let edge = |index: u32| {
            let edge = u64::from(self.origin[axis]) + u64::from(self.size[axis]) * u64::from(index);
            // Clamped to the picture, so the cast loses nothing.
            edge.clamp(u64::from(self.start[axis]), u64::from(self.end[axis])) as u32 - self.start[axis]
        };
        (edge(index), edge(index + 1))
    }

    /// Returns the pixels of the largest tile, and the number of its components.
    pub fn largest(&self) -> (u64, u64) {
        let side = |axis: usize| u64::from(self.size[axis].min(self.end[axis] - self.start[axis]));
        (side(0) * side(1), u64::from(self.components))
    }

    /// Returns the SIZ marker segment of a tile that becomes a picture of its own.
    fn siz_of(&self, column: u32, row: u32, mut siz: Vec<u8>) -> Vec<u8> {
        for (axis, index) in [(0, column), (1, row)] {
            let (start, end) = self.range(axis, index);
            let origin = u64::from(self.origin[axis]) + u64::from(self.size[axis]) * u64::from(index);
            let offset = self.start[axis];
            for (field, value) in [(0, end + offset), (2, start + offset), (6, origin as u32)] {
                let at = SIZES_AT + 4 * (field + axis);
                if let Some(bytes) = siz.get_mut(at..at + 4) {
                    bytes.copy_from_slice(&value.to_be_bytes());
                }
            }
        }
        siz
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the SIZ of a picture from (10, 0) to (100, 50) with tiles of 40×30 from (5, 0) on.
    fn siz() -> Vec<u8> {
        let mut siz = vec![0xff, SIZ, 0, 47, 0, 0];
        for number in [100u32, 50, 10, 0, 40, 30, 5, 0] {
            siz.extend(number.to_be_bytes());
        }
        siz.extend([0, 3, 7, 1, 1, 7, 2, 2, 7, 2, 2]);
        siz
    }

    #[test]
    fn tiles_lie_on_the_reference_grid() {
        let tiles = Tiles::of_siz(&siz()).unwrap();
        assert_eq!((tiles.count, tiles.has_full_component, tiles.components), ([3, 2], true, 3));
        assert_eq!([0, 1, 2].map(|column| tiles.range(0, column)), [(0, 35), (35, 75), (75, 90)]);
        assert_eq!([0, 1].map(|row| tiles.range(1, row)), [(0, 30), (30, 50)]);
    }

    #[test]
    fn a_tile_becomes_a_picture_of_one_tile_at_the_same_position() {
        let tile = Tiles::of_siz(&siz()).unwrap().siz_of(1, 1, siz());
        let tiles = Tiles::of_siz(&tile).unwrap();
        assert_eq!((tiles.start, tiles.end, tiles.count), ([45, 30], [85, 50], [1, 1]));
    }

    #[test]
    fn invalid_grids_are_refused() {
        for (field, value) in [(0, 0u32), (2, 100), (4, 0), (4, 5), (6, 11)] {
            let mut siz = siz();
            siz[6 + 4 * field..10 + 4 * field].copy_from_slice(&value.to_be_bytes());
            assert_eq!(Tiles::of_siz(&siz), None, "{field}: {value}");
        }
        assert_eq!(Tiles::of_siz(&siz()[..39]), None);
    }
}
