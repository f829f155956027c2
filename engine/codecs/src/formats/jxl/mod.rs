//! JPEG XL, as a codestream or in its container: the first frame. The decoder writes samples of 8 bits, on all threads,
//! into a picture that is held as a whole. Besides it, the decoder holds a few rows of groups and the low frequencies
//! of all groups.
//!
//! Source: ISO/IEC 18181-1 (codestream), ISO/IEC 18181-2 (container).

mod decode;

#[cfg(feature = "tiff")]
use std::io::Cursor;

use edgezoom_geometry::Size;
use jxl::api::{
    JxlColorEncoding, JxlColorProfile, JxlColorType, JxlPrimaries, JxlTransferFunction, JxlWhitePoint,
};

use crate::buffered::catch_panics;
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::{Profile, Transform16};
use crate::colour::samples::round_16;
use crate::format::{Decoded, Input, Open};
use crate::formats::section::Section;
use crate::{Bounds, Damage, DecodeOptions, Format, Layout, Orientation, Reading, RowReader, SourceError};
use decode::{Decoding, Means, Picture, Samples};

pub(crate) static FORMAT: Format = Format {
    name: "JPEG XL",
    media_types: &["image/jxl"],
    endings: &["jxl"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(&[0xff, 0x0a]) || head.starts_with(b"\0\0\0\x0cJXL \r\n\x87\n"),
    open: Open::Directly(open),
};

fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let means = Means { bounds, threads: options.threads.get() };
    catch_panics(&FORMAT, || decode(Decoding::begin(file.into_inner(), means)?, means))
}

/// Opens a JPEG XL that is a part of another format's file.
pub fn open_section(
    section: Section,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let means = Means { bounds, threads: options.threads.get() };
    catch_panics(&FORMAT, || decode(Decoding::begin(section, means)?, means))
}

/// Decodes a JPEG XL in memory to samples of 8 bits, for formats that contain one. Also returns its size and the number
/// of samples per pixel.
#[cfg(feature = "tiff")]
pub fn decode_samples(bytes: &[u8], bounds: Bounds) -> Result<(Size, usize, Vec<u8>), SourceError> {
    let means = Means { bounds, threads: 1 };
    let mut decoding = Decoding::begin(Cursor::new(bytes.to_vec()), means)?;
    let samples = decoding.choose_samples()?;
    let picture = decoding.decode(samples, means)?;
    let stored = picture.samples;
    if picture.is_cut_off {
        return Err(FORMAT.ends_early());
    }
    let stored = if samples.is_deep {
        stored.as_chunks().0.iter().map(|&sample| round_16(u16::from_ne_bytes(sample))).collect()
    } else {
        stored
    };
    Ok((picture.size, samples.kind.samples_per_pixel(), stored))
}

fn decode(mut decoding: Decoding, means: Means) -> Result<Decoded, SourceError> {
    let orientation = Orientation::from_exif(decoding.orientation());
    let profile = decoding.profile().and_then(profile);
    let samples = decoding.choose_samples()?;
    let picture = decoding.decode(samples, means)?;
    let rows = Rows::new(picture, samples, profile.as_ref());
    let profile = profile.filter(|_| !rows.is_converted());
    Ok(Decoded { orientation, profile, ..Decoded::plain(rows) })
}

/// Returns the colour space of the samples, or `None` if it is sRGB.
fn profile(profile: &JxlColorProfile) -> Option<Profile> {
    if let JxlColorProfile::Simple(JxlColorEncoding::RgbColorSpace {
        white_point: JxlWhitePoint::D65,
        primaries,
        transfer_function,
        ..
    }) = profile
    {
        // As code points of ITU-T H.273, because those of PQ and HLG ask for tone mapping.
        let primaries = match primaries {
            JxlPrimaries::SRGB => Some(1),
            JxlPrimaries::BT2100 => Some(9),
            JxlPrimaries::P3 => Some(12),
            JxlPrimaries::Chromaticities { .. } => None,
        };
        let transfer = match transfer_function {
            JxlTransferFunction::SRGB => Some(13),
            JxlTransferFunction::BT709 => Some(1),
            JxlTransferFunction::PQ => Some(16),
            JxlTransferFunction::HLG => Some(18),
            _ => None,
        };
        if let (Some(primaries), Some(transfer)) = (primaries, transfer) {
            return Profile::of_cicp(primaries, transfer);
        }
    }
    Profile::of_icc(&profile.try_as_icc()?)
}

/// The rows of a decoded picture.
struct Rows {
    picture: Picture,
    samples: Samples,
    layout: Layout,
    cmyk: CmykConverter,
    deep: Option<Transform16>,
    next: usize,
}

impl Rows {
    fn new(picture: Picture, samples: Samples, profile: Option<&Profile>) -> Self {
        let layout = match samples.kind {
            JxlColorType::Grayscale => Layout::Grey,
            JxlColorType::Rgb | JxlColorType::Bgr => Layout::Rgb,
            JxlColorType::Cmyk if !picture.has_alpha_plane => Layout::Rgb,
            _ => Layout::Rgba,
        };
        let deep = profile.filter(|_| samples.is_deep).and_then(|profile| profile.transform_16(layout));
        Self { picture, samples, layout, cmyk: CmykConverter::new(profile), deep, next: 0 }
    }

    /// Returns true if the rows are sRGB, so that the profile must not be applied.
    fn is_converted(&self) -> bool {
        self.deep.is_some() || self.samples.kind == JxlColorType::Cmyk
    }

    /// Converts the next row. In JPEG XL, 0 is full ink.
    fn convert(&mut self, out: &mut [u8]) {
        let Size { width, height } = self.picture.size;
        let width = width as usize;
        let row_bytes = width * self.samples.bytes() as usize;
        let (colours, alpha) = self.picture.samples.split_at(row_bytes * height as usize);
        let samples = &colours[self.next * row_bytes..][..row_bytes];
        let alpha = alpha.chunks_exact(width).nth(self.next).unwrap_or_default();
        self.next += 1;
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
                    return self.cmyk.convert(&stored, out);
                }
                let mut colours = vec![0; 3 * width];
                self.cmyk.convert(&stored, &mut colours);
                let pixels = colours.as_chunks().0.iter().zip(alpha);
                for (out, (&[red, green, blue], &alpha)) in out.as_chunks_mut().0.iter_mut().zip(pixels) {
                    *out = [red, green, blue, alpha];
                }
            }
            _ => out.copy_from_slice(samples),
        }
    }
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.picture.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn damage(&self) -> Option<Damage> {
        self.picture.is_cut_off.then_some(Damage::Partial)
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.layout.row_bytes(self.picture.size.width);
        into.chunks_exact_mut(row_bytes).for_each(|out| self.convert(out));
        Ok(())
    }
}
