//! The rows of a decoded picture, in a layout that the pyramid takes.

use edgezoom_geometry::Size;
use jxl::api::JxlColorType;

use super::decode::{Picture, Samples};
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::{Profile, Transform16};
use crate::colour::samples::round_16;
use crate::scratch::ScratchReader;
use crate::{Damage, Layout, RowReader, SourceError};

/// A decoded picture that is being read.
pub struct Rows {
    picture: Picture,
    samples: Samples,
    cmyk: CmykConverter,
    deep: Option<Transform16>,
    colours: ScratchReader,
    alpha: ScratchReader,
}

impl Rows {
    pub fn new(picture: Picture, samples: Samples, profile: Option<&Profile>) -> Self {
        let layout = layout(samples, picture.has_alpha_plane);
        let deep = profile.filter(|_| samples.is_deep).and_then(|profile| profile.transform_16(layout));
        let pixels = picture.size.pixels();
        let colour_bytes = pixels * samples.bytes();
        let alpha_bytes = if picture.has_alpha_plane { pixels } else { 0 };
        Self {
            picture,
            samples,
            cmyk: CmykConverter::new(profile),
            deep,
            colours: ScratchReader::new(0, colour_bytes),
            alpha: ScratchReader::new(colour_bytes, alpha_bytes),
        }
    }

    /// Whether the rows are sRGB already, though the picture has a profile.
    pub fn is_converted(&self) -> bool {
        self.deep.is_some() || self.samples.kind == JxlColorType::Cmyk
    }

    /// Converts the next row. In JPEG XL 0 is full ink.
    fn convert(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        let width = self.picture.size.width as usize;
        let row_bytes = width * self.samples.bytes() as usize;
        let samples = self.colours.read(&self.picture.samples, row_bytes)?;
        match self.samples.kind {
            _ if self.samples.is_deep => {
                let words: Vec<u16> =
                    samples.as_chunks().0.iter().map(|&sample| u16::from_ne_bytes(sample)).collect();
                match &mut self.deep {
                    Some(transform) => transform.convert(&words, out),
                    None => out.iter_mut().zip(words).for_each(|(out, sample)| *out = round_16(sample)),
                }
            }
            JxlColorType::GrayscaleAlpha => {
                for (out, &[grey, alpha]) in out.as_chunks_mut().0.iter_mut().zip(samples.as_chunks().0) {
                    *out = [grey, grey, grey, alpha];
                }
            }
            JxlColorType::Cmyk => {
                let stored: Vec<u8> = samples.iter().map(|sample| 255 - sample).collect();
                if !self.picture.has_alpha_plane {
                    self.cmyk.convert(&stored, out);
                    return Ok(());
                }
                let alpha = self.alpha.read(&self.picture.samples, width)?;
                let mut colours = vec![0; 3 * width];
                self.cmyk.convert(&stored, &mut colours);
                let pixels = colours.as_chunks().0.iter().zip(alpha);
                for (out, (&[red, green, blue], &alpha)) in out.as_chunks_mut().0.iter_mut().zip(pixels) {
                    *out = [red, green, blue, alpha];
                }
            }
            _ => out.copy_from_slice(samples),
        }
        Ok(())
    }
}

fn layout(samples: Samples, has_alpha: bool) -> Layout {
    match samples.kind {
        JxlColorType::Grayscale => Layout::Grey,
        JxlColorType::Rgb | JxlColorType::Bgr => Layout::Rgb,
        JxlColorType::Cmyk if !has_alpha => Layout::Rgb,
        _ => Layout::Rgba,
    }
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.picture.size
    }

    fn layout(&self) -> Layout {
        layout(self.samples, self.picture.has_alpha_plane)
    }

    fn damage(&self) -> Option<Damage> {
        self.picture.is_cut_off.then_some(Damage::Partial)
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.layout().row_bytes(self.picture.size.width);
        for out in into.chunks_exact_mut(row_bytes) {
            self.convert(out)?;
        }
        Ok(())
    }
}
