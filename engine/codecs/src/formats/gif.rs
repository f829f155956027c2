//! The first frame of a GIF, on its canvas, which grows to hold it, as in browsers. Buffered, because interlaced frames
//! have four passes. A row of an early pass fills the rows below until they are decoded, so that a file that is cut off
//! shows a coarse picture.
//!
//! Source: GIF89a specification (CompuServe, 1990), sections 17 to 23, appendix E.

use std::io::BufReader;

use ::gif::{DecodeOptions, Decoder, DecodingError, Frame, MemoryLimit};
use edgezoom_geometry::Size;

use crate::buffered::Buffered;
use crate::format::{Decoded, Input, Open};
use crate::tolerant::missing;
use crate::{Bounds, Damage, Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "GIF",
    media_types: &["image/gif"],
    endings: &["gif"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"),
    open: Open::Directly(open),
};

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut options = DecodeOptions::new();
    options.set_memory_limit(MemoryLimit::Bytes(
        bounds.memory.max(1).try_into().unwrap_or(std::num::NonZeroU64::MIN),
    ));
    options.allow_unknown_blocks(true);
    let mut decoder = options.read_info(file).map_err(error)?;
    let screen = (decoder.width(), decoder.height());
    // A canvas that is too large is refused by its header alone.
    bounds.admit(u32::from(screen.0).max(1), u32::from(screen.1).max(1))?;
    let frame = first_frame(&mut decoder)?;
    let reach =
        |screen: u16, start: u16, length: u16| u32::from(screen).max(u32::from(start) + u32::from(length));
    let width = reach(screen.0, frame.left, frame.width);
    let height = reach(screen.1, frame.top, frame.height);
    let size = bounds.admit(width, height)?;
    let palette = frame.palette.as_deref().or(decoder.global_palette()).unwrap_or_default().to_vec();
    let canvas = paint(&mut decoder, &frame, &palette, size, bounds)?;
    Ok(Decoded::plain(canvas.without_opaque_alpha()))
}

/// Reads the description of the first frame, without its pixels.
fn first_frame(decoder: &mut Decoder<BufReader<SourceFile>>) -> Result<Frame<'static>, SourceError> {
    let found = decoder.next_frame_info().map(|frame| frame.cloned());
    match found {
        Ok(Some(frame)) => Ok(frame),
        Ok(None) => Err(FORMAT.corrupt("it has no picture")),
        // A frame without a palette is an error of the decoder, which has read the description: browsers show black.
        Err(failed) => match decoder.current_frame_info() {
            Some(frame)
                if frame.width > 0 && frame.palette.is_none() && decoder.global_palette().is_none() =>
            {
                Ok(frame.clone())
            }
            _ => Err(error(failed)),
        },
    }
}

/// Paints the part of the frame that is on the canvas. An index beyond the palette is black, as in browsers.
fn paint(
    decoder: &mut Decoder<BufReader<SourceFile>>,
    frame: &Frame<'_>,
    palette: &[u8],
    size: Size,
    bounds: Bounds,
) -> Result<Buffered, SourceError> {
    let layout = if covers(frame, size) && frame.transparent.is_none() { Layout::Rgb } else { Layout::Rgba };
    let mut canvas = Buffered::new(size, layout, bounds)?;
    canvas.pixels.fill(missing(layout));
    let (colours, _) = palette.as_chunks::<3>();
    let channels = layout.channels();
    let row_bytes = layout.row_bytes(size.width);
    let mut indices = vec![0; usize::from(frame.width)];
    for (number, (y, copies)) in (0..).zip(rows(frame)) {
        let failed = match decoder.fill_buffer(&mut indices).map_err(error) {
            Ok(true) => None,
            Ok(false) => Some(FORMAT.ends_early()),
            Err(failed @ SourceError::Corrupt { .. }) => Some(failed),
            Err(other) => return Err(other),
        };
        if let Some(failed) = failed {
            canvas.damage = Some(damage(frame, number, size).ok_or(failed)?);
            break;
        }
        let start = (usize::from(frame.top) + y) * row_bytes;
        let end = (start + copies * row_bytes).min(canvas.pixels.len());
        let Some((row, below)) =
            canvas.pixels.get_mut(start..end).and_then(|rows| rows.split_at_mut_checked(row_bytes))
        else {
            continue;
        };
        let pixels = row.chunks_exact_mut(channels).skip(usize::from(frame.left));
        for (&index, pixel) in indices.iter().zip(pixels) {
            if Some(index) == frame.transparent {
                pixel.fill(0);
                continue;
            }
            let [red, green, blue] = colours.get(usize::from(index)).copied().unwrap_or_default();
            pixel.copy_from_slice(&[red, green, blue, 255][..channels]);
        }
        below.chunks_exact_mut(row_bytes).for_each(|copy| copy.copy_from_slice(row));
    }
    Ok(canvas)
}

fn covers(frame: &Frame<'_>, size: Size) -> bool {
    let reaches = |start: u16, length: u16, side: u32| start == 0 && u32::from(length) >= side;
    reaches(frame.left, frame.width, size.width) && reaches(frame.top, frame.height, size.height)
}

/// Returns the rows of a frame in the order in which they are stored, each with the number of rows that it fills for
/// now.
fn rows(frame: &Frame<'_>) -> impl Iterator<Item = (usize, usize)> + use<> {
    let height = usize::from(frame.height);
    let passes: &[(usize, usize, usize)] =
        if frame.interlaced { &[(0, 8, 8), (4, 8, 4), (2, 4, 2), (1, 2, 1)] } else { &[(0, 1, 1)] };
    passes.iter().flat_map(move |&(first, step, copies)| {
        (first..height).step_by(step).map(move |y| (y, copies.min(height - y)))
    })
}

/// Returns the damage if only `stored` of the rows are in the file, or `None` if none is.
fn damage(frame: &Frame<'_>, stored: u32, size: Size) -> Option<Damage> {
    let step = if frame.interlaced { 8 } else { 1 };
    let row = u32::from(frame.top) + stored * step;
    match stored {
        0 => None,
        _ if row < size.height => Some(Damage::FromRow { row, rows: size.height }),
        _ => Some(Damage::Partial),
    }
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::Io(_) => FORMAT.ends_early(),
        other => FORMAT.corrupt(other),
    }
}
