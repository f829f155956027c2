//! Icons: the largest picture of several, decoded as a whole.

use std::fs::File;
use std::io::BufReader;

use image::codecs::ico::IcoDecoder;
use image::{DynamicImage, ImageDecoder, ImageError};

use crate::buffered::guarded;
use crate::{Bounds, Buffered, Decoded, Format, Layout, SourceError};

/// What decoding takes for each pixel, in bytes: up to 16 bits of four samples, and the picture.
const BYTES_A_PIXEL: u64 = 12;

pub fn open(file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    guarded(Format::Ico, || decode(file, bounds)).map(Decoded::plain)
}

fn decode(file: BufReader<File>, bounds: Bounds) -> Result<Buffered, SourceError> {
    let decoder = IcoDecoder::new(file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    bounds.admit_memory(size.pixels() * BYTES_A_PIXEL, "decoding an icon")?;
    let picture = DynamicImage::from_decoder(decoder).map_err(error)?;
    Ok(Buffered::of(size, Layout::Rgba, picture.into_rgba8().into_raw()).without_idle_opacity())
}

fn error(error: ImageError) -> SourceError {
    match error {
        ImageError::Unsupported(error) => SourceError::unsupported(Format::Ico, error),
        ImageError::IoError(_) => SourceError::corrupt(Format::Ico, "it ends too early"),
        other => SourceError::corrupt(Format::Ico, other),
    }
}
