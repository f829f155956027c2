//! Converts rows of a document's planes to rows of pixels.

use super::FORMAT;
use super::header::{Header, Mode};
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::{Profile, Transform16};
use crate::colour::samples::{from_lab, round_16};
use crate::colour::tone_mapping;
use crate::{Layout, SourceError};

/// Converts rows.
pub struct Converter {
    kind: Kind,
    depth: u16,
    /// Number of planes with colours. One more may be the opacity.
    colours: usize,
    has_opacity: bool,
    layout: Layout,
    transform_16: Option<Transform16>,
    /// The colours of a row in 8 bits, pixel after pixel.
    pixels: Vec<u8>,
    /// The colours of a row in RGB, if they have to be converted.
    rgb: Vec<u8>,
    /// The samples of a row of 16 bits.
    deep: Vec<u16>,
}

enum Kind {
    Bits,
    Grey,
    Palette(Vec<[u8; 4]>),
    Rgb,
    Cmyk(CmykConverter),
    Lab,
}

impl Converter {
    pub fn new(header: &Header, profile: Option<&Profile>) -> Result<Self, SourceError> {
        let (kind, colours) = match header.mode {
            Mode::Bitmap | Mode::Grey if header.depth == 1 => (Kind::Bits, 1),
            Mode::Bitmap | Mode::Grey => (Kind::Grey, 1),
            Mode::Indexed if header.palette.is_empty() => {
                return Err(FORMAT.corrupt("its palette is missing"));
            }
            Mode::Indexed => (Kind::Palette(palette(header)), 1),
            Mode::Rgb => (Kind::Rgb, 3),
            Mode::Cmyk => (Kind::Cmyk(CmykConverter::new(profile)), 4),
            Mode::Lab => (Kind::Lab, 3),
            // Of one or two inks the first is shown. Three are shown as RGB.
            Mode::Multichannel => match header.channels {
                0..=2 => (Kind::Grey, 1),
                3 => (Kind::Rgb, 3),
                _ => (Kind::Cmyk(CmykConverter::Formula), 4),
            },
        };
        let channels = usize::from(header.channels);
        if channels < colours {
            return Err(FORMAT.corrupt(format_args!("it has {channels} channels, not {colours}")));
        }
        let is_inks = header.mode == Mode::Multichannel;
        let is_clear_by_index = matches!(kind, Kind::Palette(_)) && header.clear_index.is_some();
        let has_opacity = header.has_opacity
            && channels > colours
            && !is_inks
            && !matches!(kind, Kind::Bits | Kind::Palette(_));
        let layout = match kind {
            _ if has_opacity || is_clear_by_index => Layout::Rgba,
            Kind::Bits | Kind::Grey => Layout::Grey,
            _ => Layout::Rgb,
        };
        let is_plain_rgb = matches!(kind, Kind::Rgb) && header.depth == 16 && !has_opacity && !is_inks;
        let transform_16 =
            profile.filter(|_| is_plain_rgb).and_then(|profile| profile.transform_16(Layout::Rgb));
        let (depth, deep) = (header.depth, Vec::new());
        let (pixels, rgb) = (Vec::new(), Vec::new());
        Ok(Self { kind, depth, colours, has_opacity, layout, transform_16, pixels, rgb, deep })
    }

    /// Returns the number of planes that are read.
    pub fn planes(&self) -> usize {
        self.colours + usize::from(self.has_opacity)
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns true if the pixels are sRGB, so that the profile must not be applied.
    pub fn gives_srgb(&self) -> bool {
        self.depth == 32
            || self.transform_16.is_some()
            || matches!(self.kind, Kind::Cmyk(_) | Kind::Lab | Kind::Bits)
    }

    /// Converts a row.
    pub fn convert(&mut self, planes: &[Vec<u8>], out: &mut [u8]) {
        let step = self.layout.channels();
        match &self.kind {
            Kind::Bits => {
                let Some(plane) = planes.first() else { return };
                let bits = plane.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
                out.chunks_exact_mut(step).zip(bits).for_each(|(out, bit)| out.fill(255 * (1 - bit)));
                return;
            }
            Kind::Palette(palette) => {
                let indices = planes.first().map(Vec::as_slice).unwrap_or_default();
                for (out, &index) in out.chunks_exact_mut(step).zip(indices) {
                    let colour = palette.get(usize::from(index)).copied().unwrap_or([0, 0, 0, 255]);
                    out.copy_from_slice(colour.get(..step).unwrap_or_default());
                }
                return;
            }
            _ => {}
        }
        if self.depth == 32 {
            return self.convert_floats(planes, out);
        }
        if let Some(transform) = &mut self.transform_16 {
            self.deep.resize(out.len(), 0);
            for (channel, plane) in planes.iter().enumerate() {
                let samples = self.deep.iter_mut().skip(channel).step_by(3);
                samples.zip(plane.as_chunks().0).for_each(|(to, &from)| *to = u16::from_be_bytes(from));
            }
            return transform.convert(&self.deep, out);
        }
        self.pixels.resize(out.len() / step * self.colours, 0);
        for (channel, plane) in planes.iter().take(self.colours).enumerate() {
            let to = self.pixels.iter_mut().skip(channel).step_by(self.colours);
            samples(plane, self.depth, to);
        }
        if self.has_opacity {
            if let Some(plane) = planes.last() {
                samples(plane, self.depth, out.iter_mut().skip(3).step_by(4));
            }
            let white: [u8; 4] = if matches!(self.kind, Kind::Lab) { [255, 128, 128, 255] } else { [255; 4] };
            for (pixel, out) in self.pixels.chunks_exact_mut(self.colours).zip(out.chunks_exact(4)) {
                take_off(pixel, white, out.last().copied().unwrap_or(255));
            }
        }
        let colours = match &self.kind {
            Kind::Cmyk(converter) => {
                self.pixels.iter_mut().for_each(|ink| *ink = 255 - *ink);
                self.rgb.resize(self.pixels.len() / 4 * 3, 0);
                converter.convert(&self.pixels, &mut self.rgb);
                &self.rgb
            }
            Kind::Lab => {
                // a* and b* are stored with an offset of 128.
                for pixel in self.pixels.as_chunks_mut::<3>().0 {
                    let [lightness, a, b] = *pixel;
                    *pixel = from_lab([lightness, a ^ 0x80, b ^ 0x80]);
                }
                &self.pixels
            }
            _ => &self.pixels,
        };
        match (self.layout, self.colours) {
            (Layout::Rgba, 1) => {
                out.as_chunks_mut::<4>().0.iter_mut().zip(colours).for_each(|(out, grey)| {
                    let [red, green, blue, _] = out;
                    (*red, *green, *blue) = (*grey, *grey, *grey);
                });
            }
            (Layout::Rgba, _) => {
                let pixels = colours.as_chunks::<3>().0;
                out.as_chunks_mut::<4>().0.iter_mut().zip(pixels).for_each(|(out, pixel)| {
                    out.iter_mut().zip(pixel).for_each(|(out, sample)| *out = *sample);
                });
            }
            _ => out.copy_from_slice(colours),
        }
    }

    /// Converts a row of linear light.
    fn convert_floats(&self, planes: &[Vec<u8>], out: &mut [u8]) {
        let (step, has_opacity) = (self.layout.channels(), self.has_opacity);
        for (x, out) in out.chunks_exact_mut(step).enumerate() {
            let sample = |plane: usize| {
                let stored = planes.get(plane).and_then(|plane| plane.as_chunks::<4>().0.get(x));
                stored.map_or(0.0, |&stored| f32::from_be_bytes(stored))
            };
            let alpha = if has_opacity { sample(self.colours).clamp(0.0, 1.0) } else { 1.0 };
            let linear = if self.colours == 1 { [sample(0); 3] } else { [sample(0), sample(1), sample(2)] };
            let linear =
                if alpha > 0.0 { linear.map(|light| (light - (1.0 - alpha)) / alpha) } else { linear };
            let [red, green, blue] = tone_mapping::map(linear);
            let pixel = [red, green, blue, (alpha * 255.0).round() as u8];
            out.copy_from_slice(pixel.get(..step).unwrap_or_default());
        }
    }
}

/// Undoes the blending with white: `stored = colour × alpha + white × (1 - alpha)`.
fn take_off(pixel: &mut [u8], white: [u8; 4], alpha: u8) {
    if matches!(alpha, 0 | 255) {
        return;
    }
    let alpha = i32::from(alpha);
    for (sample, white) in pixel.iter_mut().zip(white.map(i32::from)) {
        let above = (i32::from(*sample) - white) * 255;
        *sample = (white + (above + above.signum() * alpha / 2) / alpha).clamp(0, 255) as u8;
    }
}

/// Converts a plane's samples to 8 bits.
fn samples<'a>(plane: &[u8], depth: u16, to: impl Iterator<Item = &'a mut u8>) {
    match depth {
        16 => to.zip(plane.as_chunks().0).for_each(|(to, &from)| *to = round_16(u16::from_be_bytes(from))),
        _ => to.zip(plane).for_each(|(to, &from)| *to = from),
    }
}

/// Returns the palette with alpha.
fn palette(header: &Header) -> Vec<[u8; 4]> {
    let is_clear = |index: usize| header.clear_index.is_some_and(|clear| usize::from(clear) == index);
    let colours = header.palette.iter().enumerate();
    colours.map(|(index, &[r, g, b])| [r, g, b, if is_clear(index) { 0 } else { 255 }]).collect()
}
