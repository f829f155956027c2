//! What a picture's samples mean, their conversion to 8 bits, and pictures that are decoded as a whole.

use edgezoom_geometry::Size;
use hayro_jpeg2000::{ColorSpace, DecoderContext, Image};

use super::error::{NAME, error, settings};
use super::source::Source;
use crate::buffered::Buffered;
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::scratch::TemporaryFile;
use crate::swap::Swap;
use crate::{Bounds, Layout, RowReader, SourceError};

/// The memory that decoding takes for each sample, in bytes: a float of the component, a float of the wavelet
/// transform, and the picture.
pub const BYTES_A_SAMPLE: u64 = 10;

/// What may be used to decode a picture.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub bounds: Bounds,
    pub temporary: Option<&'a TemporaryFile>,
}

/// What a picture's components are.
#[derive(Clone)]
pub struct Kind {
    pub layout: Layout,
    /// The components that are colours.
    colours: usize,
    has_alpha: bool,
    icc: Option<Vec<u8>>,
}

impl Kind {
    pub fn of(image: &Image<'_>) -> Result<Self, SourceError> {
        let colours = usize::from(image.color_space().num_channels());
        let has_alpha = image.has_alpha();
        let layout = match (colours, has_alpha) {
            (1, false) => Layout::Grey,
            (3 | 4, false) => Layout::Rgb,
            (1 | 3 | 4, true) => Layout::Rgba,
            _ => return Err(NAME.unsupported(format_args!("it has {colours} colours"))),
        };
        let icc = match image.color_space() {
            ColorSpace::Icc { profile, .. } => Some(profile.clone()),
            _ => None,
        };
        Ok(Self { layout, colours, has_alpha, icc })
    }

    /// The samples of a pixel.
    pub fn samples(&self) -> u64 {
        (self.colours + usize::from(self.has_alpha)) as u64
    }

    /// The profile that is applied to the rows. Those of CMYK are applied here.
    pub fn profile(&self) -> Option<Profile> {
        self.icc.as_deref().and_then(Profile::of_icc).filter(|_| self.colours < 4)
    }

    /// Decodes a file, or a tile that was made one, of this size, into pixels without gaps.
    pub fn decode(&self, file: &[u8], size: Size, out: &mut [u8]) -> Result<(), SourceError> {
        let image = Image::new(file, &settings()).map_err(error)?;
        if (image.width(), image.height()) != (size.width, size.height) {
            return Err(NAME.corrupt("a tile has another size than it should"));
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
        if (planes.len() as u64) < self.samples() || planes.iter().any(|(plane, _)| plane.len() < pixels) {
            return Err(NAME.unsupported("its components have different sizes"));
        }
        if self.is_plain(planes.len()) && planes.iter().all(|(plane, _)| plane.len() == pixels) {
            drop(planes);
            decoded.store_u8_into(out);
        } else {
            self.interleave(&planes, out);
        }
        Ok(())
    }

    /// Whether so many planes only have to be interleaved.
    pub fn is_plain(&self, planes: usize) -> bool {
        planes == self.layout.channels() && self.colours != 4
    }

    /// Makes pixels of planes, each with the factor that makes 8 bits of it.
    pub fn interleave(&self, planes: &[(&[f32], f32)], out: &mut [u8]) {
        let (layout, is_cmyk) = (self.layout, self.colours == 4);
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
}

/// Decodes a picture as a whole, in the temporary file if it is large.
pub fn open(
    source: &Source,
    size: Size,
    kind: Kind,
    Means { bounds, temporary }: Means<'_>,
) -> Result<Box<dyn RowReader>, SourceError> {
    const REASON: &str = "decoding a JPEG 2000 that is not in tiles";
    let memory = source.length.saturating_add(size.pixels() * kind.samples() * BYTES_A_SAMPLE);
    let (bounds, _swap) = Swap::admit(memory, REASON, bounds, temporary)?;
    let mut file = Vec::new();
    source.append(0, source.length, &mut file)?;
    let mut picture = Buffered::new(size, kind.layout, bounds)?;
    kind.decode(&file, size, &mut picture.pixels)?;
    Ok(Box::new(picture.without_opaque_alpha()))
}
