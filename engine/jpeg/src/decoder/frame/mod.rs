//! The headers of a JPEG: everything before the first scan's bytes.
//!
//! Only regular files are read here: baseline or extended Huffman coding with 8 bits, one scan with all components, or
//! each component in one of [several] scans; or progressive coding whose scans together have all bits. For any other file,
//! even a slightly odd one, the result is `None`, and the caller leaves it to libjpeg, which knows hundreds of exceptions.
//!
//! ```text
//! marker   ff code          alone: SOI d8, EOI d9; all others begin a segment
//! segment  length: u16      counts itself, big-endian
//! SOF0–2   precision: u8  height: u16  width: u16  components: u8  { id: u8  h: u4  v: u4  steps: u8 }
//! DHT c4   { class: u4  id: u4  counts: [u8; 16]  symbols }
//! DQT db   { precision: u4  id: u4  steps: [u8; 64] }
//! DRI dd   restart interval in MCUs: u16
//! ```
//! Source: ITU-T T.81, annex B; libjpeg's `jdmarker.c`, and `jdapimin.c` for the colour space.

use std::io::{self, BufRead};
use std::sync::Arc;

use super::huffman::{Class, Definition, Table, Tables};
use super::idct::Steps;
use crate::markers::{FrameComponent, FrameHeader, Markers};
use crate::quantisation::SourceSteps;
use crate::tables::ZIGZAG;

pub mod several;

/// The colours of a file's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// One component.
    Grey,
    /// Luma, Cb and Cr.
    YCbCr,
    /// Red, green and blue.
    Rgb,
    /// Cyan, magenta, yellow and black.
    Cmyk,
    /// CMYK whose first three components are stored as YCbCr.
    Ycck,
}

/// A component of a picture.
#[derive(Clone)]
pub struct Component {
    /// Blocks of an MCU across.
    pub across: u8,
    /// Blocks of an MCU down.
    pub down: u8,
    /// Steps of the quantisation, in the order of the file.
    pub steps: Arc<Steps>,
    /// Table of its blocks' first coefficients.
    pub dc: Arc<Table>,
    /// Table of the other coefficients.
    pub ac: Arc<Table>,
}

/// The headers of a picture.
#[derive(Clone)]
pub struct Frame {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Its components, one to four.
    pub components: Vec<Component>,
    /// The meaning of the components.
    pub colours: Colours,
    /// MCUs between restart markers; 0: there are none.
    pub restart_interval: u32,
    /// Bytes before the scan's first one.
    pub header_bytes: u64,
}

impl Frame {
    /// Returns the steps that tiles with halved chroma can adapt to.
    #[must_use]
    pub fn steps(&self) -> SourceSteps {
        let in_rows = |stored: &Steps| {
            let mut steps = [0; 64];
            ZIGZAG.iter().zip(stored).for_each(|(&place, &step)| steps[place] = step);
            steps
        };
        match (self.colours, self.components.as_slice()) {
            (Colours::Grey, [grey]) => [Some(in_rows(&grey.steps)), None],
            (Colours::YCbCr, [luma, cb, cr]) => {
                let has_common = self.is_ycbcr420() && cb.steps == cr.steps;
                let is_full = self.most_blocks() == (luma.across.into(), luma.down.into());
                [is_full.then(|| in_rows(&luma.steps)), has_common.then(|| in_rows(&cb.steps))]
            }
            _ => [None; 2],
        }
    }

    /// Returns the largest numbers of blocks across and down that a component has in an MCU.
    #[must_use]
    pub fn most_blocks(&self) -> (u32, u32) {
        let across = self.components.iter().map(|component| component.across).max().unwrap_or(1);
        let down = self.components.iter().map(|component| component.down).max().unwrap_or(1);
        (across.into(), down.into())
    }

    /// Returns the numbers of MCUs across and down.
    #[must_use]
    pub fn mcus(&self) -> (u32, u32) {
        let (across, down) = self.most_blocks();
        (self.width.div_ceil(8 * across), self.height.div_ceil(8 * down))
    }

    /// Returns true if chroma is halved both ways, as in [`crate::ycbcr420`].
    #[must_use]
    pub fn is_ycbcr420(&self) -> bool {
        let sampling = self.components.iter().map(|component| (component.across, component.down));
        self.colours == Colours::YCbCr && sampling.eq([(2, 2), (1, 1), (1, 1)])
    }
}

/// Reads headers up to the first byte of the scan. `None`: the file is not one that this decoder reads.
///
/// # Errors
/// The reader's, but for the end of the file, which makes it irregular.
pub fn read(file: &mut impl BufRead) -> io::Result<Option<Frame>> {
    read_with(file, &mut Tables::default())
}

/// Reads headers as [`read`] does, and builds only those Huffman tables that `tables` does not have yet.
pub fn read_with(file: &mut impl BufRead, tables: &mut Tables) -> io::Result<Option<Frame>> {
    let mut headers = Headers::new(file, tables);
    match headers.read() {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        result => result,
    }
}

/// Longest side of a picture that libjpeg decodes: `JPEG_MAX_DIMENSION` in `jmorecfg.h`.
const LONGEST_SIDE: u32 = 65_500;

/// The marker that ends the segments read so far.
enum Next {
    /// The header of a scan.
    Scan(Vec<u8>),
    /// The end of the picture.
    End,
    Irregular,
}

/// The headers read so far.
struct Headers<'a, R> {
    markers: Markers<&'a mut R>,
    tables: &'a mut Tables,
    steps: [Option<Arc<Steps>>; 4],
    dc: [Option<Arc<Table>>; 4],
    ac: [Option<Arc<Table>>; 4],
    restart_interval: u32,
    size: (u32, u32),
    components: Vec<FrameComponent>,
    /// True if progressive pictures are read, and if this is one.
    allows_progressive: bool,
    is_progressive: bool,
    has_jfif: bool,
    /// The transform of Adobe's marker.
    adobe: Option<u8>,
}

impl<'a, R: BufRead> Headers<'a, R> {
    fn new(file: &'a mut R, tables: &'a mut Tables) -> Self {
        Self {
            markers: Markers::new(file),
            tables,
            steps: [const { None }; 4],
            dc: [const { None }; 4],
            ac: [const { None }; 4],
            restart_interval: 0,
            size: (0, 0),
            components: Vec::new(),
            allows_progressive: false,
            is_progressive: false,
            has_jfif: false,
            adobe: None,
        }
    }

    /// Returns true if the file begins with the start of an image.
    fn begins(&mut self) -> io::Result<bool> {
        Ok(self.markers.next_code()? == Some(0xd8) && self.markers.position() == 2)
    }

    fn read(&mut self) -> io::Result<Option<Frame>> {
        if !self.begins()? {
            return Ok(None);
        }
        Ok(match self.next(None)? {
            Next::Scan(segment) => self.scan(&segment),
            Next::End | Next::Irregular => None,
        })
    }

    /// Reads segments up to the header of a scan or the end. The code of the first marker may have been read before.
    fn next(&mut self, mut read_before: Option<u8>) -> io::Result<Next> {
        loop {
            let code = match read_before.take() {
                Some(code) => Some(code),
                None => self.markers.next_code()?,
            };
            let Some(code) = code else { return Ok(Next::Irregular) };
            match code {
                0xd9 => return Ok(Next::End),
                0xc0 | 0xc1 | 0xc4 | 0xda..=0xdd | 0xe0..=0xef | 0xfe => {}
                0xc2 if self.allows_progressive => self.is_progressive = true,
                _ => return Ok(Next::Irregular),
            }
            let Some(segment) = self.markers.segment()? else { return Ok(Next::Irregular) };
            let is_regular = match code {
                0xc0..=0xc2 => self.frame(&segment),
                0xc4 => self.huffman_tables(&segment),
                0xdb => self.quantisation_tables(&segment),
                0xdd => self.restart_interval(&segment),
                0xe0 => {
                    self.has_jfif |= segment.len() >= 14 && segment.starts_with(b"JFIF\0");
                    true
                }
                0xee => {
                    if segment.len() >= 12 && segment.starts_with(b"Adobe") {
                        self.adobe = segment.get(11).copied();
                    }
                    true
                }
                0xda => return Ok(Next::Scan(segment)),
                0xdc => false, // the number of lines belongs behind the first scan
                _ => true,
            };
            if !is_regular {
                return Ok(Next::Irregular);
            }
        }
    }

    fn frame(&mut self, segment: &[u8]) -> bool {
        let Some(FrameHeader { precision: 8, width, height, count, components }) =
            FrameHeader::parse(segment)
        else {
            return false;
        };
        let is_first = self.components.is_empty();
        let is_unique = |at: usize| components[..at].iter().all(|other| other.id != components[at].id);
        let is_whole = segment.len() == 6 + 3 * usize::from(count) && (0..components.len()).all(is_unique);
        self.size = (width.into(), height.into());
        self.components = components;
        let blocks: u32 =
            self.components.iter().map(|component| u32::from(component.across * component.down)).sum();
        is_first
            && is_whole
            && matches!(count, 1 | 3 | 4)
            && (1..=LONGEST_SIDE).contains(&self.size.0)
            && (1..=LONGEST_SIDE).contains(&self.size.1)
            && self
                .components
                .iter()
                .all(|component| (1..=4).contains(&component.across) && (1..=4).contains(&component.down))
            && (blocks <= 10 || count == 1)
    }

    fn huffman_tables(&mut self, mut segment: &[u8]) -> bool {
        while let Some((&[kind], rest)) = segment.split_first_chunk() {
            let Some((counts, rest)) = rest.split_first_chunk::<16>() else { return false };
            let symbols: usize = counts.iter().map(|&count| usize::from(count)).sum();
            if symbols > 256 || rest.len() < symbols || kind & 15 > 3 || kind >> 4 > 1 {
                return false;
            }
            let (symbols, rest) = rest.split_at(symbols);
            let definition = Definition { counts: *counts, symbols: symbols.to_vec() };
            let (tables, class) =
                if kind >> 4 == 0 { (&mut self.dc, Class::Dc) } else { (&mut self.ac, Class::Ac) };
            let Some(table) = self.tables.get(definition, class) else { return false };
            tables[usize::from(kind & 3)] = Some(table);
            segment = rest;
        }
        true
    }

    fn quantisation_tables(&mut self, mut segment: &[u8]) -> bool {
        while let Some((&[kind], rest)) = segment.split_first_chunk() {
            let Some((steps, rest)) = rest.split_first_chunk::<64>() else { return false };
            if kind > 3 {
                return false; // 16 bits, or no such table
            }
            self.steps[usize::from(kind & 3)] = Some(Arc::new(steps.map(u16::from)));
            segment = rest;
        }
        true
    }

    fn restart_interval(&mut self, segment: &[u8]) -> bool {
        let Ok(interval) = segment.try_into() else { return false };
        self.restart_interval = u16::from_be_bytes(interval).into();
        true
    }

    /// Returns the components that a scan has, each with its number in the frame.
    fn selected(&self, segment: &[u8]) -> Option<Vec<(usize, Component)>> {
        let (&[count], rest) = segment.split_first_chunk()?;
        if rest.len() != 2 * usize::from(count) + 3 {
            return None;
        }
        let (selected, spectrum) = rest.split_at(2 * usize::from(count));
        if spectrum != [0, 63, 0] {
            return None;
        }
        let component = |&[id, tables]: &[u8; 2]| {
            let number = self.components.iter().position(|described| described.id == id)?;
            let described = self.components.get(number)?;
            let (dc, ac) = (usize::from(tables >> 4), usize::from(tables & 15));
            let is_alone = count == 1; // its MCUs are single blocks, whatever the frame says (A.2.2)
            let component = Component {
                across: if is_alone { 1 } else { described.across },
                down: if is_alone { 1 } else { described.down },
                steps: self.steps.get(usize::from(described.steps))?.clone()?,
                dc: self.dc.get(dc)?.clone()?,
                ac: self.ac.get(ac)?.clone()?,
            };
            Some((number, component))
        };
        let components: Vec<_> = selected.as_chunks().0.iter().map(component).collect::<Option<_>>()?;
        components.is_sorted_by_key(|(number, _)| *number).then_some(components)
    }

    /// Returns the headers of a picture whose only scan has all components.
    fn scan(&self, segment: &[u8]) -> Option<Frame> {
        let selected = self.selected(segment)?;
        let is_complete = selected.iter().map(|(number, _)| *number).eq(0..self.components.len());
        let components = selected.into_iter().map(|(_, component)| component).collect();
        is_complete.then_some(Frame {
            width: self.size.0,
            height: self.size.1,
            components,
            colours: self.colours()?,
            restart_interval: self.restart_interval,
            header_bytes: self.markers.position(),
        })
    }

    /// Guesses the colours as libjpeg does.
    fn colours(&self) -> Option<Colours> {
        Some(match (&*self.components, self.adobe) {
            ([_], _) => Colours::Grey,
            ([_, _, _], _) if self.has_jfif => Colours::YCbCr,
            ([_, _, _], Some(0)) => Colours::Rgb,
            ([_, _, _], Some(1)) => Colours::YCbCr,
            ([_, _, _], Some(_)) => return None,
            ([a, b, c], None) if [a.id, b.id, c.id] == *b"RGB" => Colours::Rgb,
            ([_, _, _], None) => Colours::YCbCr,
            ([_, _, _, _], Some(2)) => Colours::Ycck,
            ([_, _, _, _], Some(0) | None) => Colours::Cmyk,
            _ => return None,
        })
    }
}
