//! Samples of a chunk's MCUs, in rows of MCUs as the picture has them.

use std::ops::Range;

use super::chunk::{Chunk, ComponentPlan, MCUS, Plan};
use super::coefficients::BLOCKS;
use super::frame::Frame;
use super::idct::{SAMPLES, inverse};
use crate::encoder::Piece;
use crate::vectors::with_vectors;
use crate::ycbcr420::PairMut;

/// Samples of consecutive MCUs of a row.
#[derive(Default)]
pub struct Segment {
    /// The row of MCUs in the picture.
    pub row: u32,
    /// The MCUs of the row.
    pub mcus: Range<u32>,
    /// The planes of all components, one after the other, each in rows without gaps.
    samples: Vec<u8>,
    /// Rows and columns of samples of a block: 8, or 4 if the samples are of half the size.
    side: usize,
    /// The blocks themselves, if they were asked for.
    pub pieces: Vec<Piece>,
}

impl Segment {
    /// Returns a whole row of MCUs without samples.
    pub fn empty(row: u32, across: u32, plan: &Plan) -> Self {
        Self::with_side(8, row, 0..across, plan)
    }

    /// Returns MCUs of a row without samples.
    pub(super) fn without_samples(mcus: Range<u32>) -> Self {
        Self { mcus, ..Self::default() }
    }

    fn with_side(side: usize, row: u32, mcus: Range<u32>, plan: &Plan) -> Self {
        let samples = vec![0; mcus.len() * plan.groups() * side * side];
        Self { row, mcus, samples, side, pieces: Vec::new() }
    }

    /// Returns the segments without samples of the MCUs of a chunk that count, of which the first has this number in
    /// the picture.
    pub(super) fn of_chunk(frame: &Frame, plan: &Plan, chunk: &Chunk, number: u32, side: usize) -> Vec<Self> {
        let (across, _) = frame.mcus();
        let mut segments = Vec::new();
        let mut at = number;
        let end = number + (chunk.mcus - chunk.first) as u32;
        while at < end {
            let (row, from) = (at / across, at % across);
            let to = (from + end - at).min(across);
            segments.push(Self::with_side(side, row, from..to, plan));
            at += to - from;
        }
        segments
    }

    /// Returns the rows of a component's plane.
    pub fn rows_mut(&mut self, plan: &Plan, component: usize) -> impl Iterator<Item = &mut [u8]> {
        let count = self.mcus.len();
        let (group, across, down) =
            plan.components.get(component).map_or((0, 1, 0), |plane| (plane.group, plane.across, plane.down));
        let before = count * self.side * self.side * group;
        self.samples[before..].chunks_exact_mut(self.side * across * count).take(self.side * down)
    }

    /// Returns the rows of a component's plane, and the column of the picture's plane where they begin.
    pub fn rows(&self, plan: &Plan, component: usize) -> (usize, impl Iterator<Item = &[u8]>) {
        let (count, side) = (self.mcus.len(), self.side);
        let (group, across, down) =
            plan.components.get(component).map_or((0, 1, 0), |plane| (plane.group, plane.across, plane.down));
        let (before, left) = (count * side * side * group, side * across * self.mcus.start as usize);
        (left, self.samples[before..].chunks_exact(side * across * count).take(side * down))
    }

    /// Copies a component's samples into rows of its plane, which begin at the left edge of the picture. Samples past
    /// the end of a row are dropped.
    pub fn copy_to<'a>(&self, plan: &Plan, component: usize, rows: impl Iterator<Item = &'a mut [u8]>) {
        let (left, samples) = self.rows(plan, component);
        for (from, to) in samples.zip(rows) {
            let to = to.get_mut(left..).unwrap_or_default();
            let length = to.len().min(from.len());
            to[..length].copy_from_slice(&from[..length]);
        }
    }

    /// Copies luma and halved chroma into pairs of rows, which begin at the left edge of the picture.
    pub fn copy_to_pairs(&self, plan: &Plan, pairs: &mut [PairMut<'_>]) {
        self.copy_luma(plan, pairs);
        for plane in 0..2 {
            let rows = pairs.iter_mut().filter_map(|pair| pair.chroma.get_mut(plane).map(|row| &mut **row));
            self.copy_to(plan, 1 + plane, rows);
        }
    }

    /// Copies luma as [`Self::copy_to_pairs`] does.
    pub(super) fn copy_luma(&self, plan: &Plan, pairs: &mut [PairMut<'_>]) {
        self.copy_to(plan, 0, pairs.iter_mut().flat_map(|pair| pair.luma.iter_mut().map(|row| &mut **row)));
    }
}

/// Transforms the MCUs of a chunk that count, of which the first has this number in the picture.
pub fn transform(frame: &Frame, plan: &Plan, chunk: &Chunk, number: u32) -> Vec<Segment> {
    let mut segments = Segment::of_chunk(frame, plan, chunk, number, 8);
    let (mut between, mut out) = ([[[0; BLOCKS]; 8]; 8], [[0; SAMPLES]; 8]);
    for (set, groups) in chunk.sets() {
        with_vectors!(simd => {
            for (component, plane) in frame.components.iter().zip(&plan.components) {
                for down in 0..plane.down {
                    for part in 0..plane.across {
                        let group = &groups[plane.group + down * plane.across + part];
                        inverse(simd, group, &component.steps, &mut between, &mut out);
                        scatter(&out, Place { chunk, set, plane, down, part }, &mut segments);
                    }
                }
            }
        });
    }
    segments
}

/// The place of a group's samples.
pub(super) struct Place<'a> {
    pub chunk: &'a Chunk,
    pub set: usize,
    pub plane: &'a ComponentPlan,
    /// Row of blocks in an MCU.
    pub down: usize,
    /// Position among the groups beside each other.
    pub part: usize,
}

/// Copies the rows of a group, all of whose blocks have `SIDE` rows, into the segments that its MCUs belong to.
#[inline(always)]
pub(super) fn scatter<const WIDTH: usize, const SIDE: usize>(
    rows: &[[u8; WIDTH]; SIDE],
    place: Place<'_>,
    segments: &mut [Segment],
) {
    let Place { chunk, set, plane, down, part } = place;
    // In samples of the plane, counted from the chunk's first MCU that counts.
    let unit = SIDE * plane.across;
    let begin = set * MCUS * unit + part * WIDTH;
    let mut mcu = chunk.first;
    for segment in segments {
        let count = segment.mcus.len();
        let samples = mcu * unit..(mcu + count) * unit;
        mcu += count;
        let from = samples.start.max(begin);
        let to = samples.end.min(begin + WIDTH);
        if from >= to {
            continue;
        }
        let (width, left) = (count * unit, from - samples.start);
        let plane = &mut segment.samples[count * SIDE * SIDE * plane.group..];
        for (row, samples) in rows.iter().zip(plane.chunks_exact_mut(width).skip(SIDE * down)) {
            samples[left..left + to - from].copy_from_slice(&row[from - begin..to - begin]);
        }
    }
}
