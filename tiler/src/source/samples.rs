//! Samples and colours of other kinds, made 8-bit grey, RGB or RGBA.

/// A 16-bit sample as 8 bits, rounded: 65535 becomes 255, 128 becomes 0, 129 becomes 1.
pub fn round_16(sample: u16) -> u8 {
    ((u32::from(sample) * 255 + 32_895) >> 16) as u8
}

/// Ink in percent of 255 on white paper: what subtracts light. Cyan, magenta, yellow and black; 0 is no ink.
pub fn from_cmyk([cyan, magenta, yellow, black]: [u8; 4]) -> [u8; 3] {
    [cyan, magenta, yellow].map(|ink| multiply(255 - ink, 255 - black))
}

/// The same where 255 is no ink, as Adobe's programs store it in JPEG.
pub fn from_inverted_cmyk([cyan, magenta, yellow, black]: [u8; 4]) -> [u8; 3] {
    [cyan, magenta, yellow].map(|light| multiply(light, black))
}

/// The product of two fractions of 255, rounded.
fn multiply(one: u8, other: u8) -> u8 {
    ((u32::from(one) * u32::from(other) + 127) / 255) as u8
}

/// Full-range YCbCr of ITU-R BT.601, as JPEG has it.
pub fn from_ycbcr([luma, blue, red]: [u8; 3]) -> [u8; 3] {
    let luma = f32::from(luma);
    let (blue, red) = (f32::from(blue) - 128.0, f32::from(red) - 128.0);
    [luma + 1.402 * red, luma - 0.344_136 * blue - 0.714_136 * red, luma + 1.772 * blue]
        .map(|colour| colour.round() as u8)
}

/// Takes the opacity out of a colour that it was multiplied into.
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
    fn paper_is_white_and_black_ink_is_black() {
        assert_eq!(from_cmyk([0, 0, 0, 0]), [255; 3]);
        assert_eq!(from_cmyk([255, 0, 0, 0]), [0, 255, 255]);
        assert_eq!(from_cmyk([0, 0, 0, 255]), [0; 3]);
        assert_eq!(from_inverted_cmyk([255; 4]), [255; 3]);
        assert_eq!(from_inverted_cmyk([0, 255, 255, 255]), [0, 255, 255]);
    }

    #[test]
    fn grey_has_no_chroma() {
        assert_eq!(from_ycbcr([77, 128, 128]), [77; 3]);
        assert_eq!(from_ycbcr([255, 255, 255]), [255, 121, 255]);
    }

    #[test]
    fn opacity_comes_out_again() {
        assert_eq!(unmultiply(64, 128), 128);
        assert_eq!(unmultiply(200, 100), 255);
        assert_eq!(unmultiply(9, 0), 0);
    }
}
