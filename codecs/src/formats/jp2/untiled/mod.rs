//! A picture that is a single tile, of any size: the code blocks that a few rows need are decoded by all threads, and the
//! wavelet transform goes from row to row. What is held is a row of code blocks of each band, and where the bytes of each
//! code block lie in the file.

mod arithmetic;
mod band_rows;
mod bits;
mod code_block;
mod coding;
mod contexts;
mod geometry;
mod lifting;
mod packet_order;
mod packets;
mod rows;
mod synthesis;
mod tag_tree;

use std::sync::{Mutex, PoisonError};

use edgezoom_geometry::Size;

use super::error::NAME;
use super::partial::Partial;
use super::picture::Kind;
use super::source::Source;
use crate::parallel::in_parallel;
use crate::read_ahead::{BandSender, ReadAhead};
use crate::{Bounds, Damage, DecodeOptions, RowReader, SourceError};
use band_rows::BandRows;
use bits::Stream;
use code_block::{CodeBlock, MOST_PLANES};
use coding::Coding;
use geometry::{Area, Resolution};
use lifting::Sample;
use packet_order::PacketOrder;
use packets::Packets;
use rows::Rows;
use synthesis::Component;

/// The rows that are made at once.
const ROWS: usize = 16;

/// A picture that is a single tile, and how it is coded.
pub struct Untiled {
    coding: Coding,
    components: Vec<Vec<Resolution>>,
    area: Area,
}

impl Untiled {
    /// A picture whose first corners and ends on the reference grid are these, if this decoder reads what its header asks for.
    pub fn of(siz: &[u8], segments: &[u8], [start, end]: [[u32; 2]; 2]) -> Option<Self> {
        let coding = Coding::of(siz, segments)?;
        let area = Area { start, end };
        let is_reversible = coding.components.first()?.is_reversible;
        let is_alike = |count: usize| {
            let precision = coding.components[0].precision;
            coding.components[..count].iter().all(|component| component.precision == precision)
        };
        if coding.components.iter().any(|component| component.is_reversible != is_reversible)
            || (coding.has_colour_transform && (coding.components.len() < 3 || !is_alike(3)))
        {
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

    /// The samples of a pixel.
    pub fn samples(&self) -> u64 {
        self.components.len() as u64
    }

    /// Opens the picture. `parts` are its tile-parts: where they begin in the file, and their lengths. Where the last one is
    /// cut off, `is_complete` is false.
    pub fn open(
        self,
        source: Source,
        (parts, is_complete): (Vec<(u64, u64)>, bool),
        (size, kind): (Size, Kind),
        bounds: Bounds,
        options: DecodeOptions,
    ) -> Result<Box<dyn RowReader>, SourceError> {
        let memory = self.memory(&kind);
        bounds.admit_memory(memory, "decoding a JPEG 2000")?;
        let most_chunks = (bounds.memory - memory) / Packets::CHUNK_BYTES;
        let threads = options.threads.get();
        let is_reversible = self.coding.components.iter().all(|component| component.is_reversible);
        let (packets, has_all) = self.read_packets(&source, &parts, most_chunks)?;
        let is_damaged = packets.is_damaged || !(is_complete || has_all);
        if is_damaged && packets.is_empty() {
            return Err(NAME.corrupt("it ends before its first row"));
        }
        let decode = move |bands: &BandSender| {
            let decoding = Decoding { untiled: &self, source: &source, packets, threads };
            bands.begin(size, kind.layout)?;
            match is_reversible {
                true => decoding.send::<i32>(&kind, bands),
                false => decoding.send::<f32>(&kind, bands),
            }
        };
        let reader = ReadAhead::start(&crate::formats::jp2::FORMAT, decode)?;
        Ok(if is_damaged { Box::new(Partial { reader, damage: Damage::Partial }) } else { Box::new(reader) })
    }

    /// The memory that decoding takes, but for the places of code blocks' bytes.
    fn memory(&self, kind: &Kind) -> u64 {
        let resolutions = self.components.iter().flatten();
        let resolution_bytes = resolutions.map(|resolution| {
            let precincts = resolution.precinct_count();
            let bands = resolution.bands.iter().map(|band| {
                let row = u64::from(band.area.width()) * 4;
                let rows = u64::from(band.block_height()) * row;
                // A row of code blocks, and rows of the level above it.
                rows + 8 * row + band.block_count().saturating_mul(Packets::BLOCK_BYTES)
            });
            let bands = bands.fold(0, u64::saturating_add);
            bands.saturating_add(precincts.saturating_mul(Packets::PRECINCT_BYTES + PacketOrder::BYTES))
        });
        let row = u64::from(self.area.width()) * ROWS as u64;
        let planes = row * 8 * self.components.len() as u64;
        let bands = row * kind.layout.channels() as u64 * 4;
        resolution_bytes.fold(planes + bands, u64::saturating_add)
    }

    fn read_packets(
        &self,
        source: &Source,
        parts: &[(u64, u64)],
        most_chunks: u64,
    ) -> Result<(Packets, bool), SourceError> {
        let order = PacketOrder::new(&self.components, self.area, self.coding.order, self.coding.layers);
        let mut packets = Packets::new(&self.components, most_chunks);
        let streams = parts.iter().map(|&(start, length)| begin_part(source, start, length));
        let has_all = packets.read(&self.components, &self.coding, &order, streams)?;
        Ok((packets, has_all))
    }
}

/// Passes over the header of a tile-part (ITU-T T.800, A.4.2).
fn begin_part(source: &Source, start: u64, length: u64) -> Result<Stream<'_>, SourceError> {
    const SOT: u8 = 0x90;
    const SOD: u8 = 0x93;
    const PLT: u8 = 0x58;
    const COM: u8 = 0x64;
    let mut stream = Stream::new(source, start, length);
    loop {
        match [stream.byte()?, stream.byte()?] {
            [0xff, SOD] => return Ok(stream),
            [0xff, SOT | PLT | COM] => {
                let length = u64::from(stream.number()?);
                stream.pass(length.saturating_sub(2));
            }
            _ => return Err(NAME.unsupported("a part of it is coded in another way than the rest")),
        }
    }
}

/// What decodes a picture.
struct Decoding<'a> {
    untiled: &'a Untiled,
    source: &'a Source,
    packets: Packets,
    threads: usize,
}

impl Decoding<'_> {
    /// Decodes the picture and passes it on.
    fn send<T: Sample>(&self, kind: &Kind, bands: &BandSender) -> Result<(), SourceError> {
        let (width, height) = (self.untiled.area.width() as usize, self.untiled.area.height());
        let components = self.components::<T>()?;
        let mut rows = Rows::new(&self.untiled.coding, kind, width);
        let mut sent = 0;
        while sent < height {
            let wanted = ROWS.min((height - sent) as usize);
            let ready = in_parallel(components.len(), self.threads, |index| match components.get(index) {
                Some(component) => {
                    Ok(component.lock().unwrap_or_else(PoisonError::into_inner).fill(wanted, width))
                }
                None => Ok(0),
            })?;
            if ready.iter().any(|&ready| ready < wanted) {
                self.decode_blocks(&components)?;
                continue;
            }
            let mut components: Vec<_> =
                components.iter().map(|it| it.lock().unwrap_or_else(PoisonError::into_inner)).collect();
            bands.send(rows.convert(components.iter_mut().map(|it| it.take()).collect()))?;
            sent += wanted as u32;
        }
        Ok(())
    }

    /// All components, before their first row.
    fn components<T: Sample>(&self) -> Result<Vec<Mutex<Ready<T>>>, SourceError> {
        let coded = self.untiled.components.iter().zip(&self.untiled.coding.components);
        let component =
            |(number, (resolutions, coding)): (usize, (&Vec<Resolution>, &coding::ComponentCoding))| {
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
        let components: Option<_> = coded.enumerate().map(component).collect();
        components.ok_or_else(|| NAME.corrupt("its steps are invalid"))
    }

    /// Decodes the next code blocks of all bands of which no row is left.
    fn decode_blocks<T: Sample>(&self, components: &[Mutex<Ready<T>>]) -> Result<(), SourceError> {
        let mut components: Vec<_> =
            components.iter().map(|it| it.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let mut bands: Vec<_> = components
            .iter_mut()
            .flat_map(|ready| ready.component.bands())
            .filter_map(|band| band.wanted().map(|row| (row, band)))
            .collect();
        bands.iter_mut().for_each(|(_, band)| band.free());
        let blocks: Vec<(&BandRows, u32, u32)> = bands
            .iter()
            .flat_map(|(row, band)| (0..band.band.blocks[0]).map(move |column| (&**band, column, *row)))
            .collect();
        let decode = |index: usize| match blocks.get(index) {
            Some(&(band, column, row)) => self.decode_block(band, column, row),
            None => Ok(Vec::new()),
        };
        let mut decoded = in_parallel(blocks.len(), self.threads, decode)?.into_iter();
        for (_, band) in bands {
            let columns = band.band.blocks[0] as usize;
            band.put(decoded.by_ref().take(columns).collect());
        }
        Ok(())
    }

    /// Decodes a code block. One without a coefficient is empty.
    fn decode_block(&self, rows: &BandRows, column: u32, row: u32) -> Result<Vec<i32>, SourceError> {
        let side = |(start, end): (u32, u32)| (end - start) as usize;
        let Some((empty_planes, places)) = self.packets.block(rows.place, [column, row]) else {
            return Ok(Vec::new());
        };
        let style = self.untiled.coding.components.get(rows.place[0]).map(|it| it.style).unwrap_or_default();
        let (mut chunks, mut bytes) = (Vec::new(), Vec::new());
        for (passes, offset, length) in places {
            self.source.append(offset, length, &mut bytes)?;
            chunks.push((passes, length as usize));
        }
        let planes = rows.planes.saturating_sub(u32::from(empty_planes));
        if planes > MOST_PLANES {
            return Err(NAME.unsupported("it has more than 30 bit planes"));
        }
        let block = CodeBlock {
            width: side(rows.band.range(0, column)),
            height: side(rows.band.range(1, row)),
            band: rows.band.kind,
            style,
            planes,
            chunks: &chunks,
            bytes: &bytes,
        };
        Ok(block.decode())
    }
}

/// A component, and its rows that wait for those of others.
struct Ready<T> {
    component: Component<T>,
    rows: Vec<T>,
    count: usize,
}

impl<T: Sample> Ready<T> {
    /// Makes rows until there are so many, or code blocks are missing. Returns how many there are.
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
