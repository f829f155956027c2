//! The rendering's planes, resampled row by row from those of a canvas.

use std::ops::Range;

use edgezoom_geometry::Size;

use crate::plan::Plan;
use crate::rendering::{Colours, Format, Rendering, Turn};

use super::canvas::{Canvas, Kind};
use super::resample::{Axis, BLOCK, Scale, resample};

/// Planes of the output.
pub struct Picture {
    /// Kind of the planes.
    pub kind: Kind,
    /// Size in pixels.
    pub size: Size,
    /// The planes.
    pub planes: Vec<OutPlane>,
    axes: Vec<Axes>,
    sums: Vec<[i16; BLOCK]>,
}

/// Rows of samples without gaps.
pub struct OutPlane {
    /// Width in samples.
    pub width: usize,
    /// The rows.
    pub samples: Vec<u8>,
}

/// The axes of a plane.
struct Axes {
    across: Axis,
    down: Axis,
    /// True if rows are made from the last to the first.
    is_upwards: bool,
    /// Number of rows that were made.
    made: usize,
}

impl Picture {
    /// Prepares the planes of a rendering for those of a canvas.
    pub fn new(rendering: &Rendering, plan: &Plan, canvas: &Canvas) -> Self {
        let Rendering { size, turn, mirrored, .. } = *rendering;
        // A quarter turn is a transposition after a reversal of one axis.
        let (left_right, upside_down) = match turn {
            Turn::None => (mirrored, false),
            Turn::Right => (mirrored, true),
            Turn::Half => (!mirrored, true),
            Turn::Left => (!mirrored, false),
        };
        // JPEG stores chroma halved, too. Other formats need full chroma.
        let keeps_chroma_halved = rendering.format == Format::Jpg && rendering.colours == Colours::Colour;
        let axes: Vec<_> = canvas
            .planes
            .iter()
            .map(|plane| {
                let halvings = if keeps_chroma_halved { plane.halvings } else { 0 };
                let samples = 1.0 / f64::from(1 << plane.halvings);
                let scale = |start: f64, length: f64, pixels: u32, is_reversed: bool| Scale {
                    start: start * samples,
                    length: length * samples,
                    pixels,
                    halvings,
                    is_reversed,
                };
                let window = plan.window;
                let rows = plane.rows.start..(plan.crop.top + plan.crop.height).div_ceil(1 << plane.halvings);
                Axes {
                    across: Axis::new(
                        scale(window.left, window.width, size.width, left_right),
                        &plane.columns,
                    ),
                    down: Axis::new(scale(window.top, window.height, size.height, upside_down), &rows),
                    is_upwards: upside_down,
                    made: 0,
                }
            })
            .collect();
        let planes = axes.iter().map(|axes| {
            let (width, height) = (axes.across.count(), axes.down.count());
            OutPlane { width, samples: vec![0; width * height] }
        });
        Self { kind: canvas.kind, size, planes: planes.collect(), axes, sums: Vec::new() }
    }

    /// Makes all rows that the decoded rows of a canvas suffice for.
    pub fn draw(&mut self, canvas: &Canvas) {
        for ((axes, out), plane) in self.axes.iter_mut().zip(&mut self.planes).zip(&canvas.planes) {
            while let Some((number, inputs)) = axes.next() {
                if inputs.end > plane.rows.end {
                    break;
                }
                let row = |tap: usize| plane.row(inputs.start + tap as u32);
                let to = &mut out.samples[number * out.width..][..out.width];
                let (down, across) = ((&axes.down, number), (&axes.across, plane.columns.start));
                resample(down, across, row, inputs.len(), &mut self.sums, to);
                axes.made += 1;
            }
        }
    }

    /// Drops rows of a canvas that are not needed any more.
    pub fn drop_used_rows(&self, canvas: &mut Canvas) {
        for (axes, plane) in self.axes.iter().zip(&mut canvas.planes) {
            let needed = axes.next().map_or(plane.rows.end, |(_, inputs)| inputs.start);
            plane.drop_rows_above(needed);
        }
    }

    /// Returns the picture after the half of a turn that the axes leave.
    pub fn turned(self, turn: Turn) -> Self {
        if !turn.is_quarter() {
            return self;
        }
        let Size { width, height } = self.size;
        let planes = self.planes.into_iter().map(OutPlane::transposed).collect();
        Self { size: Size { width: height, height: width }, planes, ..self }
    }
}

impl Axes {
    /// Returns the next row of the output, and the rows of the input that it is made from.
    fn next(&self) -> Option<(usize, Range<u32>)> {
        let left = self.down.count().checked_sub(self.made + 1)?;
        let number = if self.is_upwards { left } else { self.made };
        Some((number, self.down.inputs(number)))
    }
}

impl OutPlane {
    /// Iterates over the rows.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.samples.chunks_exact(self.width.max(1))
    }

    /// Returns the plane with rows as columns.
    fn transposed(self) -> Self {
        /// Side of the squares that are transposed at once, so that their rows stay in the cache.
        const SIDE: usize = 32;
        let Self { width, samples } = self;
        let height = samples.len() / width.max(1);
        let mut out = vec![0; samples.len()];
        for top in (0..height).step_by(SIDE) {
            for left in (0..width).step_by(SIDE) {
                for row in top..(top + SIDE).min(height) {
                    for column in left..(left + SIDE).min(width) {
                        out[column * height + row] = samples[row * width + column];
                    }
                }
            }
        }
        Self { width: height, samples: out }
    }
}
