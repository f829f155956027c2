//! High-throughput JPEG 2000, whose code blocks have a faster coder of their own. OpenJPEG decodes it, as a whole; all
//! else of JPEG 2000 is left to decoders that hold less.
//!
//! Source: ITU-T T.814 (ISO/IEC 15444-15), annex A; ITU-T T.800, A.5.1 (Rsiz).

use edgezoom_geometry::Size;
use jpeg2k::{ColorSpace, DecodeParameters, Image, ImageComponent};

use super::FORMAT;
use crate::buffered::Buffered;
use crate::colour::samples::from_ycbcr;
use crate::{Bounds, Layout, SourceError};

/// Bit of Rsiz for a codestream with capabilities of other parts of the standard, of which only this one is read.
const CAPABILITIES: u16 = 1 << 14;
/// Bytes of memory that OpenJPEG takes for each sample: the picture, a tile, and its coefficients.
const BYTES_A_SAMPLE: u64 = 12;
const REASON: &str = "decoding a high-throughput JPEG 2000";

/// A decoded component.
pub struct Plane {
    pub samples: Vec<i32>,
    precision: u32,
    is_signed: bool,
}

/// Returns true if the segment SIZ, which begins with its marker, is that of a high-throughput codestream.
pub fn is_announced(siz: &[u8]) -> bool {
    siz.get(4..6).is_some_and(|rsiz| u16::from_be_bytes([rsiz[0], rsiz[1]]) & CAPABILITIES != 0)
}

/// Decodes a picture of this size to pixels.
pub fn decode(file: &[u8], size: Size, samples: u64, bounds: Bounds) -> Result<Buffered, SourceError> {
    let (planes, is_ycbcr) = planes(file, size, samples, bounds)?;
    let layout = match planes.len() {
        1 => Layout::Grey,
        3 => Layout::Rgb,
        2 | 4 => Layout::Rgba,
        more => return Err(FORMAT.unsupported(format_args!("it has {more} components"))),
    };
    let channels = layout.channels();
    let mut picture = Buffered::new(size, layout, bounds)?;
    for channel in 0..channels {
        // Grey with opacity becomes red, green and blue.
        let plane = match (planes.len(), channel) {
            (2, 0..=2) => 0,
            (2, _) => 1,
            _ => channel,
        };
        let places = picture.pixels.iter_mut().skip(channel).step_by(channels);
        let plane = planes.get(plane).ok_or_else(|| FORMAT.ends_early())?;
        places.zip(&plane.samples).for_each(|(place, &sample)| *place = plane.shade(sample));
    }
    if is_ycbcr && layout == Layout::Rgb {
        picture.pixels.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| *pixel = from_ycbcr(*pixel));
    }
    Ok(picture.without_opaque_alpha())
}

/// Decodes all components, which must have this size. Returns true beside them if they are YCbCr.
pub fn planes(
    file: &[u8],
    size: Size,
    samples: u64,
    bounds: Bounds,
) -> Result<(Vec<Plane>, bool), SourceError> {
    let memory = size.pixels().saturating_mul(samples * BYTES_A_SAMPLE).saturating_add(file.len() as u64);
    bounds.admit_memory(memory, REASON)?;
    let broken = |_| FORMAT.corrupt("its code blocks cannot be decoded");
    let image = Image::from_bytes_with(file, DecodeParameters::new().strict(false)).map_err(broken)?;
    let is_like = |component: &ImageComponent| {
        (component.width(), component.height()) == (size.width, size.height)
            && (1..=31).contains(&component.precision())
    };
    if !image.components().iter().all(is_like) {
        return Err(FORMAT.unsupported("it is high-throughput, and its components have different sizes"));
    }
    let plane = |component: &ImageComponent| Plane {
        samples: component.data().to_vec(),
        precision: component.precision(),
        is_signed: component.is_signed(),
    };
    let is_ycbcr = matches!(image.color_space(), ColorSpace::SYCC);
    Ok((image.components().iter().map(plane).collect(), is_ycbcr))
}

impl Plane {
    /// Converts a sample to 8 bits.
    fn shade(&self, sample: i32) -> u8 {
        let most = (1_i64 << self.precision) - 1;
        let offset = if self.is_signed { 1_i64 << (self.precision - 1) } else { 0 };
        let value = (i64::from(sample) + offset).clamp(0, most);
        ((value * 255 + most / 2) / most) as u8
    }
}
