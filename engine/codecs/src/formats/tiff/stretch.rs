//! Stretches maps and pictures of satellites and microscopes, whose samples use a small part of their range: plain
//! scaling would show black. Each band is stretched between its 2nd and 98th percentile, as geographic programs do.
//!
//! Source: QGIS, "Cumulative count cut"; GDAL's GeoTIFF driver for the tag of the value that means no data.

use super::directory::{Directory, Tiff};
use super::sample_format::SampleFormat;
use super::tag;

/// Maximum number of values of a band that are sampled.
pub const MOST_VALUES: usize = 1 << 16;
/// A picture looks black or empty if plain scaling shows its 98th percentile as less than this, or its percentiles
/// closer together.
const DARK: f64 = 1.0 / 8.0;

/// The conversion of each band's values to 0 to 255.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Values of each band that become 0 and 255.
    bands: Vec<(f64, f64)>,
    /// Value that means no data.
    no_data: Option<f64>,
}

/// Returns true if the samples of a picture are measurements.
pub fn is_measured(tiff: &mut Tiff, directory: &Directory) -> bool {
    let describes =
        |text: Option<String>| text.is_some_and(|text| text.contains("<OME ") || text.starts_with("ImageJ="));
    tag::GEO.iter().any(|&tag| directory.has(tag)) || describes(tiff.text(directory, tag::DESCRIPTION))
}

/// Returns the value that means no data.
pub fn no_data(tiff: &mut Tiff, directory: &Directory) -> Option<f64> {
    tiff.text(directory, tag::NO_DATA)?.trim().parse().ok()
}

impl Stretch {
    /// Returns the stretch for bands with these sampled values, if plain scaling would show black or nothing.
    pub fn of(sample: SampleFormat, bands: Vec<Vec<f64>>, no_data: Option<f64>) -> Option<Self> {
        let (least, most) = sample.range();
        let shade = |value: f64| (value - least) / (most - least);
        let bands: Vec<(f64, f64)> = bands.into_iter().map(|values| percentiles(values, no_data)).collect();
        let is_dark = bands.iter().all(|&(low, high)| shade(high) < DARK || shade(high) - shade(low) < DARK);
        let is_beyond =
            sample.is_float() && bands.iter().any(|&(low, high)| low < -DARK || high > 1.0 + DARK);
        (is_dark || is_beyond).then_some(Self { bands, no_data })
    }

    /// Converts the samples of a row, of which `together` belong to a pixel. `first` is the band of the first one.
    pub fn to_8_bit(&self, sample: SampleFormat, row: &[u8], together: usize, first: usize, out: &mut [u8]) {
        for (index, out) in out.iter_mut().enumerate() {
            let value = sample.value(row, index);
            *out = match self.bands.get(first + index % together) {
                _ if self.no_data == Some(value) => 0,
                Some(&(low, high)) => ((value - low) / (high - low) * 255.0).round() as u8,
                None => {
                    let (least, most) = sample.range();
                    ((value - least) / (most - least) * 255.0).round() as u8
                }
            };
        }
    }
}

/// Returns the 2nd and the 98th percentile, which differ.
fn percentiles(mut values: Vec<f64>, no_data: Option<f64>) -> (f64, f64) {
    values.retain(|&value| value.is_finite() && no_data != Some(value));
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let at = |share: usize| values.get(last * share / 100).copied().unwrap_or_default();
    let (low, high) = (at(2), at(98));
    if high > low { (low, high) } else { (low, low + 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(from: u16, to: u16) -> Vec<f64> {
        (from..to).map(f64::from).collect()
    }

    #[test]
    fn bands_that_would_be_black_are_stretched_and_others_are_not() {
        let sample = SampleFormat::new(16, 1).unwrap();
        assert!(Stretch::of(sample, vec![values(0, 60_000)], None).is_none());
        let stretch = Stretch::of(sample, vec![values(0, 1001)], None).unwrap();
        let row: Vec<u8> = [0u16, 20, 500, 980, 1000].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut out = [0; 5];
        stretch.to_8_bit(sample, &row, 1, 0, &mut out);
        assert_eq!(out, [0, 0, 128, 255, 255]);
    }

    #[test]
    fn values_that_mean_no_data_do_not_count() {
        let sample = SampleFormat::new(32, 3).unwrap();
        let mut heights = values(400, 3000);
        heights.extend([-9999.0; 5000]);
        let stretch = Stretch::of(sample, vec![heights], Some(-9999.0)).unwrap();
        assert_eq!(stretch.bands, [(451.0, 2947.0)]);
        let unit: Vec<f64> = values(0, 100).iter().map(|value| value / 100.0).collect();
        assert!(Stretch::of(sample, vec![unit], None).is_none());
    }
}
