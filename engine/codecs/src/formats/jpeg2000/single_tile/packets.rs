//! Reads the headers of all packets and records where the bytes of each code block are. The bytes themselves are read
//! when the code block is decoded.
//!
//! Source: ITU-T T.800, B.9 and B.10.

use super::coding::{Coding, Style};
use super::geometry::{Area, Band, PacketOrder, Resolution};
use super::stream::{Bits, Stream};
use crate::SourceError;
use crate::formats::jpeg2000::source::NAME;

/// Marker codes (ITU-T T.800, table A.2).
const SOP: u8 = 0x91;
const EPH: u8 = 0x92;
/// Bytes of an SOP segment after the marker.
const SOP_BYTES: u64 = 4;

/// The largest number of coding passes of a block, which 38 bit planes have.
const MOST_PASSES: u32 = 1 + 3 * 37;
/// The largest number of bits of a chunk's length.
const MOST_LENGTH_BITS: u32 = 24;
/// The index of no chunk.
const NONE: u32 = u32::MAX;

/// The code blocks of all components, by component, resolution and band.
pub struct Packets {
    blocks: Vec<Vec<Vec<BandBlocks>>>,
    chunks: Vec<Chunk>,
    most_chunks: usize,
    /// True if a packet is invalid or cut off.
    pub is_damaged: bool,
}

struct BandBlocks {
    columns: u32,
    blocks: Vec<Block>,
    /// The tag trees of each precinct whose packets are not all read: the layers in which blocks are first included,
    /// and the blocks' number of empty bit planes.
    trees: Vec<Option<Box<[TagTree; 2]>>>,
}

/// A code block, as far as packets have been read.
#[derive(Clone, Copy)]
struct Block {
    /// The first and the last chunk of a linked list.
    first: u32,
    last: u32,
    /// Number of bit planes without any bit.
    empty_planes: u8,
    /// Number of passes so far.
    passes: u8,
    length_bits: u8,
}

/// Some passes of a code block, with the position of their bytes.
#[derive(Clone, Copy)]
struct Chunk {
    /// The offset in the file, with the length in the low [`MOST_LENGTH_BITS`] bits.
    place: u64,
    next: u32,
    passes: u8,
}

impl Packets {
    /// Bytes of memory for a code block with its part of the tag trees.
    pub const BLOCK_BYTES: u64 = 12 + 12;
    /// Bytes of memory for a precinct.
    pub const PRECINCT_BYTES: u64 = 3 * 8 + 200;
    /// Bytes of memory for a chunk, in a vector that grows.
    pub const CHUNK_BYTES: u64 = 40;

    /// Returns the code blocks of these components before the first packet. Reading more chunks than `most_chunks`
    /// fails.
    pub fn new(components: &[Vec<Resolution>], most_chunks: u64) -> Self {
        let band = |resolution: &Resolution, band: &Band| BandBlocks {
            columns: band.blocks.count[0],
            blocks: vec![Block::NONE; band.blocks.cells() as usize],
            trees: (0..resolution.precincts.cells()).map(|_| None).collect(),
        };
        let resolution =
            |it: &Resolution| -> Vec<_> { it.bands.iter().map(|found| band(it, found)).collect() };
        let blocks = components.iter().map(|it| it.iter().map(resolution).collect()).collect();
        let most_chunks = usize::try_from(most_chunks).unwrap_or(usize::MAX).min(NONE as usize);
        Self { blocks, chunks: Vec::new(), most_chunks, is_damaged: false }
    }

    /// Returns true if no packet has a code block.
    pub fn is_empty(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.passes == 0)
    }

    /// Reads the packets of a tile. Each stream is a tile-part without its header. Returns true if no packet is
    /// missing.
    pub fn read<'a>(
        &mut self,
        components: &[Vec<Resolution>],
        coding: &Coding,
        mut packets: PacketOrder,
        streams: impl Iterator<Item = Result<Stream<'a>, SourceError>>,
    ) -> Result<bool, SourceError> {
        for stream in streams {
            let mut stream = match stream {
                Err(SourceError::Corrupt { .. }) => {
                    self.is_damaged = true;
                    return Ok(false);
                }
                stream => stream?,
            };
            while !stream.is_at_end() {
                let Some((precinct, layer)) = packets.next() else { return Ok(true) };
                let component = usize::from(precinct.component);
                let resolution = usize::from(precinct.resolution);
                let (Some(shape), Some(style)) = (
                    components.get(component).and_then(|it| it.get(resolution)),
                    coding.components.get(component).map(|it| it.parameters.style),
                ) else {
                    return Ok(true);
                };
                let packet = Packet { resolution: shape, precinct: precinct.number, layer, style, coding };
                match self.read_packet(component, resolution, packet, &mut stream) {
                    Ok(()) => {}
                    // The blocks are shown as far as they were read.
                    Err(SourceError::Corrupt { .. }) => {
                        self.is_damaged = true;
                        return Ok(false);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(packets.next().is_none())
    }

    fn read_packet(
        &mut self,
        component: usize,
        resolution: usize,
        packet: Packet<'_>,
        stream: &mut Stream<'_>,
    ) -> Result<(), SourceError> {
        let coding = packet.coding;
        if coding.has_start_markers {
            stream.pass_marker(SOP, SOP_BYTES)?;
        }
        let first_chunk = self.chunks.len();
        let header = self.read_header(component, resolution, &packet, stream);
        for chunk in self.chunks.iter_mut().skip(first_chunk) {
            let (length, start) = (chunk.place, stream.position);
            let is_there = header.is_ok() && stream.pass(length) == length;
            // A block is decoded without the bytes that are cut off.
            self.is_damaged |= !is_there;
            chunk.place = if is_there { start << MOST_LENGTH_BITS | length } else { 0 };
            chunk.passes = if is_there { chunk.passes } else { 0 };
        }
        header
    }

    /// Reads a packet's header. It adds chunks with a length, still without an offset.
    fn read_header(
        &mut self,
        component: usize,
        resolution: usize,
        packet: &Packet<'_>,
        stream: &mut Stream<'_>,
    ) -> Result<(), SourceError> {
        let mut bits = Bits::new(stream);
        if bits.bit()? {
            let bands = self.blocks.get_mut(component).and_then(|it| it.get_mut(resolution));
            for (shape, band) in packet.resolution.bands.iter().zip(bands.into_iter().flatten()) {
                let area = packet.resolution.blocks_of(packet.precinct, shape);
                if area.width() > 0 {
                    band.read(packet, area, &mut bits, (&mut self.chunks, self.most_chunks))?;
                }
            }
        }
        bits.finish()?;
        if packet.coding.has_end_markers {
            stream.pass_marker(EPH, 0)?;
        }
        Ok(())
    }

    /// Returns the number of a code block's empty bit planes, and its chunks: passes, offset in the file, length.
    pub fn block(
        &self,
        [component, resolution, band]: [usize; 3],
        [column, row]: [u32; 2],
    ) -> Option<(u8, impl Iterator<Item = (u32, u64, u64)>)> {
        let band = self.blocks.get(component)?.get(resolution)?.get(band)?;
        let block = *band.blocks.get((row * band.columns + column) as usize)?;
        let mut next = block.first;
        let chunks = std::iter::from_fn(move || {
            let chunk = self.chunks.get(next as usize)?;
            next = chunk.next;
            let length = chunk.place & ((1 << MOST_LENGTH_BITS) - 1);
            Some((u32::from(chunk.passes), chunk.place >> MOST_LENGTH_BITS, length))
        });
        (block.passes > 0).then_some((block.empty_planes, chunks))
    }
}

/// The packet that is being read.
struct Packet<'a> {
    resolution: &'a Resolution,
    precinct: u32,
    layer: u32,
    style: Style,
    coding: &'a Coding,
}

impl BandBlocks {
    /// Reads the part of a packet's header that is about this band.
    fn read(
        &mut self,
        packet: &Packet<'_>,
        area: Area,
        bits: &mut Bits<'_, '_>,
        (chunks, most_chunks): (&mut Vec<Chunk>, usize),
    ) -> Result<(), SourceError> {
        let Some(trees) = self.trees.get_mut(packet.precinct as usize) else { return Ok(()) };
        let new = || Box::new([0; 2].map(|_| TagTree::new(area.width(), area.height())));
        let [inclusion, empty_planes] = &mut **trees.get_or_insert_with(new);
        for row in area.start[1]..area.end[1] {
            for column in area.start[0]..area.end[0] {
                let place = [column - area.start[0], row - area.start[1]];
                let Some(block) = self.blocks.get_mut((row * self.columns + column) as usize) else {
                    return Ok(());
                };
                let is_included = match block.passes {
                    0 => inclusion.is_below(place, packet.layer + 1, bits)?,
                    _ => bits.bit()?,
                };
                if !is_included {
                    continue;
                }
                if block.passes == 0 {
                    let mut planes = 0;
                    while !empty_planes.is_below(place, u32::from(planes) + 1, bits)? {
                        planes = u8::checked_add(planes, 1).ok_or_else(invalid)?;
                    }
                    block.empty_planes = planes;
                }
                if chunks.len() + MOST_PASSES as usize > most_chunks {
                    return Err(SourceError::OutOfMemory);
                }
                block.read(packet.style, bits, chunks)?;
            }
        }
        if packet.layer + 1 == packet.coding.layers {
            *trees = None;
        }
        Ok(())
    }
}

impl Block {
    const NONE: Self = Self { first: NONE, last: NONE, empty_planes: 0, passes: 0, length_bits: 3 };

    /// Reads the number of passes that a packet has of this block, and their lengths (B.10.6, B.10.7).
    fn read(
        &mut self,
        style: Style,
        bits: &mut Bits<'_, '_>,
        chunks: &mut Vec<Chunk>,
    ) -> Result<(), SourceError> {
        let mut left = read_passes(bits)?;
        while bits.bit()? {
            self.length_bits += 1;
            if u32::from(self.length_bits) > MOST_LENGTH_BITS {
                return Err(invalid());
            }
        }
        while left > 0 {
            let before = u32::from(self.passes);
            let passes = left.min(style.segment_end(before) - before);
            if before + passes > MOST_PASSES {
                return Err(invalid());
            }
            let length_bits = u32::from(self.length_bits) + passes.ilog2();
            let length = bits.number(length_bits.min(32))?;
            if length >= 1 << MOST_LENGTH_BITS {
                return Err(invalid());
            }
            let number = chunks.len() as u32;
            chunks.push(Chunk { place: u64::from(length), next: NONE, passes: passes as u8 });
            match chunks.get_mut(self.last as usize) {
                Some(last) => last.next = number,
                None => self.first = number,
            }
            self.last = number;
            self.passes = (before + passes) as u8;
            left -= passes;
        }
        Ok(())
    }
}

impl Style {
    /// Returns the end of the segment that contains a pass, as the number of the next segment's first pass (ITU-T
    /// T.800, D.4.2, table D.9).
    pub fn segment_end(self, pass: u32) -> u32 {
        match pass {
            _ if self.terminates => pass + 1,
            _ if !self.bypass => u32::MAX,
            0..10 => 10,
            _ if pass % 3 == 1 => pass + 2,
            _ => pass + 1,
        }
    }
}

/// Reads a number of passes (ITU-T T.800, table B.4).
fn read_passes(bits: &mut Bits<'_, '_>) -> Result<u32, SourceError> {
    for (length, base) in [(1, 1), (1, 2)] {
        if bits.number(length)? == 0 {
            return Ok(base);
        }
    }
    for (length, base) in [(2, 3), (5, 6), (7, 37)] {
        let number = bits.number(length)?;
        if number != (1 << length) - 1 || length == 7 {
            return Ok(base + number);
        }
    }
    Err(invalid())
}

fn invalid() -> SourceError {
    SourceError::corrupt(NAME, "a packet is invalid")
}

/// A tag tree (ITU-T T.800, B.10.2): a number for each code block of a precinct. A packet's header tells only as much
/// about a number as the packet needs. Each node is the minimum of the up to four nodes below.
pub struct TagTree {
    /// Number of columns of each level, and index of its first node. The leaves' level comes first.
    levels: Vec<(u32, u32)>,
    nodes: Vec<Node>,
}

/// A number that is at least `least`, and exactly `least` if it is known.
#[derive(Clone, Copy, Default)]
struct Node {
    least: u16,
    is_known: bool,
}

impl TagTree {
    pub fn new(columns: u32, rows: u32) -> Self {
        let (mut columns, mut rows, mut count) = (columns, rows, 0);
        let mut levels = Vec::new();
        loop {
            levels.push((columns, count));
            count += columns * rows;
            if columns * rows <= 1 {
                break;
            }
            (columns, rows) = (columns.div_ceil(2), rows.div_ceil(2));
        }
        Self { levels, nodes: vec![Node::default(); count as usize] }
    }

    /// Reads until it is certain whether a leaf's number is below a limit, and returns true if it is.
    pub fn is_below(
        &mut self,
        [column, row]: [u32; 2],
        limit: u32,
        bits: &mut Bits<'_, '_>,
    ) -> Result<bool, SourceError> {
        let mut least = 0;
        let mut is_below = false;
        for (level, &(columns, first)) in self.levels.iter().enumerate().rev() {
            let index = first + (row >> level) * columns + (column >> level);
            let Some(node) = self.nodes.get_mut(index as usize) else { return Ok(false) };
            if !node.is_known {
                node.least = node.least.max(least);
            }
            while !node.is_known && u32::from(node.least) < limit {
                if bits.bit()? {
                    node.is_known = true;
                } else {
                    node.least = node.least.saturating_add(1);
                }
            }
            least = node.least;
            is_below = node.is_known && u32::from(node.least) < limit;
        }
        Ok(is_below)
    }
}
