//! Scales a plane by a filter, along columns and then along rows.
//!
//! The kernel is Lanczos' with three lobes, libvips' default: wider than its step where a picture shrinks, so that it
//! sees every sample. Beyond the region its edge goes on, as in libvips' `resize` of a crop. Weights have 14 bits.
//! Between both passes samples have 6 bits behind the point.

use std::f64::consts::PI;
use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Simd, i8x16, i16x8, i32x4, u8x16};

/// Lobes of the kernel.
const LOBES: f64 = 3.0;
/// Bits of weights: their sum is 1 << WEIGHT_BITS.
const WEIGHT_BITS: u32 = 14;
/// Bits behind the point of samples between both passes.
const FRACTION_BITS: u32 = 6;
/// Weights of a sample along a row come in multiples of this.
const LANES: usize = 8;
/// Number of the output's samples that are computed at once.
const AT_ONCE: usize = 16;
/// Rows of the input have a multiple of this number of samples.
pub const BLOCK: usize = 32;
/// Zeros behind each row of the input, at least: weights may reach that far.
pub const PADDING: usize = LANES;

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
    /// Number of the output's samples.
    count: usize,
    /// First input sample of each output sample, in order of the output. Others follow up to a multiple of [`AT_ONCE`].
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
        let count = scale.pixels.div_ceil(1 << scale.halvings) as usize;
        let pixel = scale.length / f64::from(scale.pixels);
        let step = pixel * f64::from(1 << scale.halvings);
        let kernel = Kernel::new(step.max(1.0));
        let widest = (2.0 * kernel.reach).ceil() as usize + 1;
        let used = widest.min(within.len());
        let taps = used.next_multiple_of(LANES);
        let padded = count.next_multiple_of(AT_ONCE);
        let (mut firsts, mut weights) = (Vec::with_capacity(padded), vec![0; padded * taps]);
        let mut exact = vec![0.0; taps];
        for (number, weights) in weights.chunks_exact_mut(taps).take(count).enumerate() {
            // The centre of the output's sample, in pixels.
            let centre = (number as f64 + 0.5) * f64::from(1 << scale.halvings);
            let centre = if scale.is_reversed { f64::from(scale.pixels) - centre } else { centre };
            let centre = scale.start + centre * pixel;
            let (start, end) = (i64::from(within.start), i64::from(within.end));
            let low = (centre - kernel.reach).floor() as i64;
            let first = low.clamp(start, (end - used as i64).max(start));
            exact.fill(0.0);
            for (place, weight) in (low..).zip(kernel.weights(low as f64 + 0.5 - centre)) {
                if let Some(sum) = exact.get_mut((place.clamp(start, end - 1) - first) as usize) {
                    *sum += weight;
                }
            }
            quantise(&exact, weights);
            firsts.push(first as u32);
        }
        let one = 1 << WEIGHT_BITS;
        let is_copy = !scale.is_reversed
            && count == within.len()
            && weights
                .chunks_exact(taps)
                .zip(&firsts)
                .zip(within.clone())
                .all(|((weights, first), place)| weights.get((place - first) as usize) == Some(&one));
        firsts.resize(padded, within.start);
        Self { count, firsts, weights, taps, used, end: within.end, is_copy }
    }

    /// Returns the number of the output's samples.
    pub fn count(&self) -> usize {
        self.count
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

/// Makes a row of the output from rows of the input. `sums` is memory that is reused.
pub fn resample<'a>(
    (down, number): (&Axis, usize),
    (across, left): (&Axis, u32),
    row: impl Fn(usize) -> &'a [[u8; BLOCK]],
    rows: usize,
    sums: &mut Vec<[i16; BLOCK]>,
    out: &mut [u8],
) {
    let weights = &down.weights(number)[..rows];
    if across.is_copy
        && let Some(at) = weights.iter().position(|&weight| weight == 1 << WEIGHT_BITS)
    {
        out.copy_from_slice(&row(at).as_flattened()[..out.len()]);
        return;
    }
    let pairs = weights.chunks(2).enumerate().map(|(pair, weights)| match *weights {
        [one, other] => (row(2 * pair), row(2 * pair + 1), i32::from(other) << 16 | i32::from(one as u16)),
        _ => (row(2 * pair), row(2 * pair), i32::from(weights[0] as u16)),
    });
    let pairs: Vec<_> = pairs.collect();
    sums.resize(row(0).len(), [0; BLOCK]);
    with_vectors!(simd => mix_rows(simd, &pairs, sums));
    let row = sums.as_flattened();
    // Compiled for each common number of vectors.
    with_vectors!(simd => match across.taps / LANES {
        1 => mix_samples(simd, across, 1, left, row, out),
        2 => mix_samples(simd, across, 2, left, row, out),
        vectors => mix_samples(simd, across, vectors, left, row, out),
    });
}

/// Two rows, and the weights of both.
type Pair<'a> = (&'a [[u8; BLOCK]], &'a [[u8; BLOCK]], i32);

/// Weighs rows.
#[inline(always)]
fn mix_rows<S: Simd>(simd: S, pairs: &[Pair<'_>], out: &mut [[i16; BLOCK]]) {
    let bits = WEIGHT_BITS - FRACTION_BITS;
    for (at, out) in out.iter_mut().enumerate() {
        let mut sums = [[i32x4::splat(simd, 1 << (bits - 1)); 4]; BLOCK / 16];
        for (one, other, weights) in pairs {
            let (Some(one), Some(other)) = (one.get(at), other.get(at)) else { continue };
            let weights = i32x4::splat(simd, *weights).bitcast::<i16x8<S>>();
            for ((one, other), sums) in one.as_chunks().0.iter().zip(other.as_chunks().0).zip(&mut sums) {
                let (one, other) = (u8x16::load_array_ref(simd, one), u8x16::load_array_ref(simd, other));
                let (a, b) = one.zip_low(other).widen();
                let (c, d) = one.zip_high(other).widen();
                for (sum, pixels) in sums.iter_mut().zip([a, b, c, d]) {
                    *sum += pixels.bitcast::<i16x8<S>>().pairwise_dot_product(weights);
                }
            }
        }
        for ([a, b, c, d], out) in sums.into_iter().zip(out.as_chunks_mut::<16>().0) {
            (a >> bits).saturating_narrow(b >> bits).store_slice(&mut out[..8]);
            (c >> bits).saturating_narrow(d >> bits).store_slice(&mut out[8..]);
        }
    }
}

/// Weighs the samples of a row, whose first one is at `left`. `vectors`: those of an output sample's weights.
#[inline(always)]
fn mix_samples<S: Simd>(simd: S, axis: &Axis, vectors: usize, left: u32, row: &[i16], out: &mut [u8]) {
    let bits = WEIGHT_BITS + FRACTION_BITS;
    let half = i32x4::splat(simd, 1 << (bits - 1));
    let weights = axis.weights.as_chunks::<LANES>().0.chunks_exact(AT_ONCE * vectors);
    for ((out, firsts), weights) in
        out.chunks_mut(AT_ONCE).zip(axis.firsts.as_chunks::<AT_ONCE>().0).zip(weights)
    {
        let sum = |number: usize| {
            let inputs = &row[(firsts[number] - left) as usize..][..vectors * LANES];
            let weights = &weights[number * vectors..][..vectors];
            let mut sum = i32x4::splat(simd, 0);
            for (inputs, weights) in inputs.as_chunks().0.iter().zip(weights) {
                let weights = i16x8::load_array_ref(simd, weights);
                sum += i16x8::load_array_ref(simd, inputs).pairwise_dot_product(weights);
            }
            sum
        };
        let [a, b, c, d] = [0, 4, 8, 12].map(
            #[inline(always)]
            |at| (added([sum(at), sum(at + 1), sum(at + 2), sum(at + 3)]) + half) >> bits,
        );
        let [low, high] = [a.saturating_narrow(b), c.saturating_narrow(d)];
        // From -128 on, as narrowing has signs.
        let signed: i8x16<S> = (low - 128).saturating_narrow(high - 128);
        let samples: [u8; AT_ONCE] = (signed.bitcast::<u8x16<S>>() + 128).to_array();
        out.copy_from_slice(&samples[..out.len()]);
    }
}

/// Adds up the values of each vector.
#[inline(always)]
fn added<S: Simd>([a, b, c, d]: [i32x4<S>; 4]) -> i32x4<S> {
    let (ab, cd) = (a.unzip_low(b) + a.unzip_high(b), c.unzip_low(d) + c.unzip_high(d));
    ab.unzip_low(cd) + ab.unzip_high(cd)
}

/// Lanczos' kernel, stretched.
struct Kernel {
    stretch: f64,
    /// Half of its width.
    reach: f64,
    /// Sine and cosine of a step.
    turn: (f64, f64),
}

impl Kernel {
    fn new(stretch: f64) -> Self {
        Self { stretch, reach: LOBES * stretch, turn: (PI / LOBES / stretch).sin_cos() }
    }

    /// Returns the weights of samples from this distance from the centre on, to the kernel's end. The kernel is sinc(x)
    /// · sinc(x / 3), and sin(3a) is sin(a) · (3 - 4 · sin²(a)), so it needs the sine of πx / 3 alone, whose angle
    /// grows by the same from sample to sample.
    fn weights(&self, distance: f64) -> impl Iterator<Item = f64> {
        let (mut sine, mut cosine) = (PI / LOBES / self.stretch * distance).sin_cos();
        let places = (0..).map(move |step| (distance + f64::from(step)) / self.stretch);
        places.take_while(|x| *x < LOBES).map(move |x| {
            let square = sine * sine;
            let weight =
                if x.abs() < 1e-6 { 1.0 } else { LOBES * square * (3.0 - 4.0 * square) / (PI * PI * x * x) };
            (sine, cosine) =
                (sine * self.turn.1 + cosine * self.turn.0, cosine * self.turn.1 - sine * self.turn.0);
            if x.abs() < LOBES { weight } else { 0.0 }
        })
    }
}

/// Rounds weights so that their sum is exactly 1: flat areas stay as they are.
fn quantise(exact: &[f64], weights: &mut [i16]) {
    let one = f64::from(1 << WEIGHT_BITS);
    let scale = one / exact.iter().sum::<f64>();
    let mut left = 1 << WEIGHT_BITS;
    for (weight, exact) in weights.iter_mut().zip(exact) {
        *weight = (exact * scale).round_ties_even() as i16;
        left -= i32::from(*weight);
    }
    if let Some(largest) = weights.iter_mut().max() {
        *largest = largest.saturating_add(left as i16);
    }
}
