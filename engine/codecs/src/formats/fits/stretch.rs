//! The linear stretch of values to shades, between two percentiles.

/// The fractions of values that become black and white. Beyond them are mostly dead pixels and the cores of stars. The
/// same as `AsymmetricPercentileInterval(0.25, 99.75)` of astropy.
const LOW: f64 = 0.0025;
const HIGH: f64 = 0.9975;

/// The largest number of sampled values.
pub const SAMPLES: u64 = 1 << 20;
/// Bytes of memory that they take.
pub const SAMPLE_BYTES: u64 = SAMPLES * 8 * 2;

/// The values of black and white.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    black: f64,
    white: f64,
}

impl Stretch {
    /// The stretch of bytes that are shown as they are.
    pub const BYTES: Self = Self { black: 0.0, white: 255.0 };

    /// Returns the stretch for a sample of a picture's values.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let (black, white) = (percentile(&values, LOW), percentile(&values, HIGH));
        if white > black {
            return Self { black, white };
        }
        // Nearly all values are the same, so everything that differs is shown.
        Self { black: percentile(&values, 0.0), white: percentile(&values, 1.0) }
    }

    pub fn apply(self, value: f64) -> u8 {
        let shade = (value - self.black) / (self.white - self.black);
        // NaN becomes 0. It means no value, or a picture of one value.
        (shade.clamp(0.0, 1.0) * 255.0).round() as u8
    }
}

/// Returns the value at a fraction of sorted values, interpolated between two of them.
fn percentile(sorted: &[f64], fraction: f64) -> f64 {
    let place = fraction * sorted.len().saturating_sub(1) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or_default();
    let (below, above) = (at(place.floor()), at(place.ceil()));
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_become_black_and_white_and_missing_values_black() {
        let stretch = Stretch::of((0..=1000).map(f64::from).chain([f64::NAN, f64::INFINITY]).collect());
        assert_eq!(stretch, Stretch { black: 2.5, white: 997.5 });
        assert_eq!([0.0, 2.5, 500.0, 997.5, 1e300].map(|value| stretch.apply(value)), [0, 0, 128, 255, 255]);
        assert_eq!(
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|value| stretch.apply(value)),
            [0, 255, 0]
        );
    }

    #[test]
    fn a_few_pixels_on_a_flat_background_are_visible() {
        let mut values = vec![7.0; 10_000];
        values.push(9.0);
        let stretch = Stretch::of(values);
        assert_eq!((stretch.apply(7.0), stretch.apply(9.0)), (0, 255));
        assert_eq!(Stretch::of(vec![7.0; 10]).apply(7.0), 0);
        assert_eq!(Stretch::of(Vec::new()).apply(7.0), 255);
    }
}
