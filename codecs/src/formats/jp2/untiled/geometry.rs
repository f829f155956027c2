//! Where resolutions, bands, precincts and code blocks of a component lie.
//!
//! A resolution is a reduced picture. All but the lowest add three bands to the one below. Each band is divided into code
//! blocks, a grid that begins at 0, and each resolution into precincts, whose code blocks share a packet.
//!
//! Source: ITU-T T.800, B.5 to B.7.

use super::coding::ComponentCoding;

/// A part of a plane: from the first corner to before the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub start: [u32; 2],
    pub end: [u32; 2],
}

/// A reduced picture.
#[derive(Clone, Debug)]
pub struct Resolution {
    pub area: Area,
    /// Width and height of a precinct as exponents of 2, the first one in the grid of all, and how many there are.
    precinct: [u8; 2],
    first_precinct: [u32; 2],
    pub precincts: [u32; 2],
    /// The low band of the lowest resolution; else those that are high across, down, and both.
    pub bands: Vec<Band>,
}

/// A band, and its code blocks.
#[derive(Clone, Debug)]
pub struct Band {
    /// Which one of its resolution: 0 is the low one, 1 high across, 2 down, 3 both.
    pub kind: u8,
    pub area: Area,
    /// Width and height of a code block as exponents of 2, the first one in the grid of all, and how many there are.
    block: [u8; 2],
    first_block: [u32; 2],
    pub blocks: [u32; 2],
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

/// The resolutions of a component, the lowest one first.
pub fn resolutions(component: Area, coding: &ComponentCoding) -> Vec<Resolution> {
    (0..=coding.levels)
        .zip(&coding.precincts)
        .map(|(number, &precinct)| {
            let reduction = coding.levels - number;
            let area = component.map(|edge| divided(edge, reduction));
            let [across, down] = [0, 1].map(|axis| grid(area.start[axis], area.end[axis], precinct[axis]));
            let is_lowest = number == 0;
            let block = [0, 1].map(|axis| coding.block[axis].min(precinct[axis] - u8::from(!is_lowest)));
            let kinds = if is_lowest { 0..=0 } else { 1..=3 };
            Resolution {
                area,
                precinct,
                first_precinct: [across.0, down.0],
                precincts: if area.is_empty() { [0, 0] } else { [across.1, down.1] },
                bands: kinds.map(|kind| Band::new(component, reduction, kind, block)).collect(),
            }
        })
        .collect()
}

/// An edge divided by a power of 2, rounded up.
fn divided(edge: u32, exponent: u8) -> u32 {
    // The result is no larger than the edge.
    ((u64::from(edge) + (1 << exponent) - 1) >> exponent) as u32
}

/// The first of the cells, of a side that is a power of 2, that a range touches, and how many it touches.
fn grid(start: u32, end: u32, exponent: u8) -> (u32, u32) {
    let first = start >> exponent;
    (first, divided(end, exponent).saturating_sub(first))
}

impl Resolution {
    /// The number of precincts.
    pub fn precinct_count(&self) -> u64 {
        u64::from(self.precincts[0]) * u64::from(self.precincts[1])
    }

    /// Where a precinct begins, in pixels of a picture that is so many times halved to make this resolution (B.12.1.3).
    pub fn position(&self, precinct: u32, component: Area, reduction: u8) -> [u32; 2] {
        let place = self.place(precinct);
        [0, 1].map(|axis| {
            let start = u64::from(place[axis]) << self.precinct[axis];
            if start < u64::from(self.area.start[axis]) {
                component.start[axis]
            } else {
                u32::try_from(start << reduction).unwrap_or(u32::MAX)
            }
        })
    }

    /// A precinct's column and row in the grid of all.
    fn place(&self, precinct: u32) -> [u32; 2] {
        let columns = self.precincts[0].max(1);
        [self.first_precinct[0] + precinct % columns, self.first_precinct[1] + precinct / columns]
    }

    /// The code blocks of a band that belong to a precinct: its columns and rows of them, counted from the band's first.
    pub fn blocks_of(&self, precinct: u32, band: &Band) -> Area {
        let place = self.place(precinct);
        let halved = u8::from(band.kind > 0);
        let mut blocks = Area { start: [0; 2], end: [0; 2] };
        for (axis, &number) in place.iter().enumerate() {
            let side = self.precinct[axis] - halved;
            let edge = |number: u32| {
                let edge = u64::from(number) << side;
                edge.clamp(u64::from(band.area.start[axis]), u64::from(band.area.end[axis])) as u32
            };
            let (start, end) = (edge(number), edge(number + 1));
            let (first, count) = if start < end { grid(start, end, band.block[axis]) } else { (0, 0) };
            blocks.start[axis] = first.saturating_sub(band.first_block[axis]);
            blocks.end[axis] = blocks.start[axis] + count;
        }
        if blocks.is_empty() { Area { start: [0; 2], end: [0; 2] } } else { blocks }
    }
}

impl Band {
    fn new(component: Area, reduction: u8, kind: u8, block: [u8; 2]) -> Self {
        // Equation B-15: what is high in a direction begins half a step later.
        let level = if kind == 0 { reduction } else { reduction + 1 };
        let later = |axis: u8| if kind >> axis & 1 == 1 { 1u32 << (level - 1) } else { 0 };
        let offset = [later(0), later(1)];
        let edges = |of: [u32; 2]| [0, 1].map(|axis| divided(of[axis].saturating_sub(offset[axis]), level));
        let area = Area { start: edges(component.start), end: edges(component.end) };
        let [across, down] = [0, 1].map(|axis| grid(area.start[axis], area.end[axis], block[axis]));
        let blocks = if area.is_empty() { [0, 0] } else { [across.1, down.1] };
        Self { kind, area, block, first_block: [across.0, down.0], blocks }
    }

    /// The number of code blocks.
    pub fn block_count(&self) -> u64 {
        u64::from(self.blocks[0]) * u64::from(self.blocks[1])
    }

    /// Where a column (axis 0) or row (axis 1) of code blocks begins and ends.
    pub fn range(&self, axis: usize, index: u32) -> (u32, u32) {
        let edge = |index: u32| {
            let edge = u64::from(self.first_block[axis] + index) << self.block[axis];
            edge.clamp(u64::from(self.area.start[axis]), u64::from(self.area.end[axis])) as u32
        };
        (edge(index), edge(index + 1))
    }

    /// The rows of a full code block.
    pub fn block_height(&self) -> u32 {
        (1 << self.block[1]).min(self.area.height())
    }
}
