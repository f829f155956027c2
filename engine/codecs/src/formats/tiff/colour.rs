//! TIFF's colour spaces, converted to 8-bit grey, RGB or RGBA.
//!
//! Source: TIFF 6.0, section 8 (PhotometricInterpretation), 16 (CMYK), 18 (ExtraSamples), 20 (ReferenceBlackWhite), 21
//! (YCbCr), 23 (L*a*b*); TIFF Technical Note 4 (ICC L*a*b*).

use super::FORMAT;
use super::directory::{Directory, Tiff};
use super::sample_format::SampleFormat;
use super::tag::{self, photometric};
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::colour::samples::{from_lab, round_16, unmultiply};
use crate::{Layout, SourceError};

/// Value of ExtraSamples for alpha that the colours are multiplied with.
const ASSOCIATED: u64 = 1;
/// Value of ExtraSamples for alpha that the colours are not multiplied with.
const UNASSOCIATED: u64 = 2;

/// The meaning of a pixel's samples.
pub struct Colour {
    model: Model,
    /// Number of samples in a pixel, unused ones included.
    samples: usize,
    alpha: Alpha,
    /// Index of the alpha sample.
    alpha_at: usize,
}

enum Model {
    Grey,
    /// 0 is white.
    Inverted,
    Rgb,
    Cmyk(CmykConverter),
    YCbCr(Box<YCbCr>),
    /// CIE L*a*b* with `a` and `b` signed.
    Lab,
    /// CIE L*a*b* with 128 added to `a` and `b`.
    IccLab,
    /// The first sample is an index.
    Palette(Vec<[u8; 3]>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alpha {
    None,
    Unassociated,
    /// The colours are multiplied with it.
    Associated,
}

/// The conversion from YCbCr of full or reduced range.
struct YCbCr {
    luma: [f32; 256],
    chroma: [[f32; 256]; 2],
    /// Lumas of red, green and blue.
    coefficients: [f32; 3],
}

impl Colour {
    /// Reads the colour space of a picture with `samples` samples a pixel.
    pub fn new(
        tiff: &mut Tiff,
        directory: &Directory,
        photometric: u64,
        samples: usize,
        profile: Option<&Profile>,
    ) -> Result<Self, SourceError> {
        let extra = tiff.list(directory, tag::EXTRA_SAMPLES).ok().flatten().unwrap_or_default();
        let number = u16::try_from(photometric).unwrap_or(u16::MAX);
        let (model, colours) = match number {
            // Pictures of satellites often call three or more bands grey. libvips guesses the same.
            photometric::GREY if samples - extra.len().min(samples) >= 3 || is_bands(&extra, samples) => {
                (Model::Rgb, 3)
            }
            photometric::GREY | photometric::MASK => (Model::Grey, 1),
            photometric::WHITE_IS_0 => (Model::Inverted, 1),
            photometric::RGB if samples < 3 => (Model::Grey, 1),
            photometric::RGB => (Model::Rgb, 3),
            photometric::CMYK if samples >= 4 => (Model::Cmyk(CmykConverter::new(profile)), 4),
            photometric::YCBCR if samples >= 3 => (Model::YCbCr(Box::new(YCbCr::new(tiff, directory))), 3),
            photometric::LAB | photometric::ICC_LAB if samples < 3 => (Model::Grey, 1),
            photometric::LAB => (Model::Lab, 3),
            photometric::ICC_LAB => (Model::IccLab, 3),
            photometric::PALETTE => {
                let entries = tiff.list(directory, tag::COLOR_MAP)?.unwrap_or_default();
                (Model::Palette(palette(&entries)), 1)
            }
            _ => {
                let what = match number {
                    32803 | 34892 => "it is a camera's raw picture".to_owned(),
                    _ => format!("its PhotometricInterpretation is {photometric}, of {samples} samples"),
                };
                return Err(FORMAT.unsupported(what));
            }
        };
        let found = extra.iter().position(|&kind| matches!(kind, ASSOCIATED | UNASSOCIATED));
        let found = found.filter(|at| colours + at < samples && !matches!(model, Model::Cmyk(_)));
        let (alpha, alpha_at) = match found.map(|at| (extra[at], colours + at)) {
            Some((ASSOCIATED, at)) => (Alpha::Associated, at),
            Some((_, at)) => (Alpha::Unassociated, at),
            // A fourth sample without the tag is alpha by convention. One that the tag calls unspecified is not: it is
            // infrared in pictures of satellites.
            None if matches!(number, photometric::RGB) && samples == 4 && extra.is_empty() => {
                (Alpha::Unassociated, 3)
            }
            None => (Alpha::None, 0),
        };
        Ok(Self { model, samples, alpha, alpha_at })
    }

    pub fn layout(&self) -> Layout {
        match (self.alpha, &self.model) {
            (Alpha::None, Model::Grey | Model::Inverted) => Layout::Grey,
            (Alpha::None, _) => Layout::Rgb,
            _ => Layout::Rgba,
        }
    }

    /// Returns the number of samples in a pixel.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Returns true if the values of samples are colours that may be stretched.
    pub fn is_linear(&self) -> bool {
        matches!(self.model, Model::Grey | Model::Rgb)
    }

    /// Returns true if what a file says of values, as which of them means no data, is of its samples: those of other
    /// models are converted to red, green and blue first.
    pub fn has_own_values(&self) -> bool {
        matches!(self.model, Model::Grey | Model::Inverted | Model::Rgb | Model::Palette(_))
    }

    /// Returns the number of a pixel's samples that are colours.
    pub fn colours(&self) -> usize {
        if matches!(self.model, Model::Grey | Model::Inverted | Model::Palette(_)) { 1 } else { 3 }
    }

    /// Returns true if 8-bit samples are pixels already.
    pub fn is_final(&self) -> bool {
        let direct = matches!(self.model, Model::Grey | Model::Rgb) && self.alpha != Alpha::Associated;
        direct && self.samples == self.layout().channels()
    }

    /// Converts a row of stored samples, of which `together` belong to a pixel, to 8 bits. `first` is the index of the
    /// first one within a pixel.
    pub fn unpack(&self, sample: SampleFormat, row: &[u8], together: usize, first: usize, out: &mut [u8]) {
        match &self.model {
            Model::Palette(colours) if first == 0 && sample.bits != 8 => {
                sample.to_8_bit(row, out);
                // Colours of a palette beyond the first 256 are not shown.
                let last = colours.len().min(256).saturating_sub(1);
                for (pixel, out) in out.iter_mut().step_by(together).enumerate() {
                    *out = sample.index(row, pixel * together).min(last) as u8;
                }
            }
            Model::Lab | Model::IccLab if sample.bits != 8 => {
                let is_icc = matches!(self.model, Model::IccLab);
                for (index, out) in out.iter_mut().enumerate() {
                    let channel = first + index % together;
                    *out = lab_sample(sample, sample.value(row, index), channel, is_icc);
                }
            }
            Model::Lab => out.iter_mut().zip(row).for_each(|(out, &value)| *out = value),
            _ => sample.to_8_bit(row, out),
        }
    }

    /// Converts 8-bit samples to pixels.
    pub fn convert(&self, samples: &[u8], out: &mut [u8]) {
        if self.is_final() {
            return out.copy_from_slice(samples);
        }
        if let (Model::Cmyk(converter), 4) = (&self.model, self.samples) {
            return converter.convert(samples, out);
        }
        let channels = self.layout().channels();
        for (pixel, out) in samples.chunks_exact(self.samples).zip(out.chunks_exact_mut(channels)) {
            let colour = self.colour(pixel);
            if let [grey] = out {
                *grey = colour[0];
                continue;
            }
            out[..3].copy_from_slice(&colour);
            if let ([red, green, blue, out], Some(&alpha)) = (out, pixel.get(self.alpha_at)) {
                *out = alpha;
                if self.alpha == Alpha::Associated {
                    for colour in [red, green, blue] {
                        *colour = unmultiply(*colour, alpha);
                    }
                }
            }
        }
    }

    fn colour(&self, pixel: &[u8]) -> [u8; 3] {
        match (&self.model, pixel) {
            (Model::Grey, &[grey, ..]) => [grey; 3],
            (Model::Inverted, &[grey, ..]) => [255 - grey; 3],
            (Model::Rgb, &[red, green, blue, ..]) => [red, green, blue],
            (Model::Cmyk(converter), [cyan, magenta, yellow, black, ..]) => {
                let mut colour = [0; 3];
                converter.convert(&[*cyan, *magenta, *yellow, *black], &mut colour);
                colour
            }
            (Model::YCbCr(model), &[luma, blue, red, ..]) => model.convert([luma, blue, red]),
            (Model::Lab, &[lightness, a, b, ..]) => from_lab([lightness, a, b]),
            (Model::IccLab, &[lightness, a, b, ..]) => from_lab([lightness, a ^ 0x80, b ^ 0x80]),
            (Model::Palette(palette), &[index, ..]) => {
                palette.get(usize::from(index)).copied().unwrap_or_default()
            }
            _ => [0; 3],
        }
    }
}

/// Returns true if all samples but the first are bands of unspecified meaning, at least three in all.
fn is_bands(extra: &[u64], samples: usize) -> bool {
    samples >= 3 && extra.len() + 1 == samples && extra.iter().all(|&kind| kind == 0)
}

/// Converts a sample of CIE L*a*b* to its stored form of 8 bits.
fn lab_sample(sample: SampleFormat, value: f64, channel: usize, is_icc: bool) -> u8 {
    let (least, most) = sample.range();
    let scaled = match (sample.is_float(), channel) {
        // libvips writes signed integers.
        (false, 0) if least < 0.0 => value * 255.0 / most,
        (false, _) if least < 0.0 => value / 256.0,
        (true, 0) => value * 2.55,
        (true, _) => value,
        (false, 0) if is_icc => value / 256.0,
        (false, 0) => return round_16(value as u16),
        (false, _) => (value / 256.0).round(),
    };
    let scaled = scaled.round();
    match (channel, is_icc && !sample.is_float()) {
        (0, _) | (_, true) => scaled.clamp(0.0, 255.0) as u8,
        // A value above 127 is a negative number of 16 bits.
        _ if scaled > 127.0 => (scaled - 256.0).clamp(-128.0, 127.0) as i8 as u8,
        _ => scaled.clamp(-128.0, 127.0) as i8 as u8,
    }
}

/// Returns the colours of a ColorMap: all reds, all greens, all blues, 16 bits each. Source: TIFF 6.0, section 5.
fn palette(entries: &[u64]) -> Vec<[u8; 3]> {
    let colours = entries.len() / 3;
    let (reds, others) = entries.split_at(colours);
    let (greens, blues) = others.split_at(colours);
    // Some programs write 8-bit values.
    let is_8_bit = entries.iter().all(|&entry| entry < 256);
    let to_8_bits = |entry: u64| if is_8_bit { entry as u8 } else { round_16(entry as u16) };
    let colours = reds.iter().zip(greens).zip(blues);
    colours.map(|((&red, &green), &blue)| [red, green, blue].map(to_8_bits)).collect()
}

impl YCbCr {
    fn new(tiff: &mut Tiff, directory: &Directory) -> Self {
        let known = |list: Option<Vec<f64>>, count: usize| {
            list.filter(|list| list.len() >= count && list.iter().all(|value| value.is_finite()))
        };
        let coefficients = known(tiff.fractions(directory, tag::YCBCR_COEFFICIENTS), 3);
        let coefficients = coefficients.filter(|list| list[..3].iter().all(|&value| value > 0.0));
        let coefficients = coefficients.unwrap_or_else(|| vec![0.299, 0.587, 0.114]);
        let range = known(tiff.fractions(directory, tag::REFERENCE_BLACK_WHITE), 6);
        let range = range.filter(|list| list[..6].chunks(2).all(|pair| pair[1] > pair[0]));
        let range = range.unwrap_or_else(|| vec![0.0, 255.0, 128.0, 255.0, 128.0, 255.0]);
        let scaled = |black: f64, white: f64, full: f64| {
            std::array::from_fn(|code| ((code as f64 - black) * full / (white - black)) as f32)
        };
        Self {
            luma: scaled(range[0], range[1], 255.0),
            chroma: [scaled(range[2], range[3], 127.0), scaled(range[4], range[5], 127.0)],
            coefficients: [coefficients[0], coefficients[1], coefficients[2]].map(|value| value as f32),
        }
    }

    fn convert(&self, [luma, blue, red]: [u8; 3]) -> [u8; 3] {
        let [of_red, of_green, of_blue] = self.coefficients;
        let luma = self.luma[usize::from(luma)];
        let red = self.chroma[1][usize::from(red)] * (2.0 - 2.0 * of_red) + luma;
        let blue = self.chroma[0][usize::from(blue)] * (2.0 - 2.0 * of_blue) + luma;
        let green = (luma - of_blue * blue - of_red * red) / of_green;
        [red, green, blue].map(|colour| colour.round() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn palettes_have_16_bits_or_8() {
        assert_eq!(palette(&[65535, 0, 257, 0, 514, 0]), [[255, 1, 2], [0, 0, 0]]);
        assert_eq!(palette(&[255, 0, 1, 0, 2, 0]), [[255, 1, 2], [0, 0, 0]]);
    }

    #[test]
    fn lab_of_16_bits_and_of_floats_is_that_of_8() {
        let wide = SampleFormat::new(16, 1).unwrap();
        let float = SampleFormat::new(32, 3).unwrap();
        for (channel, value) in [(0, 200u8), (1, 5), (1, 251), (2, 128)] {
            let of_16 = if channel == 0 { f64::from(value) * 257.0 } else { f64::from(value) * 256.0 };
            assert_eq!(lab_sample(wide, of_16, channel, false), value, "{channel}");
            let of_float = if channel == 0 { f64::from(value) / 2.55 } else { f64::from(value as i8) };
            assert_eq!(lab_sample(float, of_float, channel, false), value, "{channel}");
        }
        assert_eq!(lab_sample(wide, 65280.0, 0, true), 255);
        assert_eq!(lab_sample(wide, 32768.0, 1, true), 128);
    }
}
