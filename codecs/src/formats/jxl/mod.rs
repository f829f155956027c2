//! JPEG XL, as a codestream or in its container: the first frame. The decoder writes 8 bits a sample, on all threads,
//! into a picture that is held as a whole, in a temporary file if it is large; what it needs beside that is a few rows of
//! groups, and the low frequencies of all.
//!
//! Source: ISO/IEC 18181-1 (codestream), ISO/IEC 18181-2 (container).

mod decode;
mod error;
mod rows;

#[cfg(feature = "tiff")]
use std::io::Cursor;

#[cfg(feature = "tiff")]
use edgezoom_geometry::Size;
use jxl::api::{JxlColorEncoding, JxlColorProfile, JxlPrimaries, JxlTransferFunction, JxlWhitePoint};

#[cfg(feature = "tiff")]
use crate::Bounds;
use crate::buffered::catch_panics;
use crate::colour::icc::Profile;
#[cfg(feature = "tiff")]
use crate::colour::samples::round_16;
use crate::format::{Decoded, Input, Open};
#[cfg(feature = "tiff")]
use crate::scratch::Scratch;
use crate::{Format, Orientation, Reading, SourceError};
use decode::{Decoding, Means};
use rows::Rows;

pub(crate) static FORMAT: Format = Format {
    name: error::NAME.0,
    media_types: &["image/jxl"],
    endings: &["jxl"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(&[0xff, 0x0a]) || head.starts_with(b"\0\0\0\x0cJXL \r\n\x87\n"),
    open: Open::Directly(open),
};

fn open(Input { file, bounds, options, temporary }: Input<'_>) -> Result<Decoded, SourceError> {
    let means = Means { bounds, threads: options.threads.get(), temporary: temporary.as_ref() };
    catch_panics(&FORMAT, || decode(Decoding::begin(file.into_inner(), means)?, means))
}

/// Decodes a JPEG XL in memory as samples of 8 bits, for formats that hold one. Also gives its size, and how many samples
/// a pixel has.
#[cfg(feature = "tiff")]
pub fn decode_samples(bytes: &[u8], bounds: Bounds) -> Result<(Size, usize, Vec<u8>), SourceError> {
    let means = Means { bounds, threads: 1, temporary: None };
    let mut decoding = Decoding::begin(Cursor::new(bytes.to_vec()), means)?;
    let samples = decoding.choose_samples()?;
    let picture = decoding.decode(samples, means)?;
    let Scratch::Memory(stored) = picture.samples else { return Err(SourceError::OutOfMemory) };
    if picture.is_cut_off {
        return Err(FORMAT.corrupt("it ends before its last row"));
    }
    let stored = if samples.is_deep {
        stored.as_chunks().0.iter().map(|&sample| round_16(u16::from_ne_bytes(sample))).collect()
    } else {
        stored
    };
    Ok((picture.size, samples.kind.samples_per_pixel(), stored))
}

fn decode(mut decoding: Decoding, means: Means<'_>) -> Result<Decoded, SourceError> {
    let orientation = Orientation::from_exif(decoding.orientation());
    let profile = decoding.profile().and_then(profile);
    let samples = decoding.choose_samples()?;
    let picture = decoding.decode(samples, means)?;
    let rows = Rows::new(picture, samples, profile.as_ref());
    let profile = profile.filter(|_| !rows.is_converted());
    Ok(Decoded { reader: Box::new(rows), orientation, profile })
}

/// The colour space that the samples have. `None` where it is sRGB.
fn profile(profile: &JxlColorProfile) -> Option<Profile> {
    if let JxlColorProfile::Simple(JxlColorEncoding::RgbColorSpace {
        white_point: JxlWhitePoint::D65,
        primaries,
        transfer_function,
        ..
    }) = profile
    {
        // As code points of ITU-T H.273, of which those for PQ and HLG say that the picture is brighter than white.
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
