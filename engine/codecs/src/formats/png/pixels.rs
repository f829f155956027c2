//! The samples of a PNG: their conversion to pixels, row by row, and their colour space.

use std::io::{BufRead, Seek};

use ::png::{Adam7Info, BitDepth, ColorType, Info, InterlaceInfo, Reader};

use super::{ENDS_EARLY, FORMAT, error};
use crate::colour::icc::{Profile, Transform16};
use crate::colour::samples::round_16;
use crate::{Layout, SourceError};

/// Values of gAMA so close to sRGB's that the file means sRGB: programs write 45455.
const SRGB_GAMMAS: std::ops::Range<f32> = 0.43..0.48;
/// Chromaticities of sRGB's white, red, green and blue.
const SRGB: [(f32, f32); 4] = [(0.3127, 0.329), (0.64, 0.33), (0.3, 0.6), (0.15, 0.06)];
/// Tolerance for the chromaticities of sRGB.
const TOLERANCE: f32 = 0.005;

/// The samples that the decoder returns, with palettes and small depths expanded.
#[derive(Clone, Copy)]
pub struct Kind {
    color: ColorType,
    is_16_bit: bool,
}

/// A decoder of rows of pixels.
pub struct RowDecoder<R: BufRead + Seek> {
    pub reader: Reader<R>,
    pub kind: Kind,
    transform_16: Option<Transform16>,
    /// A row of samples of the whole picture: the decoder needs as much room for each pass.
    samples: Vec<u8>,
}

impl Kind {
    /// Returns the layout of the pixels.
    pub fn layout(self) -> Layout {
        match self.color {
            ColorType::Grayscale => Layout::Grey,
            ColorType::GrayscaleAlpha | ColorType::Rgba => Layout::Rgba,
            ColorType::Rgb | ColorType::Indexed => Layout::Rgb,
        }
    }

    /// Returns the number of bytes in a pixel of samples.
    pub fn bytes(self) -> usize {
        self.color.samples() * if self.is_16_bit { 2 } else { 1 }
    }

    /// Returns true if samples are pixels already.
    fn is_final(self) -> bool {
        !self.is_16_bit && self.color != ColorType::GrayscaleAlpha
    }

    /// Converts a row of samples to pixels.
    pub fn convert(self, samples: &[u8], transform_16: &mut Option<Transform16>, out: &mut [u8]) {
        if self.is_final() {
            return out.copy_from_slice(samples);
        }
        if let Some(transform) = transform_16 {
            let stored = samples.as_chunks().0.iter().map(|&sample| u16::from_be_bytes(sample));
            let samples: Vec<u16> = match self.color {
                ColorType::GrayscaleAlpha => {
                    let pairs: Vec<u16> = stored.collect();
                    pairs.as_chunks().0.iter().flat_map(|&[grey, alpha]| [grey, grey, grey, alpha]).collect()
                }
                _ => stored.collect(),
            };
            return transform.convert(&samples, out);
        }
        let sample = |index: usize| match samples {
            _ if !self.is_16_bit => samples[index],
            _ => round_16(u16::from_be_bytes([samples[2 * index], samples[2 * index + 1]])),
        };
        if self.color == ColorType::GrayscaleAlpha {
            let (out, _) = out.as_chunks_mut::<4>();
            for (index, out) in out.iter_mut().enumerate() {
                let grey = sample(2 * index);
                *out = [grey, grey, grey, sample(2 * index + 1)];
            }
        } else {
            for (index, out) in out.iter_mut().enumerate() {
                *out = sample(index);
            }
        }
    }
}

impl<R: BufRead + Seek> RowDecoder<R> {
    /// Returns a decoder, and the colour space that remains to be converted to sRGB.
    pub fn new(reader: Reader<R>) -> (Self, Option<Profile>) {
        let profile = profile(reader.info());
        let (color, depth) = reader.output_color_type();
        let kind = Kind { color, is_16_bit: depth == BitDepth::Sixteen };
        let transform_16 = profile
            .as_ref()
            .filter(|_| kind.is_16_bit)
            .and_then(|profile| profile.transform_16(kind.layout()));
        // Pixels that are converted with 16 bits are sRGB afterwards.
        let profile = profile.filter(|_| transform_16.is_none());
        let samples = vec![0; kind.bytes() * reader.info().width as usize];
        (Self { reader, kind, transform_16, samples }, profile)
    }

    /// Decodes the next row, or the next row of a pass.
    pub fn read_row(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        let Self { reader, kind, transform_16, samples } = self;
        let is_direct = kind.is_final() && out.len() == samples.len();
        let row = reader.read_row(if is_direct { &mut *out } else { samples }).map_err(error)?;
        if row.is_none() {
            return Err(FORMAT.corrupt(ENDS_EARLY));
        }
        if !is_direct {
            let pixels = out.len() / kind.layout().channels();
            kind.convert(&samples[..pixels * kind.bytes()], transform_16, out);
        }
        Ok(())
    }

    /// Decodes the next row of an interlaced picture, with its place. `row` has room for a row of the whole picture.
    /// Returns `None` behind the last row.
    pub fn read_interlaced(&mut self, row: &mut [u8]) -> Result<Option<(Adam7Info, usize)>, SourceError> {
        let Some(stored) = self.reader.next_interlaced_row().map_err(error)? else { return Ok(None) };
        let InterlaceInfo::Adam7(pass) = *stored.interlace() else {
            return Err(FORMAT.corrupt("its passes are invalid"));
        };
        let bytes = stored.data().len() / self.kind.bytes() * self.kind.layout().channels();
        self.kind.convert(stored.data(), &mut self.transform_16, row.get_mut(..bytes).unwrap_or_default());
        Ok(Some((pass, bytes)))
    }
}

/// Returns the colour space. `None`: it is sRGB or not described. Several chunks may describe it: cICP counts before
/// iCCP, sRGB, and gAMA with cHRM.
///
/// Source: PNG Specification (Third Edition), 4.3 and 11.3.2.
pub fn profile(info: &Info<'_>) -> Option<Profile> {
    if let Some(points) = info.coding_independent_code_points {
        return Profile::of_cicp(u16::from(points.color_primaries), u16::from(points.transfer_function));
    }
    if let Some(profile) = &info.icc_profile {
        return Profile::of_icc(profile);
    }
    if info.srgb.is_some() {
        return None;
    }
    let gamma = info.gama_chunk?.into_value();
    let chromaticities = info.chrm_chunk.map(|chunk| {
        [chunk.white, chunk.red, chunk.green, chunk.blue].map(|(x, y)| (x.into_value(), y.into_value()))
    });
    let chromaticities = chromaticities.filter(|points| !is_srgb(points));
    match (SRGB_GAMMAS.contains(&gamma), chromaticities) {
        (true, None) => None,
        (is_srgb, chromaticities) if gamma > 0.0 => {
            Some(Profile::of_gamma(if is_srgb { 2.2 } else { 1.0 / gamma }, chromaticities))
        }
        _ => None,
    }
}

fn is_srgb(points: &[(f32, f32); 4]) -> bool {
    let is_near = |one: f32, other: f32| (one - other).abs() < TOLERANCE;
    points.iter().zip(SRGB).all(|(point, srgb)| is_near(point.0, srgb.0) && is_near(point.1, srgb.1))
}
