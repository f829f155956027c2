//! Stretches maps and pictures of satellites and microscopes, whose samples use a small part of their range: plain
//! scaling would show black. Each band is stretched between its 2nd and 98th percentile, as geographic programs do.
//!
//! Clouds are many times as bright as land, so the stretched land of a cloudy scene would be nearly black. Its dark parts
//! are then brightened by a gamma that no value clips.
//!
//! Source: QGIS, "Cumulative count cut".

use super::channels;
use super::directory::{self, Directory, Tiff};
use super::no_data::NoData;
use super::sample_format::SampleFormat;
use super::tag;

/// Maximum number of values of a band that are sampled.
pub const MOST_VALUES: usize = 1 << 16;
/// A picture looks black or empty if plain scaling shows its 98th percentile as less than this, or its percentiles
/// closer together.
const DARK: f64 = 1.0 / 8.0;
/// A map has clouds if a stretch shows a quarter of its values as less than this.
const CLOUDY: f64 = 3.0 / 16.0;
/// That quarter is then shown as up to this, unless plain scaling shows it brighter.
const LAND: f64 = 1.0 / 4.0;
/// Number of shades of a gamma that are computed beforehand.
const SHADES: usize = 1 << 16;

/// The conversion of each band's values to 0 to 255.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Values of each band that become 0 and 255.
    bands: Vec<(f64, f64)>,
    no_data: Option<NoData>,
    /// The sample for each value between them; `None` if it is the value itself.
    gamma: Option<Vec<u8>>,
}

/// The bands of a picture.
struct Bands {
    sample: SampleFormat,
    spreads: Vec<Spread>,
}

/// The distribution of a band's values.
#[derive(Clone, Copy)]
struct Spread {
    /// 2nd percentile.
    low: f64,
    /// 25th percentile of the values above.
    quarter: f64,
    /// 98th percentile.
    high: f64,
}

/// Returns true if the samples of a picture are measurements.
pub fn is_measured(tiff: &Tiff, directory: &Directory) -> bool {
    let describes = |text: Option<String>| {
        text.is_some_and(|text| {
            text.contains("<OME ") || text.starts_with("ImageJ=") || channels::is_qptiff(&text)
        })
    };
    directory::is_map(directory) || describes(tiff.text(directory, tag::DESCRIPTION))
}

impl Stretch {
    /// Returns the stretch for bands with these sampled values, if plain scaling would show black or nothing.
    pub fn of(
        sample: SampleFormat,
        bands: Vec<Vec<f64>>,
        no_data: Option<NoData>,
        is_map: bool,
    ) -> Option<Self> {
        let spreads: Vec<Spread> = bands.into_iter().map(|values| Spread::of(values, no_data)).collect();
        let bands = Bands { sample, spreads };
        let land = if is_map && bands.are_light() { bands.land_below_clouds() } else { None };
        if land.is_none() && !bands.are_dark() && !bands.are_beyond_range() {
            return None;
        }
        let bands = bands.spreads.iter().map(|band| (band.low, band.high)).collect();
        Some(Self { bands, no_data, gamma: land.map(gamma) })
    }

    /// Converts the samples of a row, of which `together` belong to a pixel. `first` is the band of the first one.
    pub fn to_8_bit(&self, sample: SampleFormat, row: &[u8], together: usize, first: usize, out: &mut [u8]) {
        for (index, out) in out.iter_mut().enumerate() {
            let value = sample.value(row, index);
            *out = match (self.bands.get(first + index % together), &self.gamma) {
                _ if self.no_data.is_some_and(|no_data| no_data.is(value)) => 0,
                (Some(&(low, high)), None) => ((value - low) / (high - low) * 255.0).round() as u8,
                (Some(&(low, high)), Some(gamma)) => {
                    let shade = ((value - low) / (high - low)).clamp(0.0, 1.0);
                    gamma.get((shade * (SHADES - 1) as f64) as usize).copied().unwrap_or_default()
                }
                (None, _) => {
                    let (least, most) = sample.range();
                    ((value - least) / (most - least) * 255.0).round() as u8
                }
            };
        }
    }
}

impl Bands {
    /// Returns what plain scaling shows for a value, from 0 to 1.
    fn shade(&self, value: f64) -> f64 {
        let (least, most) = self.sample.range();
        (value - least) / (most - least)
    }

    /// Returns true if plain scaling shows black or nothing.
    fn are_dark(&self) -> bool {
        self.spreads.iter().all(|band| {
            let (low, high) = (self.shade(band.low), self.shade(band.high));
            high < DARK || high - low < DARK
        })
    }

    /// Returns true if floats are far from 0 to 1.
    fn are_beyond_range(&self) -> bool {
        let is_beyond = |band: &Spread| band.low < -DARK || band.high > 1.0 + DARK;
        self.sample.is_float() && self.spreads.iter().any(is_beyond)
    }

    /// Returns true unless values may be heights, which have neither clouds nor a shade that is too dark.
    fn are_light(&self) -> bool {
        self.spreads.len() >= 3 || !self.sample.is_float() && self.sample.range().0 == 0.0
    }

    /// Returns the shade that a stretch gives the lowest quarter of the values, if clouds make it dark.
    fn land_below_clouds(&self) -> Option<f64> {
        let quarters = self.spreads.iter().map(|band| (band.quarter - band.low) / (band.high - band.low));
        let land = quarters.sum::<f64>() / self.spreads.len() as f64;
        let is_cloudy = land > 0.0 && land < CLOUDY;
        (is_cloudy && self.spreads.iter().all(|band| self.shade(band.quarter) < LAND)).then_some(land)
    }
}

/// Returns what is shown for each value between 0 and 1, so that `land` becomes [`LAND`].
fn gamma(land: f64) -> Vec<u8> {
    let exponent = LAND.ln() / land.ln();
    let shade = |index: usize| (index as f64 / (SHADES - 1) as f64).powf(exponent);
    (0..SHADES).map(|index| (shade(index) * 255.0).round() as u8).collect()
}

impl Spread {
    /// Returns the percentiles of values. The 2nd and the 98th differ.
    fn of(mut values: Vec<f64>, no_data: Option<NoData>) -> Self {
        values.retain(|&value| value.is_finite() && !no_data.is_some_and(|no_data| no_data.is(value)));
        values.sort_by(f64::total_cmp);
        let at = |values: &[f64], share: usize| {
            let last = values.len().saturating_sub(1);
            values.get(last * share / 100).copied().unwrap_or_default()
        };
        let (low, high) = (at(&values, 2), at(&values, 98));
        // A border without data has one value.
        let above = values.get(values.partition_point(|&value| value <= low)..).unwrap_or_default();
        let quarter = if above.is_empty() { low } else { at(above, 25) };
        Self { low, quarter, high: if high > low { high } else { low + 1.0 } }
    }
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
        assert!(Stretch::of(sample, vec![values(0, 60_000)], None, true).is_none());
        let stretch = Stretch::of(sample, vec![values(0, 1001)], None, true).unwrap();
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
        let no_data = NoData::of("-9999", sample);
        let stretch = Stretch::of(sample, vec![heights], no_data, true).unwrap();
        assert_eq!(stretch.bands, [(451.0, 2947.0)]);
        let unit: Vec<f64> = values(0, 100).iter().map(|value| value / 100.0).collect();
        assert!(Stretch::of(sample, vec![unit], None, true).is_none());
    }

    /// Returns what is shown of land of 300 to 2,400 below clouds of 8,000 to 11,000, of which there are this many
    /// percent, and of the brightest cloud. Values are multiplied with `unit`.
    fn land_and_clouds(sample: SampleFormat, clouds: usize, unit: f64, is_map: bool) -> [u8; 3] {
        let land = (0..100 - clouds).flat_map(|turn| (0..70).map(move |step| 300 + step * 30 + turn % 30));
        let clouds = (0..clouds).flat_map(|turn| (0..70).map(move |step| 8000 + step * 40 + turn % 40));
        let values: Vec<f64> = land.chain(clouds).map(|value| value as f64 * unit).collect();
        let row = [700.0, 1800.0, 10_500.0].map(|value: f64| value * unit);
        let row: Vec<u8> = match sample.is_float() {
            true => row.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
            false => row.iter().flat_map(|&value| (value as u16).to_le_bytes()).collect(),
        };
        let mut out = [0; 3];
        match Stretch::of(sample, vec![values; 3], None, is_map) {
            Some(stretch) => stretch.to_8_bit(sample, &row, 3, 0, &mut out),
            None => sample.to_8_bit(&row, &mut out),
        }
        out
    }

    #[test]
    fn the_land_of_a_cloudy_scene_is_visible_and_its_clouds_are_white() {
        let wide = SampleFormat::new(16, 1).unwrap();
        let float = SampleFormat::new(32, 3).unwrap();
        for clouds in [5, 20, 33, 50, 65] {
            for (sample, unit) in [(wide, 1.0), (wide, 0.3), (wide, 0.1), (float, 1e-4)] {
                let [dark, bright, cloud] = land_and_clouds(sample, clouds, unit, true);
                assert!(
                    dark >= 20 && bright >= 55 && cloud > 220,
                    "{clouds} %, {unit}: {dark} {bright} {cloud}"
                );
                assert!(bright < 200, "{clouds} %, {unit}: {bright}");
            }
        }
        // The light of a microscope is shown as it is measured.
        let [dark, _, bright] = land_and_clouds(wide, 33, 1.0, false);
        assert!(dark < 10 && bright < 60, "{dark} {bright}");
    }
}
