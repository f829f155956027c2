//! The samples of a PNG, and how they become pixels.

use ::png::ColorType;

use crate::Layout;
use crate::colour::icc::Transform16;
use crate::colour::samples::round_16;

/// The samples that the decoder gives, with palettes and small depths already expanded.
#[derive(Clone, Copy)]
pub struct Kind {
    pub color: ColorType,
    /// Whether samples have 16 bits.
    pub is_16_bit: bool,
}

impl Kind {
    /// The layout that is read.
    pub fn layout(self) -> Layout {
        match self.color {
            ColorType::Grayscale => Layout::Grey,
            ColorType::GrayscaleAlpha | ColorType::Rgba => Layout::Rgba,
            ColorType::Rgb | ColorType::Indexed => Layout::Rgb,
        }
    }

    /// The bytes of a pixel as the decoder gives it.
    pub fn bytes(self) -> usize {
        self.color.samples() * if self.is_16_bit { 2 } else { 1 }
    }

    /// Whether the decoder gives pixels in the layout that is read.
    pub fn is_final(self) -> bool {
        !self.is_16_bit && self.color != ColorType::GrayscaleAlpha
    }

    /// Converts samples into the layout.
    pub fn convert(self, samples: &[u8], transform_16: &mut Option<Transform16>, out: &mut [u8]) {
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
