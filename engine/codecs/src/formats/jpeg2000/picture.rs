//! The meaning of a picture's samples, their conversion to 8 bits, and pictures that are decoded as a whole.

use std::mem;

use edgezoom_geometry::Size;
use hayro_jpeg2000::{ColorSpace, DecodeError, DecodeSettings, DecoderContext, FormatError, Image};

use super::FORMAT;
use super::boxes::{Channels, Opacity};
use super::single_tile::Sample;
use super::source::Source;
use crate::buffered::Buffered;
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::colour::samples::unmultiply;
use crate::{Bounds, Layout, RowReader, SourceError};

/// Bytes of memory that decoding takes for each sample: a float of the component, a float of the wavelet transform, and
/// the picture.
pub const BYTES_A_SAMPLE: u64 = 10;

/// The components of a picture.
#[derive(Clone)]
pub struct Kind {
    pub layout: Layout,
    /// Number of components that are colours.
    colours: usize,
    opacity: Option<Opacity>,
    /// The components in the order in which the library returns them: colours, opacity, and those that are not shown.
    order: Vec<usize>,
    icc: Option<Vec<u8>>,
}

impl Kind {
    pub fn of(image: &Image<'_>, channels: Option<Channels>) -> Result<Self, SourceError> {
        let space = usize::from(image.color_space().num_channels());
        let Channels { order, colours, opacity } = channels.unwrap_or_else(|| Channels {
            order: (0..space + usize::from(image.has_alpha())).collect(),
            colours: space,
            opacity: image.has_alpha().then_some(Opacity::Straight),
        });
        let layout = match (colours, opacity) {
            (1, None) => Layout::Grey,
            (3 | 4, None) => Layout::Rgb,
            (1 | 3 | 4, Some(_)) => Layout::Rgba,
            _ => return Err(FORMAT.unsupported(format_args!("it has {colours} colours"))),
        };
        let icc = match image.color_space() {
            ColorSpace::Icc { profile, .. } if colours == space => Some(profile.clone()),
            _ => None,
        };
        Ok(Self { layout, colours, opacity, order, icc })
    }

    /// Returns the number of samples of a pixel, those that are not shown included.
    pub fn samples(&self) -> u64 {
        self.order.len() as u64
    }

    /// Returns the number of samples of a pixel that are shown.
    fn shown(&self) -> usize {
        self.colours + usize::from(self.opacity.is_some())
    }

    /// Returns the profile to apply to the rows. Profiles of CMYK are applied here instead.
    pub fn profile(&self) -> Option<Profile> {
        self.icc.as_deref().and_then(Profile::of_icc).filter(|_| self.colours < 4)
    }

    /// Decodes a file, or a tile made into one, into pixels without gaps. It has to have this size.
    pub fn decode(&self, file: &[u8], size: Size, out: &mut [u8]) -> Result<(), SourceError> {
        let image = parse(file)?;
        if (image.width(), image.height()) != (size.width, size.height) {
            return Err(FORMAT.corrupt("a tile has another size than it should"));
        }
        let mut context = DecoderContext::default();
        let decoded = image.decode(&mut context).map_err(error)?;
        let planes: Vec<(&[f32], f32)> = decoded
            .components()
            .iter()
            .map(|component| {
                (component.samples(), 255.0 / ((1u64 << component.bit_depth().min(32)) - 1) as f32)
            })
            .collect();
        let pixels = usize::try_from(size.pixels()).map_err(|_| SourceError::OutOfMemory)?;
        if planes.len() < self.shown() || planes.iter().any(|(plane, _)| plane.len() < pixels) {
            return Err(FORMAT.unsupported("its components have different sizes"));
        }
        if self.is_plain(planes.len()) && planes.iter().all(|(plane, _)| plane.len() == pixels) {
            drop(planes);
            decoded.store_u8_into(out);
        } else {
            self.interleave(&planes, out);
        }
        self.unmultiply(out);
        Ok(())
    }

    /// Returns true if this number of planes only has to be interleaved.
    fn is_plain(&self, planes: usize) -> bool {
        planes == self.shown() && planes == self.layout.channels()
    }

    /// Interleaves planes, each with the factor that scales it to 8 bits.
    fn interleave(&self, planes: &[(&[f32], f32)], out: &mut [u8]) {
        let layout = self.layout;
        let is_cmyk = self.colours == 4;
        let profile = self.icc.as_deref().filter(|_| is_cmyk).and_then(Profile::of_icc);
        let cmyk = CmykConverter::new(profile.as_ref());
        for (index, out) in out.chunks_exact_mut(layout.channels()).enumerate() {
            let sample = |plane: usize| {
                let (samples, scale) = planes[plane];
                (samples[index] * scale).round() as u8
            };
            match (layout, is_cmyk) {
                (Layout::Grey, _) => out[0] = sample(0),
                (_, true) => cmyk.convert(&[sample(0), sample(1), sample(2), sample(3)], &mut out[..3]),
                _ if self.colours == 1 => out[..3].fill(sample(0)),
                _ => out[..3].copy_from_slice(&[sample(0), sample(1), sample(2)]),
            }
            if let Some(out) = out.get_mut(3) {
                *out = sample(self.colours);
            }
        }
    }

    /// Divides the colours by the opacity that they are multiplied with.
    fn unmultiply(&self, pixels: &mut [u8]) {
        if self.opacity == Some(Opacity::Multiplied) {
            for [colours @ .., alpha] in pixels.as_chunks_mut::<4>().0 {
                colours.iter_mut().for_each(|colour| *colour = unmultiply(*colour, *alpha));
            }
        }
    }

    /// Converts rows of signed samples, in planes as they are stored, to pixels.
    pub fn pixels<T: Sample>(&self, mut planes: Vec<Vec<T>>, precisions: &[u8], width: u32) -> Vec<u8> {
        let rows = planes.first().map_or(0, |plane| plane.len() / width.max(1) as usize);
        let mut out = vec![0; self.layout.row_bytes(width) * rows];
        let channels = self.layout.channels();
        let is_plain = self.is_plain(planes.len());
        let mut floats: Vec<(Vec<f32>, f32)> = Vec::new();
        for (channel, &stored) in self.order.iter().enumerate() {
            let (Some(plane), Some(precision)) = (planes.get_mut(stored), precisions.get(stored)) else {
                continue;
            };
            let plane = mem::take(plane);
            let range = 1u32 << precision;
            let (offset, scale) = ((range / 2) as f32, 255.0 / (range - 1) as f32);
            if is_plain {
                let to = out.iter_mut().skip(channel).step_by(channels);
                // Casts of floats saturate.
                to.zip(plane).for_each(|(to, sample)| *to = ((sample.to_f32() + offset) * scale + 0.5) as u8);
            } else {
                floats.push((plane.into_iter().map(|sample| sample.to_f32() + offset).collect(), scale));
            }
        }
        if !is_plain && floats.len() >= self.shown() {
            let planes: Vec<(&[f32], f32)> = floats.iter().map(|(plane, scale)| (&**plane, *scale)).collect();
            self.interleave(&planes, &mut out);
        }
        self.unmultiply(&mut out);
        out
    }
}

/// Parses the headers of a file.
pub fn parse(file: &[u8]) -> Result<Image<'_>, SourceError> {
    Image::new(file, &DecodeSettings { strict: false, ..DecodeSettings::default() }).map_err(error)
}

fn error(error: DecodeError) -> SourceError {
    match error {
        DecodeError::Format(FormatError::Unsupported) => {
            FORMAT.unsupported("it uses a part of the standard that is not supported")
        }
        other => FORMAT.corrupt(other),
    }
}

/// Decodes a picture as a whole.
pub fn decode(
    source: &Source,
    size: Size,
    kind: Kind,
    bounds: Bounds,
) -> Result<Box<dyn RowReader>, SourceError> {
    const REASON: &str = "decoding a JPEG 2000 that is not in tiles";
    let length = source.length()?;
    let memory = length.saturating_add(size.pixels() * kind.samples() * BYTES_A_SAMPLE);
    bounds.admit_memory(memory, REASON)?;
    let mut file = Vec::new();
    source.append(0, length, &mut file)?;
    let mut picture = Buffered::new(size, kind.layout, bounds)?;
    kind.decode(&file, size, &mut picture.pixels)?;
    Ok(Box::new(picture.without_opaque_alpha()))
}
