//! TIFF's sample formats and colour spaces, converted to 8-bit grey, RGB or RGBA.
//!
//! Source: TIFF 6.0, section 8 (PhotometricInterpretation), 16 (CMYK), 18 (ExtraSamples), 19 (SampleFormat), 21
//! (YCbCr), 23 (L*a*b*).

use std::iter::zip;

use ::tiff::ColorType;
use ::tiff::decoder::DecodingSampleType;

use super::error::NAME;
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::colour::samples::{from_lab, from_ycbcr, half, round_16, unmultiply};
use crate::{Layout, SourceError};

/// The value of ExtraSamples for alpha that the colours are multiplied with.
const ASSOCIATED: u16 = 1;
/// The value of ExtraSamples for alpha that they are not multiplied with.
const UNASSOCIATED: u16 = 2;

/// How a sample is stored, in the machine's byte order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// 1, 2 or 4 bits, packed from the left.
    Bits(u8),
    Uint8,
    Uint16,
    Uint32,
    /// From 0 to 1, as the other floats.
    Float16,
    Float32,
    Float64,
}

/// What the samples of a pixel mean.
pub struct Colour {
    model: Model,
    /// The samples of a pixel, unused ones included.
    samples: usize,
    alpha: Alpha,
}

enum Model {
    Grey,
    Rgb,
    Cmyk(CmykConverter),
    YCbCr,
    /// CIE L*a*b*, its `a` and `b` signed.
    Lab,
    /// Samples are indices.
    Palette(Vec<[u8; 3]>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alpha {
    None,
    /// The sample after the colours.
    Unassociated,
    /// The same, and the colours are multiplied with it.
    Associated,
}

impl Sample {
    pub fn new(bits: u8, kind: Option<DecodingSampleType>) -> Result<Self, SourceError> {
        match (kind, bits) {
            (Some(DecodingSampleType::U8), 1 | 2 | 4) => Ok(Self::Bits(bits)),
            (Some(DecodingSampleType::U8), 8) => Ok(Self::Uint8),
            (Some(DecodingSampleType::U16), 16) => Ok(Self::Uint16),
            (Some(DecodingSampleType::U32), 32) => Ok(Self::Uint32),
            (Some(DecodingSampleType::F16), 16) => Ok(Self::Float16),
            (Some(DecodingSampleType::F32), 32) => Ok(Self::Float32),
            (Some(DecodingSampleType::F64), 64) => Ok(Self::Float64),
            _ => Err(SourceError::unsupported(
                NAME,
                format_args!("its samples of {bits} bits have an unknown format"),
            )),
        }
    }

    /// The bytes of a sample, rounded up.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bits(_) | Self::Uint8 => 1,
            Self::Uint16 | Self::Float16 => 2,
            Self::Uint32 | Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }

    /// The bytes of a row of so many samples.
    pub fn row_bytes(self, samples: usize) -> usize {
        match self {
            Self::Bits(bits) => (samples * usize::from(bits)).div_ceil(8),
            _ => samples * self.bytes(),
        }
    }

    /// Unpacks a row of palette indices, one to a pixel, unscaled.
    pub fn unpack_indices<'a>(self, stored: &[u8], pixels: impl Iterator<Item = &'a mut [u8]>) {
        let bits = match self {
            Self::Bits(bits) => usize::from(bits),
            _ => 8,
        };
        let in_byte = 8 / bits;
        for (index, out) in pixels.flatten().enumerate() {
            let shift = 8 - bits * (index % in_byte + 1);
            *out = stored[index / in_byte] >> shift & (0xff >> (8 - bits));
        }
    }

    /// Unpacks a row of stored samples as 8 bits: `together` samples to a pixel, from its sample `at` on.
    pub fn unpack_8_bit<'a>(
        self,
        stored: &[u8],
        together: usize,
        pixels: impl Iterator<Item = &'a mut [u8]>,
        at: usize,
    ) {
        let out = pixels.flat_map(|pixel| pixel[at..at + together].iter_mut());
        let unit = |value: f64| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        match self {
            Self::Bits(bits) => {
                let max = (1u16 << bits) - 1;
                let in_byte = usize::from(8 / bits);
                for (index, out) in out.enumerate() {
                    let shift = 8 - usize::from(bits) * (index % in_byte + 1);
                    *out = ((u16::from(stored[index / in_byte]) >> shift & max) * 255 / max) as u8;
                }
            }
            Self::Uint8 => zip(out, stored).for_each(|(out, &value)| *out = value),
            Self::Uint16 => zip(out, stored.as_chunks().0)
                .for_each(|(out, &value)| *out = round_16(u16::from_ne_bytes(value))),
            Self::Uint32 => zip(out, stored.as_chunks().0).for_each(|(out, &value)| {
                *out = unit(f64::from(u32::from_ne_bytes(value)) / f64::from(u32::MAX))
            }),
            Self::Float16 => zip(out, stored.as_chunks().0)
                .for_each(|(out, &value)| *out = unit(f64::from(half(u16::from_ne_bytes(value))))),
            Self::Float32 => zip(out, stored.as_chunks().0)
                .for_each(|(out, &value)| *out = unit(f64::from(f32::from_ne_bytes(value)))),
            Self::Float64 => {
                zip(out, stored.as_chunks().0)
                    .for_each(|(out, &value)| *out = unit(f64::from_ne_bytes(value)));
            }
        }
    }
}

impl Colour {
    /// The colours of a TIFF with these ExtraSamples.
    pub fn new(color: ColorType, extra: &[u16], profile: Option<&Profile>) -> Result<Self, SourceError> {
        let alpha = match extra.first() {
            Some(&ASSOCIATED) => Alpha::Associated,
            Some(&UNASSOCIATED) => Alpha::Unassociated,
            _ => Alpha::None,
        };
        let (model, alpha) = match color {
            ColorType::Gray(_) => (Model::Grey, Alpha::None),
            ColorType::Multiband { .. } | ColorType::GrayA(_) => (Model::Grey, alpha),
            ColorType::RGB(_) => (Model::Rgb, Alpha::None),
            // A fourth sample without the tag is alpha by convention. One that the tag calls unspecified is not:
            // satellite pictures have infrared there.
            ColorType::RGBA(_) if extra.is_empty() => (Model::Rgb, Alpha::Unassociated),
            ColorType::RGBA(_) => (Model::Rgb, alpha),
            ColorType::CMYK(_) | ColorType::CMYKA(_) => {
                (Model::Cmyk(CmykConverter::new(profile)), Alpha::None)
            }
            ColorType::YCbCr(_) => (Model::YCbCr, Alpha::None),
            other => {
                return Err(SourceError::unsupported(NAME, format_args!("its colours are {other:?}")));
            }
        };
        Ok(Self { model, samples: usize::from(color.num_samples()), alpha })
    }

    /// The colours of palette indices.
    pub fn of_palette(palette: Vec<[u8; 3]>) -> Self {
        Self { model: Model::Palette(palette), samples: 1, alpha: Alpha::None }
    }

    /// The colours of a TIFF in CIE L*a*b*.
    pub fn of_lab(samples: usize) -> Self {
        Self { model: Model::Lab, samples, alpha: Alpha::None }
    }

    pub fn layout(&self) -> Layout {
        match (self.alpha, &self.model) {
            (Alpha::None, Model::Grey) => Layout::Grey,
            (Alpha::None, _) => Layout::Rgb,
            _ => Layout::Rgba,
        }
    }

    /// The samples of a pixel.
    pub fn samples(&self) -> usize {
        self.samples
    }

    pub fn is_palette(&self) -> bool {
        matches!(self.model, Model::Palette(_))
    }

    /// Whether 8-bit samples are pixels in the layout.
    pub fn is_final(&self) -> bool {
        let direct = matches!(self.model, Model::Grey | Model::Rgb) && self.alpha != Alpha::Associated;
        direct && self.samples == self.layout().channels()
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
            let (colour, colours) = self.colour(pixel);
            if channels == 1 {
                out[0] = colour[0];
                continue;
            }
            out[..3].copy_from_slice(&colour);
            if self.alpha != Alpha::None {
                let alpha = pixel[colours];
                out[3] = alpha;
                if self.alpha == Alpha::Associated {
                    out[..3].iter_mut().for_each(|colour| *colour = unmultiply(*colour, alpha));
                }
            }
        }
    }

    /// A pixel's colour, and how many samples it took.
    fn colour(&self, pixel: &[u8]) -> ([u8; 3], usize) {
        match (&self.model, pixel) {
            (Model::Grey, &[grey, ..]) => ([grey; 3], 1),
            (Model::Rgb, &[red, green, blue, ..]) => ([red, green, blue], 3),
            (Model::Cmyk(converter), [cyan, magenta, yellow, black, ..]) => {
                let mut colour = [0; 3];
                converter.convert(&[*cyan, *magenta, *yellow, *black], &mut colour);
                (colour, 4)
            }
            (Model::YCbCr, &[luma, blue, red, ..]) => (from_ycbcr([luma, blue, red]), 3),
            (Model::Lab, &[lightness, a, b, ..]) => (from_lab([lightness, a, b]), 3),
            (Model::Palette(palette), &[index, ..]) => {
                (palette.get(usize::from(index)).copied().unwrap_or_default(), 1)
            }
            _ => ([0; 3], 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_unpacked_without_scaling() {
        let mut pixels = [0; 4];
        Sample::Bits(2).unpack_indices(&[0b0001_1011], pixels.chunks_mut(1));
        assert_eq!(pixels, [0, 1, 2, 3]);
    }
}
