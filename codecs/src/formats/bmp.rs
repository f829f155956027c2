//! Windows bitmaps, decoded as a whole: most are stored from the bottom up.

use std::fs::File;
use std::io::BufReader;

use image::codecs::bmp::BmpDecoder;
use image::{ColorType, ImageDecoder, ImageError};

use crate::{Bounds, Buffered, Decoded, Format, Layout, SourceError};

pub fn open(file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    let decoder = BmpDecoder::new(file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    let layout = match decoder.color_type() {
        ColorType::L8 => Layout::Grey,
        ColorType::Rgb8 => Layout::Rgb,
        ColorType::Rgba8 => Layout::Rgba,
        _ => return Err(SourceError::unsupported(Format::Bmp, "its colours are of an unknown kind")),
    };
    let mut whole = Buffered::new(size, layout, bounds)?;
    decoder.read_image(&mut whole.pixels).map_err(error)?;
    Ok(Decoded::plain(whole.without_idle_opacity()))
}

fn error(error: ImageError) -> SourceError {
    match error {
        ImageError::Unsupported(error) => SourceError::unsupported(Format::Bmp, error),
        ImageError::IoError(_) => SourceError::corrupt(Format::Bmp, "it ends too early"),
        other => SourceError::corrupt(Format::Bmp, other),
    }
}
