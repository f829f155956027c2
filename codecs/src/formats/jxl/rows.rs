//! The rows of a decoded picture, in a layout that the pyramid takes.

use edgezoom_content::Size;
use jxl::api::JxlColorType;

use super::decode::{Picture, Samples};
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::{Profile, Transform16};
use crate::colour::samples::round_16;
use crate::{Layout, RowReader, SourceError};

/// A decoded picture that is being read.
pub struct Rows {
    picture: Picture,
    samples: Samples,
    cmyk: CmykConverter,
    deep: Option<Transform16>,
    next: usize,
}

impl Rows {
    pub fn new(picture: Picture, samples: Samples, profile: Option<&Profile>) -> Self {
        let layout = layout(samples, picture.alpha.is_some());
        let deep = profile.filter(|_| samples.is_deep).and_then(|profile| profile.transform_16(layout));
        Self { picture, samples, cmyk: CmykConverter::new(profile), deep, next: 0 }
    }

    /// Whether the rows are sRGB already, though the picture has a profile.
    pub fn is_converted(&self) -> bool {
        self.deep.is_some() || self.samples.kind == JxlColorType::Cmyk
    }

    /// Converts a row. In JPEG XL 0 is full ink.
    fn convert(&mut self, row: usize, out: &mut [u8]) {
        let width = self.picture.size.width as usize;
        let row_bytes = width * self.samples.bytes() as usize;
        let samples = &self.picture.samples[row * row_bytes..][..row_bytes];
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
                let Some(alpha) = &self.picture.alpha else { return self.cmyk.convert(&stored, out) };
                let mut colours = vec![0; 3 * width];
                self.cmyk.convert(&stored, &mut colours);
                let pixels = colours.as_chunks().0.iter().zip(&alpha[row * width..]);
                for (out, (&[red, green, blue], &alpha)) in out.as_chunks_mut().0.iter_mut().zip(pixels) {
                    *out = [red, green, blue, alpha];
                }
            }
            _ => out.copy_from_slice(samples),
        }
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
        layout(self.samples, self.picture.alpha.is_some())
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.layout().row_bytes(self.picture.size.width);
        for out in into.chunks_exact_mut(row_bytes) {
            self.convert(self.next, out);
            self.next += 1;
        }
        Ok(())
    }
}
