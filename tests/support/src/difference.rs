//! How far two pictures are from each other: in numbers, and to the eye.

use edgezoom_codecs::Layout;

use crate::Picture;

/// What two pictures differ by, of 255.
pub struct Difference {
    pub mean: f64,
    pub most: u8,
}

impl Difference {
    /// Compares two pictures as they look on black and on white, so that colours under full transparency do not count.
    ///
    /// # Errors
    /// When their sizes differ.
    pub fn between(one: &Picture, other: &Picture) -> Result<Self, String> {
        if one.size() != other.size() {
            return Err(format!("the size is {:?} and should be {:?}", one.size(), other.size()));
        }
        let (mut sum, mut most) = (0u64, 0);
        for (one, other) in colours(one).zip(colours(other)) {
            for backdrop in [0.0, 255.0] {
                for (one, other) in on(one, backdrop).into_iter().zip(on(other, backdrop)) {
                    let difference = one.abs_diff(other);
                    sum += u64::from(difference);
                    most = difference.max(most);
                }
            }
        }
        Ok(Self { mean: sum as f64 / (6 * one.size().pixels()) as f64, most })
    }
}

/// A picture's pixels as red, green, blue and opacity.
pub fn colours(picture: &Picture) -> impl Iterator<Item = [u8; 4]> + '_ {
    picture.pixels.chunks_exact(picture.layout.channels()).map(|pixel| match (picture.layout, pixel) {
        (Layout::Grey, &[grey]) => [grey, grey, grey, 255],
        (Layout::Rgb, &[red, green, blue]) => [red, green, blue, 255],
        (_, &[red, green, blue, alpha]) => [red, green, blue, alpha],
        _ => panic!("an odd pixel"),
    })
}

fn on([red, green, blue, alpha]: [u8; 4], backdrop: f64) -> [u8; 3] {
    let alpha = f64::from(alpha) / 255.0;
    [red, green, blue].map(|colour| (f64::from(colour) * alpha + backdrop * (1.0 - alpha)).round() as u8)
}

/// CIE's ΔE of 2000 between two colours of sRGB: 1 is what a trained eye just sees.
pub fn delta_e(one: [u8; 3], other: [u8; 3]) -> f64 {
    let ([l1, a1, b1], [l2, a2, b2]) = (lab(one), lab(other));
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let seventh = ((c1 + c2) / 2.0).powi(7);
    let stretch = 1.5 - 0.5 * (seventh / (seventh + 25f64.powi(7))).sqrt();
    let (a1, a2) = (a1 * stretch, a2 * stretch);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let grey = c1 * c2 == 0.0;
    let turn = if grey { 0.0 } else { (h2 - h1 + 540.0).rem_euclid(360.0) - 180.0 };
    let big_hue = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let mean_hue = if grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let (lightness, chroma) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(mean_hue - 30.0) + 0.24 * cos(2.0 * mean_hue) + 0.32 * cos(3.0 * mean_hue + 6.0)
        - 0.2 * cos(4.0 * mean_hue - 63.0);
    let off = (lightness - 50.0).powi(2);
    let sl = 1.0 + 0.015 * off / (20.0 + off).sqrt();
    let (sc, sh) = (1.0 + 0.045 * chroma, 1.0 + 0.015 * chroma * t);
    let seventh = chroma.powi(7);
    let around = 30.0 * (-((mean_hue - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * (seventh / (seventh + 25f64.powi(7))).sqrt() * (2.0 * around).to_radians().sin();
    let (dl, dc, dh) = ((l2 - l1) / sl, (c2 - c1) / sc, big_hue / sh);
    (dl * dl + dc * dc + dh * dh + rotation * dc * dh).max(0.0).sqrt()
}

/// CIE L*a*b* under D65.
fn lab(colour: [u8; 3]) -> [f64; 3] {
    let [red, green, blue] = colour.map(|value| {
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    let root = |t: f64| if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 };
    let x = root((0.412_456 * red + 0.357_576 * green + 0.180_437 * blue) / 0.950_47);
    let y = root(0.212_673 * red + 0.715_152 * green + 0.072_175 * blue);
    let z = root((0.019_334 * red + 0.119_192 * green + 0.950_304 * blue) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn delta_e_is_what_tables_say() {
    assert!(delta_e([200, 100, 50], [200, 100, 50]) < 1e-9);
    assert!((delta_e([0, 0, 0], [255, 255, 255]) - 100.0).abs() < 0.1);
    // sRGB's red and green are 86.6 apart.
    assert!((delta_e([255, 0, 0], [0, 255, 0]) - 86.6).abs() < 0.2);
}
