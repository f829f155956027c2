//! The positions of a component's resolutions, bands, precincts and code blocks, and the order of packets.
//!
//! A resolution is a reduced picture. Each but the lowest adds three bands (HL, LH, HH) to the resolution below. A band
//! is divided into code blocks, on a grid that starts at 0, and a resolution into precincts, whose code blocks share a
//! packet.
//!
//! Source: ITU-T T.800, B.5 to B.7, B.12.

use std::ops::Range;

use super::coding::{Coding, ComponentCoding, Order, Parameters};

/// A rectangle. `end` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub start: [u32; 2],
    pub end: [u32; 2],
}

/// A reduced picture.
#[derive(Clone, Debug)]
pub struct Resolution {
    pub area: Area,
    pub precincts: Grid,
    /// LL for the lowest resolution, else HL, LH, HH.
    pub bands: Vec<Band>,
}

/// A band of a resolution.
#[derive(Clone, Debug)]
pub struct Band {
    /// 0 for LL, 1 for HL, 2 for LH, 3 for HH.
    pub kind: u8,
    pub area: Area,
    pub blocks: Grid,
}

/// The cells that an area touches, of a grid that starts at 0.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Width and height of a cell, as exponents of 2.
    exponents: [u8; 2],
    /// Column and row of the first cell.
    first: [u32; 2],
    /// Number of columns and rows.
    pub count: [u32; 2],
}

impl Area {
    pub fn width(&self) -> u32 {
        self.end[0].saturating_sub(self.start[0])
    }

    pub fn height(&self) -> u32 {
        self.end[1].saturating_sub(self.start[1])
    }

    fn is_empty(&self) -> bool {
        self.width() == 0 || self.height() == 0
    }

    fn map(self, change: impl Fn(u32) -> u32) -> Self {
        Self { start: self.start.map(&change), end: self.end.map(change) }
    }
}

/// Returns the resolutions of a component, the lowest first.
pub fn resolutions(component: Area, coding: &ComponentCoding) -> Vec<Resolution> {
    let Parameters { levels, block, precincts, .. } = &coding.parameters;
    (0..=*levels)
        .zip(precincts)
        .map(|(number, &precinct)| {
            let reduction = levels - number;
            let area = component.map(|edge| divided(edge, reduction));
            let is_lowest = number == 0;
            let block = [0, 1].map(|axis| block[axis].min(precinct[axis] - u8::from(!is_lowest)));
            let kinds = if is_lowest { 0..=0 } else { 1..=3 };
            Resolution {
                area,
                precincts: Grid::new(area, precinct),
                bands: kinds.map(|kind| Band::new(component, reduction, kind, block)).collect(),
            }
        })
        .collect()
}

/// Divides an edge by a power of 2, rounding up.
fn divided(edge: u32, exponent: u8) -> u32 {
    ((u64::from(edge) + (1 << exponent) - 1) >> exponent) as u32
}

/// Returns the first cell that a range touches, and the number of cells. The cells' side is a power of 2.
fn cells(start: u32, end: u32, exponent: u8) -> (u32, u32) {
    let first = start >> exponent;
    (first, divided(end, exponent).saturating_sub(first))
}

impl Grid {
    fn new(area: Area, exponents: [u8; 2]) -> Self {
        let [across, down] = [0, 1].map(|axis| cells(area.start[axis], area.end[axis], exponents[axis]));
        let count = if area.is_empty() { [0, 0] } else { [across.1, down.1] };
        Self { exponents, first: [across.0, down.0], count }
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> u64 {
        u64::from(self.count[0]) * u64::from(self.count[1])
    }
}

impl Resolution {
    /// Returns where a precinct begins, in pixels of the picture, which is halved `reduction` times to get this
    /// resolution (B.12.1.3).
    pub fn position(&self, precinct: u32, component: Area, reduction: u8) -> [u32; 2] {
        let place = self.place(precinct);
        [0, 1].map(|axis| {
            let start = u64::from(place[axis]) << self.precincts.exponents[axis];
            if start < u64::from(self.area.start[axis]) {
                component.start[axis]
            } else {
                u32::try_from(start << reduction).unwrap_or(u32::MAX)
            }
        })
    }

    /// Returns a precinct's column and row in the grid.
    fn place(&self, precinct: u32) -> [u32; 2] {
        let Grid { first, count, .. } = &self.precincts;
        let columns = count[0].max(1);
        [first[0] + precinct % columns, first[1] + precinct / columns]
    }

    /// Returns the columns and rows of a band's code blocks that belong to a precinct, counted from the band's first
    /// block.
    pub fn blocks_of(&self, precinct: u32, band: &Band) -> Area {
        let place = self.place(precinct);
        let halved = u8::from(band.kind > 0);
        let mut blocks = Area { start: [0; 2], end: [0; 2] };
        for (axis, &number) in place.iter().enumerate() {
            let side = self.precincts.exponents[axis] - halved;
            let edge = |number: u32| {
                let edge = u64::from(number) << side;
                edge.clamp(u64::from(band.area.start[axis]), u64::from(band.area.end[axis])) as u32
            };
            let (start, end) = (edge(number), edge(number + 1));
            let blocks_there =
                if start < end { cells(start, end, band.blocks.exponents[axis]) } else { (0, 0) };
            blocks.start[axis] = blocks_there.0.saturating_sub(band.blocks.first[axis]);
            blocks.end[axis] = blocks.start[axis] + blocks_there.1;
        }
        if blocks.is_empty() { Area { start: [0; 2], end: [0; 2] } } else { blocks }
    }
}

impl Band {
    fn new(component: Area, reduction: u8, kind: u8, block: [u8; 2]) -> Self {
        // Equation B-15: a band that is high-pass in a direction starts half a step later there.
        let level = if kind == 0 { reduction } else { reduction + 1 };
        let later = |axis: u8| if kind >> axis & 1 == 1 { 1u32 << (level - 1) } else { 0 };
        let offset = [later(0), later(1)];
        let edges = |of: [u32; 2]| [0, 1].map(|axis| divided(of[axis].saturating_sub(offset[axis]), level));
        let area = Area { start: edges(component.start), end: edges(component.end) };
        Self { kind, area, blocks: Grid::new(area, block) }
    }

    /// Returns the start and the end of a column (axis 0) or row (axis 1) of code blocks.
    pub fn range(&self, axis: usize, index: u32) -> (u32, u32) {
        let Grid { exponents, first, .. } = &self.blocks;
        let edge = |index: u32| {
            let edge = u64::from(first[axis] + index) << exponents[axis];
            edge.clamp(u64::from(self.area.start[axis]), u64::from(self.area.end[axis])) as u32
        };
        (edge(index), edge(index + 1))
    }

    /// Returns the number of rows of a full code block.
    pub fn block_height(&self) -> u32 {
        (1 << self.blocks.exponents[1]).min(self.area.height())
    }
}

/// A precinct of a component. It has one packet for each layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precinct {
    pub component: u16,
    pub resolution: u8,
    pub number: u32,
    position: [u32; 2],
}

/// The packets in their order, each as its precinct and layer.
pub struct PacketOrder {
    /// Sorted.
    precincts: Vec<Precinct>,
    order: Order,
    layers: u32,
    /// The precincts that take turns in each layer.
    group: Range<usize>,
    /// Layer and precinct of the next packet.
    layer: u32,
    next: usize,
}

impl PacketOrder {
    /// Bytes of memory for each precinct, sorting included.
    pub const BYTES: u64 = 2 * size_of::<Precinct>() as u64;

    /// Returns the packets of these components. `area` is that of the picture.
    pub fn new(components: &[Vec<Resolution>], area: Area, coding: &Coding) -> Self {
        let mut precincts = Vec::new();
        for (component, resolutions) in (0u16..).zip(components) {
            for (number, resolution) in (0u8..).zip(resolutions) {
                let reduction = resolutions.len() as u8 - 1 - number;
                precincts.extend((0..resolution.precincts.cells() as u32).map(|precinct| Precinct {
                    component,
                    resolution: number,
                    number: precinct,
                    position: resolution.position(precinct, area, reduction),
                }));
            }
        }
        precincts.sort_by_key(|precinct| {
            let Precinct { component, resolution, number, position: [x, y] } = *precinct;
            let (component, resolution) = (u32::from(component), u32::from(resolution));
            match coding.order {
                Order::Layer | Order::Resolution => [resolution, component, number, 0, 0],
                Order::ResolutionPosition => [resolution, y, x, component, number],
                Order::Position => [y, x, component, resolution, number],
                Order::Component => [component, y, x, resolution, number],
            }
        });
        Self { precincts, order: coding.order, layers: coding.layers, group: 0..0, layer: 0, next: 0 }
    }

    /// Goes on to the next layer of the group, or to the next group. Returns false at the end.
    fn turn(&mut self) -> bool {
        self.layer += 1;
        if self.group.is_empty() || self.layer >= self.layers {
            let rest = self.precincts.get(self.group.end..).unwrap_or_default();
            let Some(first) = rest.first() else { return false };
            // In these groups the layer changes slowest.
            let count = match self.order {
                Order::Layer => rest.len(),
                Order::Resolution => rest.partition_point(|it| it.resolution == first.resolution),
                _ => 1,
            };
            self.group = self.group.end..self.group.end + count;
            self.layer = 0;
        }
        self.next = self.group.start;
        true
    }
}

impl Iterator for PacketOrder {
    type Item = (Precinct, u32);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.group.end && !self.turn() {
            return None;
        }
        let precinct = *self.precincts.get(self.next)?;
        self.next += 1;
        Some((precinct, self.layer))
    }
}
