//! The value that means no data in the samples of a map. GDAL writes it as decimal text, and compares it with samples in
//! their own type: a float of 32 bits equals the text if that rounds to it.
//!
//! Source: GDAL's GeoTIFF driver, "GDAL_NODATA"; its gdal_priv_templates.hpp (`GDALIsValueExactAs`).

use super::directory::{Directory, Tiff};
use super::sample_format::SampleFormat;
use super::tag;

/// A value that samples of one format can have.
#[derive(Clone, Copy, Debug)]
pub struct NoData(f64);

impl NoData {
    /// Reads the tag. Returns `None` if it is missing, or if no sample can have the value.
    pub fn read(tiff: &Tiff, directory: &Directory, sample: SampleFormat) -> Option<Self> {
        Self::of(&tiff.text(directory, tag::NO_DATA)?, sample)
    }

    /// Reads a number as GDAL, QGIS and their predecessors write it: also with a decimal comma, and as Windows' C
    /// library writes numbers that are not finite.
    pub(super) fn of(text: &str, sample: SampleFormat) -> Option<Self> {
        let text = text.split_whitespace().next()?.to_ascii_lowercase().replace(',', ".");
        let value = match text.trim_start_matches(['+', '-']) {
            "1.#qnan" | "1.#ind" | "1.#snan" | "nan" => f64::NAN,
            "1.#inf" if text.starts_with('-') => f64::NEG_INFINITY,
            "1.#inf" => f64::INFINITY,
            _ => text.parse().ok()?,
        };
        sample.nearest(value).map(Self)
    }

    /// Returns true if a sample has no data.
    pub fn is(self, value: f64) -> bool {
        value == self.0 || value.is_nan() && self.0.is_nan()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_none(text: &str, (bits, format): (u64, u64), stored: &[u8]) -> bool {
        let sample = SampleFormat::new(bits, format).unwrap();
        NoData::of(text, sample).is_some_and(|no_data| no_data.is(sample.value(stored, 0)))
    }

    #[test]
    fn text_is_compared_in_the_type_of_the_samples() {
        for (text, float) in [
            ("-9999.9", -9999.9_f32),
            ("-9999,9", -9999.9),
            ("-3.4028234663852886e+38", f32::MIN),
            ("-3.40282346600000016e+38", f32::MIN),
            ("-3.4e+38", -3.4e38),
            ("0.1 ", 0.1),
            ("nan", f32::NAN),
            ("-1.#IND", f32::NAN),
            ("inf", f32::INFINITY),
            ("-1.#INF", f32::NEG_INFINITY),
        ] {
            assert!(is_none(text, (32, 3), &float.to_le_bytes()), "{text}");
            assert!(!is_none(text, (32, 3), &1.5_f32.to_le_bytes()), "{text}");
        }
        assert!(!is_none("-9999.9", (32, 3), &(-9999.899_f32).to_le_bytes()));
        assert!(is_none("-9999.9", (64, 3), &(-9999.9_f64).to_le_bytes()));
        assert!(!is_none("-9999.9", (64, 3), &f64::from(-9999.9_f32).to_le_bytes()));
        // Half of 0.1 is 0x2e66.
        assert!(is_none("0.1", (16, 3), &[0x66, 0x2e]) && !is_none("0.1", (16, 3), &[0x67, 0x2e]));
        assert!(
            is_none("0.1", (24, 3), &[0x9a, 0x99, 0x3b]) && !is_none("0.1", (24, 3), &[0x9b, 0x99, 0x3b])
        );
    }

    #[test]
    fn integers_equal_the_numbers_that_they_can_have() {
        assert!(
            is_none("0", (8, 1), &[0]) && is_none("255", (8, 1), &[255]) && is_none("0.0", (16, 1), &[0, 0])
        );
        assert!(
            is_none("-32768", (16, 2), &[0, 0x80]) && is_none("-9999", (32, 2), &(-9999_i32).to_le_bytes())
        );
        assert!(is_none("65535", (16, 1), &[255, 255]) && is_none("4294967295", (32, 1), &[255; 4]));
        for text in ["-9999", "256", "0.5", "nan", "-1.#INF", "", "none"] {
            assert!(!(0..=255).any(|value| is_none(text, (8, 1), &[value])), "{text}");
        }
    }
}
