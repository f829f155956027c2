//! The first frame of a GIF, on its canvas. Buffered: interlaced frames come in four passes.
//!
//! Source: GIF89a specification (CompuServe, 1990), sections 17 to 23.

use ::gif::{DecodeOptions, DecodingError, Frame, MemoryLimit};
use edgezoom_content::Size;

use crate::buffered::Buffered;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Format, Layout, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "GIF",
    media_types: &["image/gif"],
    endings: &["gif"],
    reading: Reading::Buffered,
    signature: |head| head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"),
    open: Open::Directly(open),
};

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut options = DecodeOptions::new();
    options.set_memory_limit(MemoryLimit::Bytes(
        bounds.memory.max(1).try_into().unwrap_or(std::num::NonZeroU64::MIN),
    ));
    let mut decoder = options.read_info(file).map_err(error)?;
    let size = bounds.admit(u32::from(decoder.width()), u32::from(decoder.height()))?;
    // The frame is one byte a pixel, beside the canvas of three or four.
    bounds.admit_memory(size.pixels() * 5, "decoding a GIF")?;
    let globals = decoder.global_palette().map(<[u8]>::to_vec);
    let frame = decoder.read_next_frame().map_err(error)?;
    let frame = frame.ok_or_else(|| FORMAT.corrupt("it has no picture"))?;
    let palette = frame.palette.as_deref().or(globals.as_deref()).unwrap_or_default();
    let layout = if covers(frame, size) && frame.transparent.is_none() { Layout::Rgb } else { Layout::Rgba };
    let mut canvas = Buffered::new(size, layout, bounds)?;
    paint(frame, palette, &mut canvas);
    Ok(Decoded::plain(canvas.without_opaque_alpha()))
}

fn covers(frame: &Frame<'_>, size: Size) -> bool {
    let reaches = |start: u16, length: u16, side: u32| start == 0 && u32::from(length) >= side;
    reaches(frame.left, frame.width, size.width) && reaches(frame.top, frame.height, size.height)
}

/// Paints the part of the frame that lies on the canvas. An index beyond the palette is black, as in browsers.
fn paint(frame: &Frame<'_>, palette: &[u8], canvas: &mut Buffered) {
    let (colours, _) = palette.as_chunks::<3>();
    let channels = canvas.layout.channels();
    let row_bytes = canvas.size.width as usize * channels;
    let rows = canvas.pixels.chunks_exact_mut(row_bytes).skip(usize::from(frame.top));
    for (indices, row) in frame.buffer.chunks_exact(usize::from(frame.width).max(1)).zip(rows) {
        let pixels = row.chunks_exact_mut(channels).skip(usize::from(frame.left));
        for (&index, pixel) in indices.iter().zip(pixels) {
            if Some(index) == frame.transparent {
                continue;
            }
            let [red, green, blue] = colours.get(usize::from(index)).copied().unwrap_or_default();
            pixel.copy_from_slice(&[red, green, blue, 255][..channels]);
        }
    }
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::Io(_) => FORMAT.corrupt("it ends too early"),
        other => FORMAT.corrupt(other),
    }
}
