//! Conversions of single samples and pixels to 8-bit grey, RGB or RGBA.

/// Rounds a 16-bit sample to 8 bits: 65535 becomes 255, 128 becomes 0, 129 becomes 1.
pub fn round_16(sample: u16) -> u8 {
    ((u32::from(sample) * 255 + 32_895) >> 16) as u8
}

/// Converts full-range YCbCr of ITU-R BT.601, as in JPEG, to RGB (JFIF 1.02, ITU-T T.871, clause 7).
pub fn from_ycbcr([luma, blue, red]: [u8; 3]) -> [u8; 3] {
    let luma = f32::from(luma);
    let (blue, red) = (f32::from(blue) - 128.0, f32::from(red) - 128.0);
    [luma + 1.402 * red, luma - 0.344_136 * blue - 0.714_136 * red, luma + 1.772 * blue]
        .map(|colour| colour.round() as u8)
}

/// Converts CIE L*a*b* under D50, in the 8 bits of TIFF, to sRGB. L* is from 0 to 255, a* and b* are signed (TIFF 6.0,
/// section 23).
pub fn from_lab([lightness, a, b]: [u8; 3]) -> [u8; 3] {
    let lightness = f32::from(lightness) * 100.0 / 255.0;
    let (a, b) = (f32::from(a as i8), f32::from(b as i8));
    let y = (lightness + 16.0) / 116.0;
    let cube = |t: f32| if t > 6.0 / 29.0 { t * t * t } else { (t - 4.0 / 29.0) * 108.0 / 841.0 };
    let (x, y, z) = (0.964_22 * cube(y + a / 500.0), cube(y), 0.825_21 * cube(y - b / 200.0));
    // The matrix includes Bradford's adaptation to D65 (Lindbloom, "RGB/XYZ matrices").
    [
        3.133_856 * x - 1.616_867 * y - 0.490_615 * z,
        -0.978_768 * x + 1.916_142 * y + 0.033_454 * z,
        0.071_945 * x - 0.228_991 * y + 1.405_243 * z,
    ]
    .map(encode_srgb)
}

/// Encodes a linear value from 0 to 1 as 8-bit sRGB (IEC 61966-2-1).
pub fn encode_srgb(linear: f32) -> u8 {
    let linear = linear.clamp(0.0, 1.0);
    let encoded = if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (encoded * 255.0).round() as u8
}

/// Converts a float of 16 bits (IEEE 754 binary16): `seeeeemm mmmmmmmm`, with sign, exponent and mantissa.
pub fn half(bits: u16) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    let size = match exponent {
        0 => mantissa * 2f32.powi(-24),
        0x1f if mantissa == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f32.powi(exponent - 15),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// Returns the colour before it was multiplied by alpha.
pub fn unmultiply(colour: u8, alpha: u8) -> u8 {
    match alpha {
        0 => 0,
        _ => ((u32::from(colour) * 255 + u32::from(alpha) / 2) / u32::from(alpha)).min(255) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_are_rounded_to_eight() {
        for sample in 0..=u16::MAX {
            assert_eq!(round_16(sample), (f64::from(sample) / 257.0).round() as u8, "{sample}");
        }
    }

    #[test]
    fn grey_has_no_chroma() {
        assert_eq!(from_ycbcr([77, 128, 128]), [77; 3]);
        assert_eq!(from_ycbcr([255, 255, 255]), [255, 121, 255]);
    }

    #[test]
    fn lab_white_black_and_red_become_those_of_srgb() {
        assert_eq!(from_lab([255, 0, 0]), [255; 3]);
        assert_eq!(from_lab([0, 0, 0]), [0; 3]);
        // sRGB's red: L* 54.3, a* 80.8, b* 69.9 under D50.
        let red = from_lab([138, 81, 70]);
        assert!(red[0] >= 252 && red[1] < 20 && red[2] < 12, "{red:?}");
    }

    #[test]
    fn floats_of_16_bits_are_converted() {
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0x3800), 0.5);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x0001), 2f32.powi(-24));
        assert_eq!(half(0x7c00), f32::INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn unmultiplying_undoes_the_multiplication() {
        assert_eq!(unmultiply(64, 128), 128);
        assert_eq!(unmultiply(200, 100), 255);
        assert_eq!(unmultiply(9, 0), 0);
    }
}
