//! Steps and rounding of coefficients, which decide a file's size and its likeness.
//!
//! The steps are those of jpegli, which were optimised for what people see: finer ones for low frequencies, which show
//! as blocks and bands. They grow with jpegli's distance: 1 looks the same, 2 is good. With jpegli's distance for a
//! quality, tiles look as libjpeg's of that quality do. A dead zone rounds small remainders down, which are not worth
//! their bits.
//!
//! | quality | 30 | 50 | 75 | 82 | 90 | 95 | 100 |
//! |---|---|---|---|---|---|---|---|
//! | distance | 6.4 | 4.6 | 2.4 | 1.7 | 1.0 | 0.6 | 0.1 |
//!
//! Source: jpegli in libjxl, `lib/jpegli/quant.cc`, Copyright (c) the JPEG XL Project Authors; its licence is in
//! `LICENSE`.

/// Relative increase of the step of halved chroma at the highest frequency; lower ones increase in proportion. Jpegli
/// refines all steps alike if chroma is halved. Fine detail of colour is seen least, noise is full of it, and libjpeg's
/// steps grow as much.
const CHROMA_SLOPE: f32 = 1.0;
/// Distance up to which steps grow in proportion to it.
const LINEAR_UP_TO: f32 = 1.5;
/// Scale of all steps if chroma is halved.
const HALVED_SCALE: f32 = 1.22;
/// Largest step that baseline decoders must accept.
const LARGEST: f32 = 255.0;
/// Rounds to the nearest.
const NEAREST: u16 = 128;
/// Remainders below this many 256ths of a step are rounded down.
const DEAD_ZONE: u16 = 150;
/// The same for the lowest frequencies after the mean, without which slow gradients become blocks.
const LOW_DEAD_ZONE: u16 = 108;
/// The same in busy blocks of chroma. Rounding down would take the colour out of noise, which is seen sooner than
/// coarse steps.
const BUSY_DEAD_ZONE: u16 = 72;

/// A source's own step is kept where ours is less than this many times as large.
const KEEP_BELOW: f32 = 2.0;

/// Steps of a JPEG in row order: of luma at full resolution, and of chroma at half the resolution both ways, if Cb and
/// Cr have the same.
pub type SourceSteps = [Option<[u16; 64]>; 2];

/// Steps and rounding of an encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantisation {
    /// Steps of luma and of chroma in row order, 1 to 255.
    pub steps: [[u16; 64]; 2],
    /// The smallest remainder of each coefficient that is rounded up, in 256ths of a step.
    pub dead_zones: [[u16; 64]; 2],
    /// The same in blocks of chroma of which more than [`Self::BUSY_FROM`] other coefficients would not be zero.
    pub busy_dead_zone: u16,
}

impl Quantisation {
    /// Number of coefficients from which on a block of chroma is busy. In photographs few blocks are.
    pub const BUSY_FROM: u16 = 14;

    /// Returns the quantisation of a quality from 1 to 100, which looks about as libjpeg's of that quality.
    #[must_use]
    pub fn of_quality(quality: u8, halves_chroma: bool) -> Self {
        let distance = distance(quality);
        let steps = |base: &[f32; 64], scale: &dyn Fn(usize) -> f32| {
            std::array::from_fn(|place| {
                let scale = if halves_chroma { scale(place) * HALVED_SCALE } else { scale(place) };
                (base[place] * scale * grown(distance, POWERS[place])).round().clamp(1.0, LARGEST) as u16
            })
        };
        let of_chroma = |place: usize| {
            let frequency = (place / 8 + place % 8) as f32 / 14.0;
            if halves_chroma { HALVED[place] * (1.0 + CHROMA_SLOPE * frequency) } else { 1.0 }
        };
        Self {
            steps: [steps(&LUMA, &|_| 1.0), steps(&CHROMA, &of_chroma)],
            dead_zones: [dead_zones(); 2],
            busy_dead_zone: BUSY_DEAD_ZONE,
        }
    }

    /// Returns the quantisation for tiles whose blocks are blocks of a JPEG with these steps. A second rounding at a
    /// step that is not much coarser costs likeness and saves little, so a step below twice the source's becomes the
    /// source's own. Coefficients are rounded to the nearest: what the source's encoder left is mostly seen.
    #[must_use]
    pub fn for_source(&self, source: &SourceSteps) -> Self {
        let mut adapted = self.clone();
        let kinds = adapted.steps.iter_mut().zip(&mut adapted.dead_zones);
        for ((steps, dead_zones), source) in kinds.zip(source) {
            let coefficients = steps.iter_mut().zip(dead_zones);
            for ((step, dead_zone), &source) in coefficients.zip(source.iter().flatten()) {
                let ratio = f32::from(*step) / f32::from(source.max(1));
                *dead_zone = (*dead_zone).min(NEAREST);
                if ratio < KEEP_BELOW {
                    *step = source.clamp(1, LARGEST as u16);
                }
            }
        }
        adapted
    }

    /// Returns what is added to 8 times a coefficient's magnitude before it is divided by 8 times its step and rounded
    /// down.
    #[must_use]
    pub fn rounding(&self, kind: usize, place: usize) -> u16 {
        rounding(self.steps[kind][place], self.dead_zones[kind][place])
    }

    /// Returns how much more is added in busy blocks.
    #[must_use]
    pub fn busy_rounding(&self, kind: usize, place: usize) -> u16 {
        rounding(self.steps[kind][place], self.busy_dead_zone).saturating_sub(self.rounding(kind, place))
    }
}

/// Returns the dead zones of a block in row order. The mean is rounded to the nearest.
fn dead_zones() -> [u16; 64] {
    let mut zones = [DEAD_ZONE; 64];
    zones[..2].copy_from_slice(&[NEAREST, LOW_DEAD_ZONE]);
    zones[8] = LOW_DEAD_ZONE;
    zones
}

fn rounding(step: u16, dead_zone: u16) -> u16 {
    (8 * u32::from(step) * u32::from(256 - dead_zone.min(256)) / 256) as u16
}

/// Returns the distance of a quality.
fn distance(quality: u8) -> f32 {
    let quality = f32::from(quality.clamp(1, 100));
    match quality {
        30.0.. => 0.1 + (100.0 - quality) * 0.09,
        _ => 53.0 / 3000.0 * quality * quality - 23.0 / 20.0 * quality + 25.0,
    }
}

/// Returns the factor by which a step grows from distance 1.
fn grown(distance: f32, power: f32) -> f32 {
    if distance < LINEAR_UP_TO {
        return distance;
    }
    (LINEAR_UP_TO * (distance / LINEAR_UP_TO).powf(power)).max(distance / 2.0)
}

/// Steps of luma at distance 1, in row order.
#[rustfmt::skip]
const LUMA: [f32; 64] = [
    2.157, 2.997, 5.082, 4.893, 5.810, 6.025, 6.682, 6.732,
    2.997, 3.641, 4.951, 4.705, 5.986, 5.508, 7.002, 7.020,
    5.082, 4.951, 5.147, 5.891, 6.297, 6.793, 6.537, 7.372,
    4.893, 4.705, 5.891, 5.880, 7.251, 8.360, 8.323, 8.013,
    5.810, 5.986, 6.297, 7.251, 7.967, 8.565, 9.697, 9.543,
    6.025, 5.508, 6.793, 8.360, 8.565, 9.463, 8.862, 10.590,
    6.682, 7.002, 6.537, 8.323, 9.697, 8.862, 9.461, 9.401,
    6.732, 7.020, 7.372, 8.013, 9.543, 10.590, 9.401, 7.616,
];

/// Steps of chroma at full resolution, at distance 1, in row order. They are Cr's; Cb has them too, which are finer
/// than it needs.
#[rustfmt::skip]
const CHROMA: [f32; 64] = [
    5.083, 7.824, 12.798, 11.454, 14.849, 15.308, 15.985, 16.497,
    7.824, 10.976, 12.220, 12.450, 14.003, 12.199, 11.676, 14.579,
    12.798, 12.220, 11.990, 11.974, 15.278, 11.964, 13.719, 15.099,
    11.454, 12.450, 11.974, 12.183, 13.434, 13.840, 13.001, 14.549,
    14.849, 14.003, 15.278, 13.434, 11.791, 16.501, 15.733, 14.010,
    15.308, 12.199, 11.964, 13.840, 16.501, 14.974, 17.262, 111.776,
    15.985, 11.676, 13.719, 13.001, 15.733, 17.262, 109.920, 145.006,
    16.497, 14.579, 15.099, 14.549, 14.010, 111.776, 145.006, 199.873,
];

/// Steps of chroma at half the resolution relative to those at full resolution. Its frequencies are half as high for
/// the eye.
#[rustfmt::skip]
const HALVED: [f32; 64] = [
    0.4093, 0.3209, 0.3477, 0.3333, 0.3144, 0.2823, 0.3214, 0.3354,
    0.3209, 0.3111, 0.3489, 0.2801, 0.3059, 0.3119, 0.4135, 0.3445,
    0.3477, 0.3489, 0.3586, 0.3257, 0.2727, 0.3754, 0.3369, 0.3484,
    0.3333, 0.2801, 0.3257, 0.3020, 0.3515, 0.3410, 0.3971, 0.3839,
    0.3144, 0.3059, 0.2727, 0.3515, 0.3105, 0.3397, 0.2716, 0.3836,
    0.2823, 0.3119, 0.3754, 0.3410, 0.3397, 0.3212, 0.3203, 0.0726,
    0.3214, 0.4135, 0.3369, 0.3971, 0.2716, 0.3203, 0.0798, 0.0553,
    0.3354, 0.3445, 0.3484, 0.3839, 0.3836, 0.0726, 0.0553, 0.3368,
];

/// Above [`LINEAR_UP_TO`] a step grows with this power of the distance: low frequencies, which show as blocks, grow
/// less.
#[rustfmt::skip]
const POWERS: [f32; 64] = [
    1.00, 0.51, 0.67, 0.74, 1.00, 1.00, 1.00, 1.00,
    0.51, 0.66, 0.69, 0.87, 1.00, 1.00, 1.00, 1.00,
    0.67, 0.69, 0.84, 0.83, 0.96, 1.00, 1.00, 1.00,
    0.74, 0.87, 0.83, 1.00, 1.00, 0.91, 0.91, 1.00,
    1.00, 1.00, 0.96, 1.00, 1.00, 1.00, 1.00, 1.00,
    1.00, 1.00, 1.00, 0.91, 1.00, 1.00, 1.00, 1.00,
    1.00, 1.00, 1.00, 0.91, 1.00, 1.00, 1.00, 1.00,
    1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_shrink_with_the_quality_and_stay_baseline() {
        for halves_chroma in [false, true] {
            let all: Vec<_> =
                (1..=100).map(|quality| Quantisation::of_quality(quality, halves_chroma)).collect();
            for pair in all.windows(2) {
                let mut steps = pair[0].steps.iter().flatten().zip(pair[1].steps.iter().flatten());
                assert!(steps.all(|(low, high)| high <= low && (1..=255).contains(low)));
            }
            assert_eq!(all[99].steps[0], [1; 64]);
        }
    }

    #[test]
    fn a_sources_steps_are_kept_unless_they_are_much_finer() {
        let ours = Quantisation { steps: [[12; 64]; 2], ..Quantisation::of_quality(82, true) };
        let steps = |source| ours.for_source(&[Some([source; 64]); 2]).steps[0][9];
        let of_sources = [1, 3, 4, 5, 6, 7, 8, 11, 12, 13, 40, 300].map(steps);
        assert_eq!(of_sources, [12, 12, 12, 12, 12, 7, 8, 11, 12, 13, 40, 255]);
    }

    #[test]
    fn blocks_of_a_jpeg_are_rounded_to_the_nearest() {
        let ours = Quantisation::of_quality(82, true);
        let zones = |source| ours.for_source(&source).dead_zones;
        assert_eq!(ours.dead_zones[0][63], DEAD_ZONE);
        let [luma, chroma] = zones([Some([1; 64]), None]);
        assert_eq!((luma[1], luma[63], chroma), (LOW_DEAD_ZONE, NEAREST, ours.dead_zones[1]));
    }

    #[test]
    fn the_default_quality_has_jpeglis_steps_at_distance_1_7() {
        let Quantisation { steps: [luma, chroma], .. } = Quantisation::of_quality(82, true);
        assert_eq!(luma[..8], [5, 6, 10, 10, 12, 13, 14, 14]);
        assert_eq!(chroma[..8], [4, 5, 10, 9, 13, 12, 15, 17]);
    }
}
