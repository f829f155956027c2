//! The many kinds of samples and colours that TIFF has, made 8-bit grey, RGB or RGBA.

use std::iter::zip;

use ::tiff::ColorType;
use ::tiff::decoder::DecodingSampleType;

use crate::source::samples::{from_cmyk, from_ycbcr, round_16, unmultiply};
use crate::source::{Format, Layout, SourceError};

/// The value of the tag ExtraSamples for opacity that is multiplied into the colours.
const ASSOCIATED: u16 = 1;
/// The same where it is not.
const UNASSOCIATED: u16 = 2;

/// How samples are stored, in the machine's byte order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// 1, 2 or 4 bits, packed from the left.
    Bits(u8),
    Uint8,
    Uint16,
    Uint32,
    /// From 0 to 1.
    Float32,
    /// From 0 to 1.
    Float64,
}

/// What the samples of a pixel mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    model: Model,
    /// The samples of a pixel, those without meaning here included.
    samples: usize,
    opacity: Opacity,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Model {
    Grey,
    Rgb,
    Cmyk,
    YCbCr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opacity {
    None,
    /// The sample after the colours.
    Plain,
    /// The same, and the colours are multiplied with it.
    Multiplied,
}

impl Sample {
    pub fn new(bits: u8, kind: Option<DecodingSampleType>) -> Result<Self, SourceError> {
        match (kind, bits) {
            (Some(DecodingSampleType::U8), 1 | 2 | 4) => Ok(Self::Bits(bits)),
            (Some(DecodingSampleType::U8), 8) => Ok(Self::Uint8),
            (Some(DecodingSampleType::U16), 16) => Ok(Self::Uint16),
            (Some(DecodingSampleType::U32), 32) => Ok(Self::Uint32),
            (Some(DecodingSampleType::F32), 32) => Ok(Self::Float32),
            (Some(DecodingSampleType::F64), 64) => Ok(Self::Float64),
            _ => Err(SourceError::unsupported(
                Format::Tiff,
                format_args!("its samples have {bits} bits of an odd kind"),
            )),
        }
    }

    /// The bytes of a sample, rounded up.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bits(_) | Self::Uint8 => 1,
            Self::Uint16 => 2,
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

    /// Spreads a row of stored samples over pixels, as 8 bits: `together` samples to each, from its sample `at` on.
    pub fn narrow<'a>(
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
                let most = (1u16 << bits) - 1;
                let in_byte = usize::from(8 / bits);
                for (index, out) in out.enumerate() {
                    let shift = 8 - usize::from(bits) * (index % in_byte + 1);
                    *out = ((u16::from(stored[index / in_byte]) >> shift & most) * 255 / most) as u8;
                }
            }
            Self::Uint8 => zip(out, stored).for_each(|(out, &value)| *out = value),
            Self::Uint16 => zip(out, stored.as_chunks().0)
                .for_each(|(out, &value)| *out = round_16(u16::from_ne_bytes(value))),
            Self::Uint32 => zip(out, stored.as_chunks().0).for_each(|(out, &value)| {
                *out = unit(f64::from(u32::from_ne_bytes(value)) / f64::from(u32::MAX))
            }),
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
    /// The colours of a kind of TIFF whose first sample past the colours means `extra`.
    pub fn new(color: ColorType, extra: Option<u16>) -> Result<Self, SourceError> {
        let opacity = match extra {
            Some(ASSOCIATED) => Opacity::Multiplied,
            Some(UNASSOCIATED) => Opacity::Plain,
            _ => Opacity::None,
        };
        let (model, opacity) = match color {
            ColorType::Gray(_) => (Model::Grey, Opacity::None),
            ColorType::Multiband { .. } => (Model::Grey, opacity),
            ColorType::GrayA(_) => (Model::Grey, opacity),
            ColorType::RGB(_) => (Model::Rgb, Opacity::None),
            ColorType::RGBA(_) => {
                (Model::Rgb, if opacity == Opacity::None { Opacity::Plain } else { opacity })
            }
            ColorType::CMYK(_) | ColorType::CMYKA(_) => (Model::Cmyk, Opacity::None),
            ColorType::YCbCr(_) => (Model::YCbCr, Opacity::None),
            other => {
                return Err(SourceError::unsupported(
                    Format::Tiff,
                    format_args!("its colours are {other:?}"),
                ));
            }
        };
        Ok(Self { model, samples: usize::from(color.num_samples()), opacity })
    }

    pub fn layout(self) -> Layout {
        match (self.opacity, self.model) {
            (Opacity::None, Model::Grey) => Layout::Grey,
            (Opacity::None, _) => Layout::Rgb,
            _ => Layout::Rgba,
        }
    }

    /// Whether 8-bit samples are already the pixels.
    pub fn is_final(self) -> bool {
        let converted =
            matches!(self.model, Model::Cmyk | Model::YCbCr) || self.opacity == Opacity::Multiplied;
        !converted && self.samples == self.layout().channels()
    }

    /// Makes pixels of 8-bit samples.
    pub fn convert(self, samples: &[u8], out: &mut [u8]) {
        if self.is_final() {
            return out.copy_from_slice(samples);
        }
        let channels = self.layout().channels();
        for (pixel, out) in samples.chunks_exact(self.samples).zip(out.chunks_exact_mut(channels)) {
            let (colour, colours) = self.colour(pixel);
            if channels == 1 {
                out[0] = colour[0];
                continue;
            }
            out[..3].copy_from_slice(&colour);
            if self.opacity != Opacity::None {
                let alpha = pixel[colours];
                out[3] = alpha;
                if self.opacity == Opacity::Multiplied {
                    out[..3].iter_mut().for_each(|colour| *colour = unmultiply(*colour, alpha));
                }
            }
        }
    }

    /// A pixel's colour, and how many samples it took.
    fn colour(self, pixel: &[u8]) -> ([u8; 3], usize) {
        match (self.model, pixel) {
            (Model::Grey, &[grey, ..]) => ([grey; 3], 1),
            (Model::Rgb, &[red, green, blue, ..]) => ([red, green, blue], 3),
            (Model::Cmyk, &[cyan, magenta, yellow, black, ..]) => {
                (from_cmyk([cyan, magenta, yellow, black]), 4)
            }
            (Model::YCbCr, &[luma, blue, red, ..]) => (from_ycbcr([luma, blue, red]), 3),
            _ => ([0; 3], 0),
        }
    }
}
