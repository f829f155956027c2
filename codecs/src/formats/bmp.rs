//! Windows bitmaps. Buffered: most are stored from the bottom up.
//!
//! ```text
//! 0     2          6         10              14
//! "BM"  file size  reserved  offset of rows  size of the next header: 12 (OS/2), 40 (Windows 3) to 124 (version 5)
//! ```
//! Source: Microsoft, "Bitmap Storage", BITMAPFILEHEADER and BITMAPINFOHEADER.

use image::codecs::bmp::BmpDecoder;
use image::{ColorType, ImageDecoder, ImageError};

use crate::buffered::Buffered;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Format, Layout, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "BMP",
    media_types: &["image/bmp"],
    endings: &["bmp"],
    reading: Reading::Buffered,
    signature: is_bmp,
    open: Open::Directly(open),
};

/// "BM" alone also begins a text about BMX. The size of the second header is one of a few small numbers.
fn is_bmp(head: &[u8]) -> bool {
    matches!(head, [b'B', b'M', _, _, _, _, _, _, _, _, _, _, _, _, 12..=124, 0, ..])
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let decoder = BmpDecoder::new(file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    let layout = match decoder.color_type() {
        ColorType::L8 => Layout::Grey,
        ColorType::Rgb8 => Layout::Rgb,
        ColorType::Rgba8 => Layout::Rgba,
        _ => return Err(FORMAT.unsupported("its pixel format is unknown")),
    };
    let mut picture = Buffered::new(size, layout, bounds)?;
    decoder.read_image(&mut picture.pixels).map_err(error)?;
    Ok(Decoded::plain(picture.without_opaque_alpha()))
}

fn error(error: ImageError) -> SourceError {
    match error {
        ImageError::Unsupported(error) => FORMAT.unsupported(error),
        ImageError::IoError(_) => FORMAT.corrupt("it ends too early"),
        other => FORMAT.corrupt(other),
    }
}
