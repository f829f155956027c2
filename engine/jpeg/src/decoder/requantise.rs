//! Tiles from a picture's own blocks: their coefficients are quantised again, so they are neither transformed into samples nor
//! back. The level below is transformed from the same coefficients at half the size.
//!
//! ```text
//!                            ┌─▶ quantise ─▶ tokens      pieces of tiles
//! chunk ─▶ coefficients × 8 ─┤
//!                            └─▶ idct, 4×4 of a block    samples of the level below
//! ```

use std::ops::Range;

use edgezoom_geometry::Orientation;

use super::chunk::{Chunk, MCUS, Plan};
use super::coefficients::{BLOCKS, Group};
use super::frame::{Colours, Frame};
use super::idct::{SAMPLES, Steps, inverse_halved};
use super::planes::{Place, Segment, scatter};
use crate::encoder::Piece;
use crate::encoder::tokens::PieceMaker;
use crate::encoder::transform::{Coefficients, Each, Quantiser, Transformed, quantise, transform};
use crate::quantisation::Quantisation;
use crate::tables::ZIGZAG;
use crate::vectors::with_vectors;

/// Bounds of the first coefficient of a block, and of the others, that a baseline file can store at any step.
const BOUNDS: [(i16, i16); 2] = [(-1024, 1023), (-1023, 1023)];

/// Tiles that consist of a picture's blocks.
#[derive(Clone, Debug)]
pub struct TileBlocks {
    /// Steps of the upright tiles.
    pub quantisation: Quantisation,
    /// Width and height of a tile in pixels.
    pub side: u32,
    /// Orientation of the picture. A side that is counted from its end must consist of whole MCUs.
    pub orientation: Orientation,
}

/// Quantises the blocks of a picture for tiles.
pub struct Requantiser {
    /// Of each component.
    dequantisers: Vec<[Factor; 64]>,
    tiling: Tiling,
}

/// Quantises blocks for tiles, and cuts rows of MCUs into pieces of tiles.
struct Tiling {
    /// Of luma and chroma.
    quantisers: [Quantiser; 2],
    /// The stored number of each block of an upright MCU.
    blocks: Vec<usize>,
    is_turned: bool,
    /// MCUs of a tile across.
    tile_mcus: u32,
    /// Number of MCUs by which the first tile of a row is narrower than the others.
    missing: u32,
}

/// Multiplies a coefficient by its step.
#[derive(Clone, Copy)]
struct Factor {
    step: i16,
    /// Larger values, which only damaged files have, would overflow.
    limit: i16,
    /// Bounds of the product.
    bounds: (i16, i16),
}

/// Memory that is reused from chunk to chunk.
#[derive(Default)]
pub struct Workspace {
    values: Each<i16>,
    /// Number from which on `values` are zero.
    end: usize,
    /// Coefficients of the groups of a set.
    quantised: Vec<Coefficients>,
    maker: PieceMaker,
}

impl Requantiser {
    /// Returns `None` if tiles of this side do not consist of whole MCUs, or the picture is neither grey nor YCbCr 4:2:0.
    #[must_use]
    pub fn new(frame: &Frame, tiles: &TileBlocks) -> Option<Self> {
        let is_grey = frame.colours == Colours::Grey && frame.most_blocks() == (1, 1);
        let mcu_side = if is_grey { 8 } else { 16 };
        let has_small_steps =
            frame.components.iter().flat_map(|component| component.steps.iter()).all(|&step| step <= 255);
        let is_possible = (is_grey || frame.is_ycbcr420())
            && tiles.side >= mcu_side
            && tiles.side.is_multiple_of(mcu_side)
            && has_small_steps;
        let dequantisers =
            frame.components.iter().map(|component| Factor::of_steps(&component.steps)).collect();
        is_possible.then(|| {
            let tiling = Tiling::new(tiles, &Plan::new(frame), tiles.side / mcu_side, frame.mcus().0);
            Self { dequantisers, tiling }
        })
    }
}

impl Tiling {
    /// `across` is the number of MCUs of a stored row.
    fn new(tiles: &TileBlocks, plan: &Plan, tile_mcus: u32, across: u32) -> Self {
        let orientation = tiles.orientation;
        let missing = if orientation.from_right { across.next_multiple_of(tile_mcus) - across } else { 0 };
        Self {
            quantisers: [0, 1].map(|kind| Quantiser::turning(orientation, &tiles.quantisation, kind)),
            blocks: plan
                .components
                .iter()
                .flat_map(|plane| {
                    let cells = orientation.cells((plane.down, plane.across));
                    cells.map(move |(row, column)| plane.group + row * plane.across + column)
                })
                .collect(),
            is_turned: orientation != Orientation::UPRIGHT,
            tile_mcus,
            missing,
        }
    }
}

/// Makes pieces of tiles of rows of samples.
pub struct SampleTiler {
    plan: Plan,
    tiling: Tiling,
    /// MCUs of a row.
    across: u32,
    transformed: Transformed,
    quantised: Vec<Coefficients>,
    maker: PieceMaker,
}

impl SampleTiler {
    /// Makes a tiler of a stored picture of this width, in grey or YCbCr 4:2:0.
    #[must_use]
    pub fn new(tiles: &TileBlocks, width: u32, is_grey: bool) -> Self {
        let (plan, mcu_side) = if is_grey {
            (Plan::of_sampling([(1, 1)]), 8)
        } else {
            (Plan::of_sampling([(2, 2), (1, 1), (1, 1)]), 16)
        };
        let across = width.div_ceil(mcu_side);
        let tiling = Tiling::new(tiles, &plan, tiles.side / mcu_side, across);
        let quantised = (0..plan.groups()).map(|_| Coefficients::default()).collect();
        Self {
            plan,
            tiling,
            across,
            transformed: Transformed::default(),
            quantised,
            maker: PieceMaker::default(),
        }
    }

    /// Returns the pieces of a row of MCUs. `samples` returns a component's row of samples.
    pub fn pieces<'a>(&mut self, samples: impl Fn(usize, usize) -> &'a [u8]) -> Vec<Piece> {
        let Self { plan, tiling, across, transformed, quantised, maker } = self;
        let mut segments = [Segment::without_samples(0..*across)];
        let mut pieces = Pieces::new(&segments, maker, tiling);
        for first in (0..*across as usize).step_by(MCUS) {
            for (number, plane) in plan.components.iter().enumerate() {
                for down in 0..plane.down {
                    for part in 0..plane.across {
                        let left = first * 8 * plane.across + part * SAMPLES;
                        let rows: [[u8; SAMPLES]; 8] = std::array::from_fn(|row| {
                            let all = samples(number, 8 * down + row);
                            std::array::from_fn(|at| {
                                all.get(left + at).or(all.last()).copied().unwrap_or_default()
                            })
                        });
                        let out = &mut quantised[plane.group + down * plane.across + part];
                        let quantiser = &tiling.quantisers[number.min(1)];
                        with_vectors!(simd => transform(simd, rows.each_ref(), quantiser, transformed, out));
                    }
                }
            }
            let mcus = first..(first + MCUS).min(*across as usize);
            with_vectors!(_simd => pieces.add(mcus, plan, quantised, &mut segments));
        }
        let [segment] = segments;
        segment.pieces
    }
}

impl Factor {
    fn of_steps(steps: &Steps) -> [Self; 64] {
        std::array::from_fn(|number| {
            let (step, bounds) = (steps[number] as i16, BOUNDS[number.min(1)]);
            Self { step, limit: bounds.1 / step.max(1) + 1, bounds }
        })
    }
}

/// Makes pieces of tiles, and samples of half the size, of the MCUs of a chunk that count. The first has this number in the
/// picture.
pub fn requantise(
    frame: &Frame,
    plan: &Plan,
    chunk: &Chunk,
    number: u32,
    requantiser: &Requantiser,
    workspace: &mut Workspace,
) -> Vec<Segment> {
    let mut segments = Segment::of_chunk(frame, plan, chunk, number, 4);
    let Workspace { values, end, quantised, maker } = workspace;
    let Requantiser { dequantisers, tiling } = requantiser;
    quantised.resize_with(plan.groups(), Coefficients::default);
    let mut pieces = Pieces::new(&segments, maker, tiling);
    for (set, groups) in chunk.sets() {
        with_vectors!(simd => {
            for (number, (plane, factors)) in plan.components.iter().zip(dequantisers).enumerate() {
                let quantiser = &tiling.quantisers[number.min(1)];
                for down in 0..plane.down {
                    for part in 0..plane.across {
                        let index = plane.group + down * plane.across + part;
                        *end = dequantise(&groups[index], factors, values, *end);
                        let mut out = [[0; SAMPLES / 2]; 4];
                        inverse_halved(simd, &values.0, *end, &mut out);
                        scatter(&out, Place { chunk, set, plane, down, part }, &mut segments);
                        let end = if tiling.is_turned { DIAGONAL_ENDS[*end] } else { *end };
                        quantise(values, end, quantiser, &mut quantised[index]);
                    }
                }
            }
            let mcus = chunk.first.max(set * MCUS)..chunk.mcus.min((set + 1) * MCUS);
            pieces.add(mcus, plan, quantised, &mut segments);
        });
    }
    segments
}

/// For each number of coefficients in zigzag order, the number of those on their diagonals, which a turn exchanges.
const DIAGONAL_ENDS: [usize; 65] = {
    let mut ends = [0; 65];
    let mut end = 64;
    while end > 0 {
        let place = ZIGZAG[end - 1];
        let is_last = end == 64 || place / 8 + place % 8 != ZIGZAG[end] / 8 + ZIGZAG[end] % 8;
        ends[end] = if is_last { end } else { ends[end + 1] };
        end -= 1;
    }
    ends
};

/// Multiplies the coefficients of a group by their steps, and by 8. In `out`, those from the number `end_before` on are zero. Returns
/// the number from which on they are now.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn dequantise(group: &Group, factors: &[Factor; 64], out: &mut Each<i16>, end_before: usize) -> usize {
    let end = group.end();
    for &place in ZIGZAG.iter().take(end_before).skip(end) {
        out.0[place] = [0; BLOCKS];
    }
    for ((values, factor), &place) in group.rows().iter().zip(factors).zip(&ZIGZAG).take(end) {
        let to = &mut out.0[place];
        let Factor { step, limit, bounds: (least, most) } = *factor;
        for block in 0..BLOCKS {
            to[block] = (values[block].clamp(-limit, limit) * step).clamp(least, most) * 8;
        }
    }
    end
}

/// Cuts the MCUs of segments into pieces of tiles.
struct Pieces<'a> {
    maker: &'a mut PieceMaker,
    tiling: &'a Tiling,
    /// The segment of the next MCU, and that MCU's column.
    segment: usize,
    column: u32,
    /// Column of the first MCU of the piece.
    begin: u32,
}

impl<'a> Pieces<'a> {
    fn new(segments: &[Segment], maker: &'a mut PieceMaker, tiling: &'a Tiling) -> Self {
        let begin = segments.first().map_or(0, |segment| segment.mcus.start);
        Self { maker, tiling, segment: 0, column: begin, begin }
    }

    /// Adds MCUs of a set.
    #[inline(always)]
    fn add(&mut self, mcus: Range<usize>, plan: &Plan, set: &[Coefficients], segments: &mut [Segment]) {
        self.maker.reserve(MCUS * plan.groups());
        for mcu in mcus {
            for &number in &self.tiling.blocks {
                let block = &plan.blocks[number];
                let (group, index) = block.place(mcu % MCUS);
                self.maker.block(block.component, &set[group], index);
            }
            self.end_mcu(segments);
        }
    }

    /// Counts an MCU, and ends the piece if it was the last one of a tile or of a segment.
    #[inline(always)]
    fn end_mcu(&mut self, segments: &mut [Segment]) {
        self.column += 1;
        let Some(segment) = segments.get_mut(self.segment) else { return };
        let is_last = self.column == segment.mcus.end;
        let is_end = is_last || (self.column + self.tiling.missing).is_multiple_of(self.tiling.tile_mcus);
        if is_end || self.tiling.is_turned {
            self.maker.end_run();
        }
        if !is_end {
            return;
        }
        segment.pieces.push(self.maker.finish(self.begin..self.column));
        if is_last {
            self.segment += 1;
            self.column = segments.get(self.segment).map_or(0, |segment| segment.mcus.start);
        }
        self.begin = self.column;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use mozjpeg::{ColorSpace, Compress, Decompress};

    use super::*;
    use crate::decoder::frame;
    use crate::decoder::mcu_rows::McuRows;
    use crate::decoder::pipeline::Pipeline;

    fn jpeg(width: usize, height: usize, quality: f32, pixels: &[u8]) -> Vec<u8> {
        let mut encoder = Compress::new(ColorSpace::JCS_GRAYSCALE);
        encoder.set_size(width, height);
        encoder.set_fastest_defaults();
        encoder.set_quality(quality);
        let mut encoder = encoder.start_compress(Vec::new()).unwrap();
        encoder.write_scanlines(pixels).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn samples_of_half_the_size_are_those_of_libjpeg() {
        for (width, height) in [(8, 8), (333, 77), (1001, 640)] {
            let random = |at: usize| (at as u32).wrapping_mul(2_654_435_769) >> 24;
            let noise: Vec<_> = (0..width * height).map(|at| random(at) as u8).collect();
            let edges: Vec<_> = noise.iter().map(|value| if *value > 200 { 255 } else { 0 }).collect();
            let soft: Vec<_> =
                (0..width * height).map(|at| (at % width / 3 + at / width / 2) as u8).collect();
            for pixels in [noise, edges, soft] {
                for quality in [30.0, 75.0, 98.0] {
                    let file = jpeg(width, height, quality, &pixels);
                    let mut decoder = Decompress::new_mem(&file).unwrap();
                    decoder.scale(4);
                    let expected: Vec<u8> = decoder.grayscale().unwrap().read_scanlines().unwrap();

                    let frame = frame::read(&mut file.as_slice()).unwrap().unwrap();
                    let tiles = TileBlocks {
                        quantisation: Quantisation::of_quality(82, true),
                        side: 64,
                        orientation: Orientation::UPRIGHT,
                    };
                    let requantiser = Requantiser::new(&frame, &tiles);
                    assert!(requantiser.is_some());
                    let scan = Cursor::new(file[frame.header_bytes as usize..].to_vec());
                    let mut rows = McuRows::new(Pipeline::start_with(requantiser, frame, scan, 2).unwrap());
                    let mut halved = vec![0; width.div_ceil(2) * height.div_ceil(2)];
                    for band in halved.chunks_mut(width.div_ceil(2) * 4) {
                        rows.read(|plan, segment| {
                            segment.copy_to(plan, 0, band.chunks_exact_mut(width.div_ceil(2)));
                        })
                        .unwrap();
                    }
                    assert!(halved == expected, "{width}×{height}, quality {quality}");
                }
            }
        }
    }
}
