//! Light without an upper end, as renderers and bracketed photographs have it, brought to what a screen shows.
//!
//! 1 is the screen's white. Up to nine tenths of it every colour is shown as it is, so that an ordinary picture in such a
//! format looks as everywhere; what is brighter is rolled off towards white instead of being cut off, and keeps its hue.
//! No exposure is guessed: the author chose one.

use crate::colour::samples::encode_srgb;

/// Where the roll-off begins.
const KNEE: f32 = 0.9;
/// More light than any format's sensible values: infinities become this.
const MOST: f32 = 1e9;

/// Curves by which numbers stand for light far brighter than white.
///
/// Source: ITU-R BT.2100-2; white is put at 203 cd/m² as ITU-R BT.2408 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// The perceptual quantizer, PQ.
    Quantizer,
    /// Hybrid log-gamma, HLG, on a display of 1,000 cd/m².
    HybridLogGamma,
}

/// The light of white, in cd/m².
const WHITE: f32 = 203.0;

impl Curve {
    /// The light that a number from 0 to 1 stands for.
    pub fn light(self, value: f32) -> f32 {
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
                // The display's own gamma, channel by channel.
                scene.powf(1.2) * 1_000.0 / WHITE
            }
        }
    }
}

/// The sRGB of linear light with sRGB's primaries.
pub fn to_screen(light: [f32; 3]) -> [u8; 3] {
    // What is no number counts as dark: `max` takes its other side then, where `clamp` would keep it.
    let light = light.map(|channel| channel.max(0.0)).map(|channel| channel.min(MOST));
    let brightest = light[0].max(light[1]).max(light[2]);
    let scale = if brightest > KNEE { roll_off(brightest) / brightest } else { 1.0 };
    light.map(|channel| encode_srgb(channel * scale))
}

/// Goes on from the knee with the same slope and comes ever closer to 1.
fn roll_off(light: f32) -> f32 {
    let past = (light - KNEE) / (1.0 - KNEE);
    KNEE + (1.0 - KNEE) * past / (1.0 + past)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_screen_can_show_is_left_alone() {
        assert_eq!(to_screen([0.0; 3]), [0; 3]);
        assert_eq!(to_screen([0.215_861, 0.0, 0.215_861]), [128, 0, 128]);
    }

    #[test]
    fn highlights_differ_and_keep_their_hue() {
        let shades = [1.0, 2.0, 8.0].map(|light| to_screen([light; 3])[0]);
        assert!(shades.is_sorted_by(|one, other| one < other), "{shades:?}");
        let [red, green, blue] = to_screen([8.0, 4.0, 0.0]);
        assert!(red > 250 && (180..195).contains(&green) && blue == 0, "{red} {green} {blue}");
    }

    #[test]
    fn white_is_where_the_recommendation_puts_it() {
        let quantizer = Curve::Quantizer.light(0.58);
        let hybrid = Curve::HybridLogGamma.light(0.75);
        assert!((0.97..1.03).contains(&quantizer) && (0.97..1.03).contains(&hybrid), "{quantizer} {hybrid}");
        assert!((Curve::Quantizer.light(1.0) * WHITE - 10_000.0).abs() < 20.0);
    }

    #[test]
    fn what_is_no_number_is_dark_and_infinity_is_white() {
        assert_eq!(to_screen([f32::NAN, -1.0, 0.0]), [0; 3]);
        assert_eq!(to_screen([f32::INFINITY; 3]), [255; 3]);
    }
}
