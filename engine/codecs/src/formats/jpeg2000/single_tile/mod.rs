//! JPEG 2000 by rows: decodes a codestream that is a single tile, of any size, without holding the picture.
//!
//! Other decoders hold all coefficients as floats: more than 10 GB for a gigapixel. Here only the packet headers are
//! read for the whole picture, and the rest goes from top to bottom:
//!
//! 1. `packets` reads the headers of all packets and records where the bytes of each code block are.
//! 2. When a band has no rows left, `code_block` decodes its next row of code blocks, on all threads.
//! 3. `wavelet` runs the lifting steps row by row: each level takes rows from the level below and from its three bands.
//!
//! Memory is one row of code blocks for each band, and about 24 bytes for each code block. `coding` and `geometry` hold
//! what the headers say, `arithmetic` is the entropy decoder.
//!
//! Codestreams in several tiles do not need this module: they are decoded tile by tile. Unsupported are components of
//! different sizes, regions of interest, packet headers apart from their packets, changes of the packets' order, and
//! parts 2 and higher of the standard: for them [`SingleTile::new`] returns `None`.
//!
//! Source: ITU-T T.800 (ISO/IEC 15444-1), annexes A to G.

mod arithmetic;
mod code_block;
mod coding;
mod geometry;
mod packets;
mod stream;
mod wavelet;

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::SourceError;
use crate::formats::jpeg2000::source::{NAME, Source};
use crate::parallel::in_parallel;
use code_block::{CodeBlock, MOST_PLANES};
pub use coding::for_tile;
use coding::{Coding, ComponentCoding};
use geometry::{Area, PacketOrder, Resolution};
use packets::Packets;
use stream::Stream;
pub use wavelet::Sample;
use wavelet::{BandRows, Component};

/// Number of rows that are decoded at once.
pub const ROWS: usize = 16;

/// A picture that is a single tile.
pub struct SingleTile {
    coding: Coding,
    components: Vec<Vec<Resolution>>,
    area: Area,
}

/// Decodes a picture after its packet headers were read.
pub struct Decoder {
    tile: SingleTile,
    source: Source,
    packets: Packets,
    threads: usize,
    /// True if packets are missing or invalid, so that detail is missing.
    pub is_damaged: bool,
}

/// A tile-part: its offset in the file, and its length.
pub type TilePart = (u64, u64);

impl SingleTile {
    /// Reads the marker segments of the headers: SIZ, and all others. The corners are those of the picture on the
    /// reference grid. Returns `None` if the codestream needs something unsupported.
    pub fn new(siz: &[u8], segments: &[u8], [start, end]: [[u32; 2]; 2]) -> Option<Self> {
        let coding = Coding::of(siz, segments)?;
        let area = Area { start, end };
        let first = coding.components.first()?;
        let is_alike = |it: &ComponentCoding| it.parameters.is_reversible == first.parameters.is_reversible;
        let has_valid_transform = !coding.has_colour_transform
            || coding
                .components
                .first_chunk::<3>()
                .is_some_and(|them| them.iter().all(|it| it.precision == first.precision));
        if !coding.components.iter().all(is_alike) || !has_valid_transform {
            return None;
        }
        let components: Vec<_> =
            coding.components.iter().map(|coding| geometry::resolutions(area, coding)).collect();
        // A level of one row or column has rules of its own.
        let is_tiny = |it: &Resolution| it.area.width() < 2 || it.area.height() < 2;
        if components.iter().any(|resolutions| resolutions.iter().skip(1).any(is_tiny)) {
            return None;
        }
        Some(Self { coding, components, area })
    }

    /// Returns the number of components.
    pub fn samples(&self) -> u64 {
        self.components.len() as u64
    }

    /// Returns the bits per sample of each component.
    pub fn precisions(&self) -> impl Iterator<Item = u8> {
        self.coding.components.iter().map(|component| component.precision)
    }

    /// Returns the bytes of memory that decoding takes, without [`Packets::CHUNK_BYTES`] for each chunk of a code
    /// block.
    pub fn memory(&self) -> u64 {
        let resolutions = self.components.iter().flatten();
        let resolution_bytes = resolutions.map(|resolution| {
            let bands = resolution.bands.iter().map(|band| {
                let row = u64::from(band.area.width()) * 4;
                let rows = u64::from(band.block_height()) * row;
                // A row of code blocks, and rows of the level above it.
                rows + 8 * row + band.blocks.cells().saturating_mul(Packets::BLOCK_BYTES)
            });
            let precinct_bytes = Packets::PRECINCT_BYTES + PacketOrder::BYTES;
            let precincts = resolution.precincts.cells().saturating_mul(precinct_bytes);
            bands.fold(precincts, u64::saturating_add)
        });
        let planes = u64::from(self.area.width()) * ROWS as u64 * 8 * self.samples();
        resolution_bytes.fold(planes, u64::saturating_add)
    }

    /// Reads all packet headers of the tile-parts. `is_complete` is false if the last tile-part is cut off.
    ///
    /// # Errors
    /// If the file cannot be read, if nothing of the picture can be decoded, or if the positions of code blocks take
    /// more than `memory` bytes.
    pub fn read_packets(
        self,
        source: Source,
        parts: &[TilePart],
        is_complete: bool,
        memory: u64,
        threads: usize,
    ) -> Result<Decoder, SourceError> {
        let order = PacketOrder::new(&self.components, self.area, &self.coding);
        let mut packets = Packets::new(&self.components, memory / Packets::CHUNK_BYTES);
        let streams = parts.iter().map(|&(start, length)| skip_header(&source, start, length));
        let has_all = packets.read(&self.components, &self.coding, order, streams)?;
        let is_damaged = packets.is_damaged || !(is_complete || has_all);
        if is_damaged && packets.is_empty() {
            return Err(SourceError::corrupt(NAME, "it ends before its first row"));
        }
        Ok(Decoder { tile: self, source, packets, threads, is_damaged })
    }
}

/// Skips the header of a tile-part (ITU-T T.800, A.4.2).
fn skip_header(source: &Source, start: u64, length: u64) -> Result<Stream<'_>, SourceError> {
    const SOD: u8 = 0x93;
    let mut stream = Stream::new(source, start, length)?;
    loop {
        match [stream.byte()?, stream.byte()?] {
            [0xff, SOD] => return Ok(stream),
            [0xff, _] => {
                let length = u64::from(stream.number()?);
                stream.pass(length.saturating_sub(2));
            }
            _ => return Err(SourceError::corrupt(NAME, "the header of a tile is invalid")),
        }
    }
}

/// A component with the rows that wait for those of the other components.
struct Ready<T> {
    component: Component<T>,
    rows: Vec<T>,
    count: usize,
}

impl Decoder {
    /// Returns true if samples are integers, so that [`rows`](Self::rows) has to be called with `i32`, else with `f32`.
    pub fn is_reversible(&self) -> bool {
        self.tile.coding.components.iter().all(|it| it.parameters.is_reversible)
    }

    /// Decodes the picture and passes on its rows, at most [`ROWS`] at once: the samples of each component, as signed
    /// numbers around 0, in red, green and blue if the codestream has a colour transform.
    pub fn rows<T: Sample>(
        &self,
        mut pass_on: impl FnMut(Vec<Vec<T>>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let (width, height) = (self.tile.area.width() as usize, self.tile.area.height());
        let components = self.components::<T>()?;
        let mut passed_on = 0;
        while passed_on < height {
            let wanted = ROWS.min((height - passed_on) as usize);
            let ready = in_parallel(components.len(), self.threads, |index| {
                Ok(components.get(index).map_or(0, |component| locked(component).fill(wanted, width)))
            })?;
            if ready.iter().any(|&ready| ready < wanted) {
                self.decode_blocks(&components)?;
                continue;
            }
            let mut planes: Vec<_> = components.iter().map(|component| locked(component).take()).collect();
            if let ([red, green, blue, ..], true) = (&mut *planes, self.tile.coding.has_colour_transform) {
                T::colours([red, green, blue]);
            }
            pass_on(planes)?;
            passed_on += wanted as u32;
        }
        Ok(())
    }

    /// Returns all components, before their first row.
    fn components<T: Sample>(&self) -> Result<Vec<Mutex<Ready<T>>>, SourceError> {
        let component = |number: usize, resolutions: &[Resolution], coding: &ComponentCoding| {
            let band_rows = |resolution: usize, index: usize| {
                let band = resolutions.get(resolution)?.bands.get(index)?;
                let (planes, step) = coding.band(resolution, band.kind)?;
                let step = step * T::band_scale(band.kind);
                Some(BandRows::new(band.clone(), [number, resolution, index], u32::from(planes), step))
            };
            let levels = (1..resolutions.len()).map(|number| {
                let bands = [band_rows(number, 0)?, band_rows(number, 1)?, band_rows(number, 2)?];
                Some((resolutions.get(number)?.area, bands))
            });
            let levels: Vec<_> = levels.collect::<Option<_>>()?;
            let component = Component::new(band_rows(0, 0)?, levels.into_iter());
            Some(Mutex::new(Ready { component, rows: Vec::new(), count: 0 }))
        };
        let coded = self.tile.components.iter().zip(&self.tile.coding.components).enumerate();
        let components: Option<_> =
            coded.map(|(number, (it, coding))| component(number, it, coding)).collect();
        components.ok_or_else(|| SourceError::corrupt(NAME, "its step sizes are invalid"))
    }

    /// Decodes the next row of code blocks of each band that has no rows left.
    fn decode_blocks<T: Sample>(&self, components: &[Mutex<Ready<T>>]) -> Result<(), SourceError> {
        let mut components: Vec<_> = components.iter().map(locked).collect();
        let mut bands: Vec<_> = components
            .iter_mut()
            .flat_map(|ready| ready.component.bands())
            .filter_map(|band| band.wanted().map(|row| (row, band)))
            .collect();
        bands.iter_mut().for_each(|(_, band)| band.free());
        let blocks: Vec<(&BandRows, u32, u32)> = bands
            .iter()
            .flat_map(|(row, band)| (0..band.columns()).map(move |column| (&**band, column, *row)))
            .collect();
        let decode = |index: usize| match blocks.get(index) {
            Some(&(band, column, row)) => self.decode_block(band, column, row),
            None => Ok(Vec::new()),
        };
        let mut decoded = in_parallel(blocks.len(), self.threads, decode)?.into_iter();
        for (_, band) in bands {
            let columns = band.columns() as usize;
            band.put(decoded.by_ref().take(columns).collect());
        }
        Ok(())
    }

    /// Decodes a code block. A block without coefficients is empty.
    fn decode_block(&self, rows: &BandRows, column: u32, row: u32) -> Result<Vec<i32>, SourceError> {
        let side = |(start, end): (u32, u32)| (end - start) as usize;
        let Some((empty_planes, places)) = self.packets.block(rows.place, [column, row]) else {
            return Ok(Vec::new());
        };
        let coding = self.tile.coding.components.get(rows.place[0]);
        let (mut chunks, mut bytes) = (Vec::new(), Vec::new());
        for (passes, offset, length) in places {
            self.source.append(offset, length, &mut bytes)?;
            chunks.push((passes, length as usize));
        }
        let planes = rows.planes.saturating_sub(u32::from(empty_planes));
        if planes > MOST_PLANES {
            return Err(SourceError::unsupported(NAME, "it has more than 30 bit planes"));
        }
        let block = CodeBlock {
            width: side(rows.band.range(0, column)),
            height: side(rows.band.range(1, row)),
            band: rows.band.kind,
            style: coding.map(|it| it.parameters.style).unwrap_or_default(),
            planes,
            chunks: &chunks,
            bytes: &bytes,
        };
        Ok(block.decode())
    }
}

fn locked<T>(ready: &Mutex<T>) -> MutexGuard<'_, T> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Sample> Ready<T> {
    /// Makes rows until `wanted` are ready or code blocks are missing. Returns the number of ready rows.
    fn fill(&mut self, wanted: usize, width: usize) -> usize {
        self.rows.resize(wanted * width, T::default());
        for row in self.rows.chunks_exact_mut(width).skip(self.count) {
            if !self.component.next_row(row) {
                break;
            }
            self.count += 1;
        }
        self.count
    }

    fn take(&mut self) -> Vec<T> {
        self.count = 0;
        std::mem::take(&mut self.rows)
    }
}
