//! Scales a plane by a filter, along columns and then along rows.
//!
//! The kernel is Lanczos' with three lobes, libvips' default: wider than its step where a picture shrinks, so that it sees every
//! sample. Beyond the region its edge goes on, as in libvips' `resize` of a crop. Weights have 14 bits. Between both passes samples have 6
//! bits behind the point.

use std::f64::consts::PI;
use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i16x8, i32x4, u8x16};

/// Lobes of the kernel.
const LOBES: f64 = 3.0;
/// Bits of weights: their sum is 1 << WEIGHT_BITS.
const WEIGHT_BITS: u32 = 14;
/// Bits behind the point of samples between both passes.
const FRACTION_BITS: u32 = 6;
/// Weights of a sample along a row come in multiples of this.
const LANES: usize = 8;

/// Runs code that is compiled for the widest vectors of the processor. All functions that it calls must be inlined.
macro_rules! with_vectors {
    ($simd:ident => $run:expr) => {
        fearless_simd::dispatch!(fearless_simd::Level::new(), $simd => {
            fearless_simd::Simd::vectorize($simd, #[inline(always)] || $run)
        })
    };
}

/// An axis of a plane: the input samples of each output sample, and their weights.
pub struct Axis {
    /// First input sample of each output sample, in order of the output.
    firsts: Vec<u32>,
    /// Weights of each output sample, `taps` for each.
    weights: Vec<i16>,
    taps: usize,
    /// Weights that may differ from 0.
    used: usize,
    /// The end of the input's samples.
    end: u32,
    /// True if the output's samples are the input's.
    is_copy: bool,
}

/// The scale of an axis, in the input's samples.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Start of the output.
    pub start: f64,
    /// The output's length.
    pub length: f64,
    /// Number of the output's pixels.
    pub pixels: u32,
    /// 1 if a sample of the output is two pixels wide, or 0.
    pub halvings: u32,
    /// True if the output runs backwards.
    pub is_reversed: bool,
}

impl Axis {
    /// Computes the weights of an axis. `within`: the input's samples.
    pub fn new(scale: Scale, within: &Range<u32>) -> Self {
        let count = scale.pixels.div_ceil(1 << scale.halvings);
        let pixel = scale.length / f64::from(scale.pixels);
        let step = pixel * f64::from(1 << scale.halvings);
        let stretch = step.max(1.0);
        let reach = LOBES * stretch;
        let widest = (2.0 * reach).ceil() as usize + 1;
        let used = widest.min(within.len());
        let taps = used.next_multiple_of(LANES);
        let (mut firsts, mut weights) = (Vec::with_capacity(count as usize), vec![0; count as usize * taps]);
        let mut exact = vec![0.0; taps];
        for (number, weights) in (0..count).zip(weights.chunks_exact_mut(taps)) {
            // The centre of the output's sample, in pixels.
            let centre = (f64::from(number) + 0.5) * f64::from(1 << scale.halvings);
            let centre = if scale.is_reversed { f64::from(scale.pixels) - centre } else { centre };
            let centre = scale.start + centre * pixel;
            let (low, high) = ((centre - reach).floor() as i64, (centre + reach).ceil() as i64);
            let (start, end) = (i64::from(within.start), i64::from(within.end));
            let first = low.clamp(start, (end - used as i64).max(start));
            exact.fill(0.0);
            for place in low..high {
                let weight = lanczos((place as f64 + 0.5 - centre) / stretch);
                if let Some(sum) = exact.get_mut((place.clamp(start, end - 1) - first) as usize) {
                    *sum += weight;
                }
            }
            quantise(&exact, weights);
            firsts.push(first as u32);
        }
        let one = 1 << WEIGHT_BITS;
        let is_copy = !scale.is_reversed
            && firsts.len() == within.len()
            && weights
                .chunks_exact(taps)
                .zip(&firsts)
                .zip(within.clone())
                .all(|((weights, first), place)| weights.get((place - first) as usize) == Some(&one));
        Self { firsts, weights, taps, used, end: within.end, is_copy }
    }

    /// Returns the number of the output's samples.
    pub fn count(&self) -> usize {
        self.firsts.len()
    }

    /// Returns the input samples of an output sample.
    pub fn inputs(&self, number: usize) -> Range<u32> {
        let first = self.firsts[number];
        first..(first + self.used as u32).min(self.end)
    }

    fn weights(&self, number: usize) -> &[i16] {
        &self.weights[number * self.taps..][..self.taps]
    }
}

/// Makes a row of the output: from rows of the input, which zeros follow. `sums` is memory that is reused.
pub fn resample<'a>(
    (down, number): (&Axis, usize),
    (across, left): (&Axis, u32),
    row: impl Fn(usize) -> &'a [u8],
    rows: usize,
    sums: &mut Vec<i16>,
    out: &mut [u8],
) {
    let weights = &down.weights(number)[..rows];
    let stride = row(0).len();
    if across.is_copy
        && let Some(at) = weights.iter().position(|&weight| weight == 1 << WEIGHT_BITS)
    {
        out.copy_from_slice(&row(at)[..out.len()]);
        return;
    }
    sums.resize(stride.next_multiple_of(16), 0);
    with_vectors!(simd => mix_rows(simd, &row, weights, stride, sums));
    with_vectors!(simd => mix_samples(simd, across, left, sums, out));
}

/// Weighs rows.
#[inline(always)]
fn mix_rows<'a, S: Simd>(
    simd: S,
    row: &impl Fn(usize) -> &'a [u8],
    weights: &[i16],
    stride: usize,
    out: &mut [i16],
) {
    let bits = WEIGHT_BITS - FRACTION_BITS;
    let half = i32x4::splat(simd, 1 << (bits - 1));
    for at in (0..stride).step_by(16) {
        // The last vector overlaps the one before.
        let at = at.min(stride - 16);
        let mut sums = [half; 4];
        let mut tap = 0;
        while tap < weights.len() {
            let other = (tap + 1).min(weights.len() - 1);
            let second = if other == tap { 0 } else { weights[other] };
            let pair = i32::from(second) << 16 | i32::from(weights[tap] as u16);
            let pair = i32x4::splat(simd, pair).bitcast::<i16x8<S>>();
            let one = u8x16::from_slice(simd, &row(tap)[at..at + 16]);
            let two = u8x16::from_slice(simd, &row(other)[at..at + 16]);
            let (a, b) = one.zip_low(two).widen();
            let (c, d) = one.zip_high(two).widen();
            for (sum, pixels) in sums.iter_mut().zip([a, b, c, d]) {
                *sum += pixels.bitcast::<i16x8<S>>().pairwise_dot_product(pair);
            }
            tap += 2;
        }
        let [a, b, c, d] = sums.map(|sum| sum >> bits);
        a.saturating_narrow(b).store_slice(&mut out[at..at + 8]);
        c.saturating_narrow(d).store_slice(&mut out[at + 8..at + 16]);
    }
}

/// Weighs the samples of a row. Its first one is at `left`.
#[inline(always)]
fn mix_samples<S: Simd>(simd: S, axis: &Axis, left: u32, row: &[i16], out: &mut [u8]) {
    let bits = WEIGHT_BITS + FRACTION_BITS;
    let samples = out.iter_mut().zip(&axis.firsts).zip(axis.weights.chunks_exact(axis.taps));
    for ((out, first), weights) in samples {
        let inputs = &row[(first - left) as usize..][..axis.taps];
        let mut sum = i32x4::splat(simd, 0);
        for (inputs, weights) in inputs.as_chunks::<LANES>().0.iter().zip(weights.as_chunks::<LANES>().0) {
            sum += i16x8::from_slice(simd, inputs).pairwise_dot_product(i16x8::from_slice(simd, weights));
        }
        let [a, b, c, d]: [i32; 4] = sum.into();
        *out = ((a + b + (c + d) + (1 << (bits - 1))) >> bits).clamp(0, 255) as u8;
    }
}

/// The kernel at a distance from its centre.
fn lanczos(distance: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if distance.abs() < LOBES { sinc(distance) * sinc(distance / LOBES) } else { 0.0 }
}

/// Rounds weights so that their sum is exactly 1: flat areas stay as they are.
fn quantise(exact: &[f64], weights: &mut [i16]) {
    let one = f64::from(1 << WEIGHT_BITS);
    let scale = one / exact.iter().sum::<f64>();
    let mut left = 1 << WEIGHT_BITS;
    for (weight, exact) in weights.iter_mut().zip(exact) {
        *weight = (exact * scale).round() as i16;
        left -= i32::from(*weight);
    }
    if let Some(largest) = weights.iter_mut().max() {
        *largest = largest.saturating_add(left as i16);
    }
}
