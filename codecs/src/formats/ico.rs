//! Windows icons and cursors: the largest picture of several. Buffered: the entries are BMP, stored bottom up, or PNG.
//!
//! ```text
//! 0         2                      4      6      7       8        9         10 …
//! reserved  1: icon, 2: cursor     count  width  height  colours  reserved  the first entry goes on to 22
//! ```
//! Source: Microsoft, "Icons" (ICONDIR, ICONDIRENTRY).

use std::fs::File;
use std::io::BufReader;

use image::codecs::ico::IcoDecoder;
use image::{DynamicImage, ImageDecoder, ImageError};

use crate::buffered::Buffered;
use crate::buffered::catch_panics;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Bounds, Format, Layout, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "ICO",
    media_types: &["image/vnd.microsoft.icon", "image/x-icon"],
    endings: &["ico", "cur"],
    reading: Reading::Buffered,
    signature: is_icon,
    open: Open::Directly(open),
};

/// A reserved zero, the type, a count up to 255, and the reserved zero of the first entry.
fn is_icon(head: &[u8]) -> bool {
    matches!(head, [0, 0, 1 | 2, 0, 1..=255, 0, _, _, _, 0, ..])
}

/// The memory that decoding takes for each pixel, in bytes: up to four samples of 16 bits, and the picture.
const BYTES_A_PIXEL: u64 = 12;

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(FORMAT.name, || decode(file, bounds)).map(Decoded::plain)
}

fn decode(file: BufReader<File>, bounds: Bounds) -> Result<Buffered, SourceError> {
    let decoder = IcoDecoder::new(file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    bounds.admit_memory(size.pixels() * BYTES_A_PIXEL, "decoding an icon")?;
    let picture = DynamicImage::from_decoder(decoder).map_err(error)?;
    Ok(Buffered::of(size, Layout::Rgba, picture.into_rgba8().into_raw()).without_opaque_alpha())
}

fn error(error: ImageError) -> SourceError {
    match error {
        ImageError::Unsupported(error) => FORMAT.unsupported(error),
        ImageError::IoError(_) => FORMAT.corrupt("it ends too early"),
        other => FORMAT.corrupt(other),
    }
}
