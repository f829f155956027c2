//! WebP, decoded as a whole: its formats allow nothing else. Of an animation the first frame.

use std::fs::File;
use std::io::BufReader;

use image_webp::{DecodingError, WebPDecoder};

use crate::{Bounds, Buffered, Decoded, Format, Layout, Orientation, Profile, SourceError};

/// What decoding takes at most for each pixel, in bytes: the decoded picture, and either the planes of the lossy codec or
/// a copy of four channels for the lossless one.
const BYTES_A_PIXEL: u64 = 8;
/// The EXIF and the profile that are looked at, in bytes.
const METADATA_BYTES: usize = 4 << 20;

pub fn open(file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    let mut decoder = WebPDecoder::new(file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    bounds.admit_memory(size.pixels() * BYTES_A_PIXEL, "decoding a WebP")?;
    decoder.set_memory_limit(METADATA_BYTES);
    let exif = decoder.exif_metadata().ok().flatten();
    let profile = decoder.icc_profile().ok().flatten().and_then(|profile| Profile::of_icc(&profile));
    decoder.set_memory_limit(usize::try_from(bounds.memory).unwrap_or(usize::MAX));
    let layout = if decoder.has_alpha() { Layout::Rgba } else { Layout::Rgb };
    let mut whole = Buffered::new(size, layout, bounds)?;
    decoder.read_image(&mut whole.pixels).map_err(error)?;
    let orientation = exif.as_deref().map_or(Orientation::UPRIGHT, Orientation::of_exif);
    Ok(Decoded { strips: Box::new(whole.without_idle_opacity()), orientation, profile })
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::IoError(_) => SourceError::corrupt(Format::WebP, "it ends too early"),
        DecodingError::UnsupportedFeature(feature) => SourceError::unsupported(Format::WebP, feature),
        other => SourceError::corrupt(Format::WebP, other),
    }
}
