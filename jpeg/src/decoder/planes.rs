//! Samples of a chunk's MCUs, in rows of MCUs as the picture has them.

use std::ops::Range;

use super::chunk::{Chunk, MCUS, Plan};
use super::frame::Frame;
use super::idct::{SAMPLES, inverse};
use crate::vectors::with_vectors;

/// Samples of consecutive MCUs of a row.
#[derive(Default)]
pub struct Segment {
    /// The row of MCUs in the picture.
    pub row: u32,
    /// The MCUs of the row.
    pub mcus: Range<u32>,
    /// The planes of all components, one after the other, each in rows without gaps.
    samples: Vec<u8>,
}

impl Segment {
    /// Returns a whole row of MCUs without samples.
    pub fn empty(row: u32, across: u32, plan: &Plan) -> Self {
        Self { row, mcus: 0..across, samples: vec![0; across as usize * plan.groups() * 64] }
    }

    /// Returns the rows of a component's plane.
    pub fn rows_mut(&mut self, plan: &Plan, component: usize) -> impl Iterator<Item = &mut [u8]> {
        let count = self.mcus.len();
        let before: usize =
            plan.components.iter().take(component).map(|plane| count * 64 * plane.across * plane.down).sum();
        let (across, down) =
            plan.components.get(component).map_or((1, 0), |plane| (plane.across, plane.down));
        self.samples[before..].chunks_exact_mut(8 * across * count).take(8 * down)
    }

    /// Copies a component's samples into rows of its plane, which begin at the left edge of the picture. Samples past the
    /// end of a row are dropped.
    pub fn copy_to<'a>(&self, plan: &Plan, component: usize, rows: impl Iterator<Item = &'a mut [u8]>) {
        let count = self.mcus.len();
        let before: usize =
            plan.components.iter().take(component).map(|plane| count * 64 * plane.across * plane.down).sum();
        let Some(plane) = plan.components.get(component) else { return };
        let (width, left) = (8 * plane.across * count, 8 * plane.across * self.mcus.start as usize);
        for (from, to) in self.samples[before..].chunks_exact(width).zip(rows).take(8 * plane.down) {
            let to = to.get_mut(left..).unwrap_or_default();
            let length = to.len().min(width);
            to[..length].copy_from_slice(&from[..length]);
        }
    }
}

/// Transforms the MCUs of a chunk that count, of which the first has this number in the picture.
pub fn transform(frame: &Frame, plan: &Plan, chunk: &Chunk, number: u32) -> Vec<Segment> {
    let (across, _) = frame.mcus();
    let mut segments = Vec::new();
    let mut at = number;
    let end = number + (chunk.mcus - chunk.first) as u32;
    while at < end {
        let (row, from) = (at / across, at % across);
        let to = (from + end - at).min(across);
        let blocks = plan.groups();
        segments.push(Segment { row, mcus: from..to, samples: vec![0; (to - from) as usize * blocks * 64] });
        at += to - from;
    }
    let sets = chunk.groups.chunks_exact(plan.groups()).take(chunk.mcus.div_ceil(MCUS));
    for (set, groups) in sets.enumerate().skip(chunk.first / MCUS) {
        with_vectors!(simd => {
            let mut before = 0;
            for (component, plane) in frame.components.iter().zip(&plan.components) {
                for down in 0..plane.down {
                    for part in 0..plane.across {
                        let mut out = [[0; SAMPLES]; 8];
                        inverse(simd, &groups[plane.group + down * plane.across + part], &component.steps, &mut out);
                        scatter(&out, Place { chunk, set, before, across: plane.across, down, part }, &mut segments);
                    }
                }
                before += plane.across * plane.down;
            }
        });
    }
    segments
}

/// The place of a group's samples.
struct Place<'a> {
    chunk: &'a Chunk,
    set: usize,
    /// Blocks of an MCU in the planes before.
    before: usize,
    across: usize,
    down: usize,
    /// Position among the groups beside each other.
    part: usize,
}

/// Copies the rows of a group into the segments that its MCUs belong to.
#[inline(always)]
fn scatter(rows: &[[u8; SAMPLES]; 8], place: Place<'_>, segments: &mut [Segment]) {
    let Place { chunk, set, before, across, down, part } = place;
    // In samples of the plane, counted from the chunk's first MCU that counts.
    let unit = 8 * across;
    let begin = set * MCUS * unit + part * SAMPLES;
    let mut mcu = chunk.first;
    for segment in segments {
        let count = segment.mcus.len();
        let samples = mcu * unit..(mcu + count) * unit;
        mcu += count;
        let from = samples.start.max(begin);
        let to = samples.end.min(begin + SAMPLES);
        if from >= to {
            continue;
        }
        let (width, left) = (count * unit, from - samples.start);
        let plane = &mut segment.samples[count * 64 * before..];
        for (row, samples) in rows.iter().zip(plane.chunks_exact_mut(width).skip(8 * down)) {
            samples[left..left + to - from].copy_from_slice(&row[from - begin..to - begin]);
        }
    }
}
