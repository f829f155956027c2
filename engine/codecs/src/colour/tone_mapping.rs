//! Tone mapping: converts linear colours without an upper limit, as in renderings and bracketed photographs, to sRGB.
//!
//! 1 is the screen's white. Colours up to 0.9 are not changed, so that an ordinary picture in a high-dynamic-range
//! format looks the same as in other formats. Brighter colours are rolled off towards white instead of being clipped,
//! and keep their hue. The exposure is the author's.

use crate::colour::samples::encode_srgb;

/// The value at which the roll-off begins.
const KNEE: f32 = 0.9;
/// Infinities become this value. It is larger than those of real pictures.
const MAX: f32 = 1e9;

/// Transfer functions of pictures that may be brighter than white.
///
/// Source: ITU-R BT.2100-2. White is at 203 cd/m², as in ITU-R BT.2408.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// The perceptual quantizer, PQ.
    Quantizer,
    /// Hybrid log-gamma, HLG, on a display of 1,000 cd/m².
    HybridLogGamma,
}

/// The luminance of white, in cd/m².
const WHITE: f32 = 203.0;

impl Curve {
    /// Returns the linear value of an encoded value from 0 to 1.
    pub fn linear(self, value: f32) -> f32 {
        match self {
            Self::Quantizer => {
                let root = value.powf(1.0 / 78.843_75);
                let base = (root - 0.835_937_5).max(0.0) / (18.851_563 - 18.687_5 * root);
                base.powf(1.0 / 0.159_301_76) * 10_000.0 / WHITE
            }
            Self::HybridLogGamma => {
                let scene = match value <= 0.5 {
                    true => value * value / 3.0,
                    false => (((value - 0.559_910_7) / 0.178_832_77).exp() + 0.284_668_92) / 12.0,
                };
                // The gamma of the display, applied to each channel separately.
                scene.powf(1.2) * 1_000.0 / WHITE
            }
        }
    }
}

/// Maps a linear colour with sRGB's primaries to 8-bit sRGB.
pub fn map(linear: [f32; 3]) -> [u8; 3] {
    // NaN becomes black, because `max` then returns the other value. `clamp` would keep NaN.
    let linear = linear.map(|channel| channel.max(0.0)).map(|channel| channel.min(MAX));
    let brightest = linear[0].max(linear[1]).max(linear[2]);
    let scale = if brightest > KNEE { roll_off(brightest) / brightest } else { 1.0 };
    linear.map(|channel| encode_srgb(channel * scale))
}

/// Continues from the knee with the same slope and approaches 1.
fn roll_off(value: f32) -> f32 {
    let past = (value - KNEE) / (1.0 - KNEE);
    KNEE + (1.0 - KNEE) * past / (1.0 + past)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_below_the_knee_are_unchanged() {
        assert_eq!(map([0.0; 3]), [0; 3]);
        assert_eq!(map([0.215_861, 0.0, 0.215_861]), [128, 0, 128]);
    }

    #[test]
    fn highlights_differ_and_keep_their_hue() {
        let shades = [1.0, 2.0, 8.0].map(|value| map([value; 3])[0]);
        assert!(shades.is_sorted_by(|one, other| one < other), "{shades:?}");
        let [red, green, blue] = map([8.0, 4.0, 0.0]);
        assert!(red > 250 && (180..195).contains(&green) && blue == 0, "{red} {green} {blue}");
    }

    #[test]
    fn the_recommendations_levels_of_white_become_white() {
        let quantizer = Curve::Quantizer.linear(0.58);
        let hybrid = Curve::HybridLogGamma.linear(0.75);
        assert!((0.97..1.03).contains(&quantizer) && (0.97..1.03).contains(&hybrid), "{quantizer} {hybrid}");
        assert!((Curve::Quantizer.linear(1.0) * WHITE - 10_000.0).abs() < 20.0);
    }

    #[test]
    fn nan_is_black_and_infinity_is_white() {
        assert_eq!(map([f32::NAN, -1.0, 0.0]), [0; 3]);
        assert_eq!(map([f32::INFINITY; 3]), [255; 3]);
    }
}
