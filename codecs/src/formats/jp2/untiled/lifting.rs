//! The two wavelets as lifting steps: each changes every other sample by its two neighbours.
//!
//! Source: ITU-T T.800, F.3.8.1 (of integers), F.3.8.2 (of floats, table F.4).

/// A sample of a wavelet transform.
pub trait Sample: Copy + Default + Send + 'static {
    /// The steps of the inverse transform. Steps 0 and 2 change low samples, 1 and 3 high ones.
    const STEPS: u32;

    /// A coefficient of a band that is counted as in a resolution, from its value times two and the size of its steps.
    fn of_coefficient(twice: i32, step: f32) -> Self;

    /// What the size of steps is multiplied by, for a band that is counted as in a resolution. In bands that are low in one
    /// direction and high in the other, the scales of low and high samples cancel out.
    fn band_scale(band: u8) -> f32;

    /// Scales what comes from the resolution below, which is low in both directions.
    fn scale_low(samples: &mut [Self]);

    /// A lifting step of each sample by those before and after it.
    fn lift(step: u32, samples: &mut [Self], before: &[Self], after: &[Self]);

    /// Makes red, green and blue of luma and chroma (annex G).
    fn colours(planes: [&mut [Self]; 3]);

    fn to_float(self) -> f32;
}

/// Calls a function for each sample with its neighbours.
#[inline(always)]
fn for_each<T: Copy>(samples: &mut [T], before: &[T], after: &[T], change: impl Fn(&mut T, T, T)) {
    for ((sample, &before), &after) in samples.iter_mut().zip(before).zip(after) {
        change(sample, before, after);
    }
}

impl Sample for i32 {
    const STEPS: u32 = 2;

    fn of_coefficient(twice: i32, _: f32) -> Self {
        twice / 2
    }

    fn band_scale(_: u8) -> f32 {
        1.0
    }

    fn scale_low(_: &mut [Self]) {}

    fn lift(step: u32, samples: &mut [Self], before: &[Self], after: &[Self]) {
        match step {
            0 => for_each(samples, before, after, |sample, before, after| {
                *sample = sample.wrapping_sub(before.wrapping_add(after).wrapping_add(2) >> 2);
            }),
            _ => for_each(samples, before, after, |sample, before, after| {
                *sample = sample.wrapping_add(before.wrapping_add(after) >> 1);
            }),
        }
    }

    fn colours([red, green, blue]: [&mut [Self]; 3]) {
        for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
            let (luma, first, second) = (*red, *green, *blue);
            *green = luma.wrapping_sub(first.wrapping_add(second) >> 2);
            *red = second.wrapping_add(*green);
            *blue = first.wrapping_add(*green);
        }
    }

    fn to_float(self) -> f32 {
        self as f32
    }
}

/// Low samples are scaled by this, high ones by its inverse.
const SCALE: f32 = 1.230_174_1;
/// The factors of the steps, from the last one of the forward transform on.
const FACTORS: [f32; 4] = [-0.443_506_85, -0.882_911_1, 0.052_980_12, 1.586_134_3];

impl Sample for f32 {
    const STEPS: u32 = 4;

    fn of_coefficient(twice: i32, step: f32) -> Self {
        twice as f32 * 0.5 * step
    }

    fn band_scale(band: u8) -> f32 {
        if band == 3 { 1.0 / (SCALE * SCALE) } else { 1.0 }
    }

    fn scale_low(samples: &mut [Self]) {
        samples.iter_mut().for_each(|sample| *sample *= SCALE * SCALE);
    }

    fn lift(step: u32, samples: &mut [Self], before: &[Self], after: &[Self]) {
        let factor = FACTORS[step as usize & 3];
        for_each(samples, before, after, |sample, before, after| *sample += factor * (before + after));
    }

    fn colours([red, green, blue]: [&mut [Self]; 3]) {
        for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
            let (luma, first, second) = (*red, *green, *blue);
            *red = luma + 1.402 * second;
            *green = luma - 0.344_13 * first - 0.714_14 * second;
            *blue = luma + 1.772 * first;
        }
    }

    fn to_float(self) -> f32 {
        self
    }
}
