//! WebP, lossy or lossless; the first frame of an animation. Lossy pictures without an alpha channel are read row by
//! row while libwebp decodes them. The rest is buffered.
//!
//! ```text
//! "RIFF"  size: u32  "WEBP"   chunk…
//! chunk   name: 4 bytes  size: u32  content  a byte of padding if the size is odd      numbers are little-endian
//! VP8X    flags: u8  0: u24  width − 1: u24  height − 1: u24
//! ANMF    left / 2: u24  top / 2: u24  width − 1: u24  height − 1: u24  duration: u24  flags: u8  chunk…
//! ```
//! Source: RFC 9649, sections 2.3 to 2.7.

pub mod libwebp;
mod planes;

use std::iter;
use std::ops::Range;

use edgezoom_geometry::Size;

use crate::buffered::{Buffered, read_all};
use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open};
use crate::formats::ifd::orientation_of_exif;
use crate::tolerant::missing;
use crate::{Bounds, Damage, DecodeOptions, Format, Layout, Orientation, Reading, SourceError};
use libwebp::{Features, Lossy};
use planes::Planes;

pub(crate) static FORMAT: Format = Format {
    name: "WebP",
    media_types: &["image/webp"],
    endings: &["webp"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| matches!(head, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]),
    open: Open::Directly(open),
};

/// Offset of the first chunk.
const FIRST_CHUNK: usize = 12;
/// Number of bytes of a chunk's name and size.
const CHUNK_HEADER: usize = 8;
/// Number of bytes of an animation's frame before its chunks.
const FRAME_HEADER: usize = 16;

/// Bytes of memory that libwebp takes for each pixel besides the rows it writes: pixels of four channels for the
/// lossless codec; opacity, decoded and filtered, for the lossy one.
const LOSSLESS_BYTES_A_PIXEL: u64 = 4;
const OPACITY_BYTES_A_PIXEL: u64 = 2;

fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut file = read_all(file, bounds)?;
    let parts = Parts::find(&file);
    let frame = file.get(parts.frame.clone()).unwrap_or_default();
    let features = libwebp::features(frame).ok_or_else(|| FORMAT.corrupt("it has no pixels"))?;
    let canvas = parts.canvas.unwrap_or(features.size);
    if !parts.is_valid(features.size, canvas) {
        return Err(FORMAT.corrupt("its pixels do not have the size that its header states"));
    }
    let size = bounds.admit(canvas.width, canvas.height)?;
    let metadata = |range: &Range<usize>| file.get(range.clone());
    let orientation = metadata(&parts.exif).map_or(Orientation::UPRIGHT, orientation_of_exif);
    let profile = metadata(&parts.profile).and_then(Profile::of_icc);
    let profile = profile.filter(|profile| profile.changes(Layout::Rgb));
    let decoded = if features.is_lossy && !features.has_alpha && features.size == size {
        // The planes, the state of each macroblock, and the file.
        bounds.admit_memory(size.pixels() * 7 / 4 + file.len() as u64, "decoding a WebP")?;
        file.truncate(parts.frame.end);
        file.drain(..parts.frame.start);
        let lossy = Lossy::open(file, size, options.threads.get() > 1)?;
        let as_planes = profile.is_none() && options.allow_planes(orientation, size);
        Decoded::plain(Planes::new(lossy, size, as_planes))
    } else {
        Decoded::plain(decode(frame, features, parts.origin, size, bounds, options)?)
    };
    Ok(Decoded { orientation, profile, ..decoded })
}

/// Decodes a frame onto a canvas of this size, as far as the frame goes.
fn decode(
    frame: &[u8],
    Features { size: own, has_alpha, is_lossy }: Features,
    [left, top]: [u32; 2],
    size: Size,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Buffered, SourceError> {
    let layout = if has_alpha || own != size { Layout::Rgba } else { Layout::Rgb };
    let beside = if is_lossy { OPACITY_BYTES_A_PIXEL } else { LOSSLESS_BYTES_A_PIXEL };
    let pixels = size.pixels() * layout.channels() as u64 + own.pixels() * beside;
    bounds.admit_memory(frame.len() as u64 + pixels, "decoding a WebP")?;
    let mut picture = Buffered::new(size, layout, bounds)?;
    let row_bytes = layout.row_bytes(size.width);
    let start = top as usize * row_bytes + left as usize * layout.channels();
    let out = picture.pixels.get_mut(start..).unwrap_or_default();
    let rows = libwebp::decode(frame, layout, row_bytes, out, options.threads.get() > 1)?;
    if rows == 0 {
        return Err(FORMAT.corrupt("none of its rows can be decoded"));
    }
    if rows < own.height {
        let row = top + rows;
        picture.damage = Some(Damage::FromRow { row, rows: size.height });
        let rest = picture.pixels.get_mut(row as usize * row_bytes..).unwrap_or_default();
        rest.fill(missing(layout));
    }
    Ok(picture.without_opaque_alpha())
}

/// The parts of a file that are read, as ranges of its bytes.
#[derive(Default)]
struct Parts {
    /// The size that an extended header states.
    canvas: Option<Size>,
    /// The chunks of the first frame, which libwebp reads without the file around them.
    frame: Range<usize>,
    /// The column and row of the canvas at which the frame begins.
    origin: [u32; 2],
    is_animated: bool,
    exif: Range<usize>,
    profile: Range<usize>,
}

impl Parts {
    fn find(file: &[u8]) -> Self {
        let mut parts = Self::default();
        let is_missing = |range: &Range<usize>| range.is_empty();
        for (name, content) in chunks(file, FIRST_CHUNK..file.len()) {
            let number = |at| file.get(content.clone()).and_then(|bytes| u24(bytes, at));
            match &name {
                b"VP8X" => {
                    let sides = number(4).zip(number(7));
                    parts.canvas = sides.map(|(width, height)| Size { width: width + 1, height: height + 1 });
                }
                b"ICCP" if is_missing(&parts.profile) => parts.profile = content,
                b"EXIF" if is_missing(&parts.exif) => parts.exif = content,
                b"VP8 " | b"VP8L" | b"ALPH" if is_missing(&parts.frame) => {
                    parts.frame = frame(file, content.start - CHUNK_HEADER..file.len());
                }
                b"ANMF" if is_missing(&parts.frame) => {
                    let [left, top] = [number(0), number(3)].map(Option::unwrap_or_default);
                    parts.origin = [2 * left, 2 * top];
                    parts.is_animated = true;
                    parts.frame = frame(file, content.start + FRAME_HEADER..content.end);
                }
                _ => {}
            }
        }
        parts
    }

    /// Returns true if a frame of this size belongs on the canvas.
    fn is_valid(&self, frame: Size, canvas: Size) -> bool {
        let [left, top] = self.origin;
        let fits = left + frame.width <= canvas.width && top + frame.height <= canvas.height;
        if self.is_animated { fits } else { frame == canvas }
    }
}

/// Returns the chunks of a frame: its pixels, and before those of the lossy codec their opacity.
fn frame(file: &[u8], within: Range<usize>) -> Range<usize> {
    let mut start = None;
    for (name, content) in chunks(file, within) {
        let begin = content.start - CHUNK_HEADER;
        match &name {
            b"ALPH" => start = start.or(Some(begin)),
            b"VP8 " | b"VP8L" => return start.unwrap_or(begin)..content.end,
            _ => {}
        }
    }
    0..0
}

/// Returns the names of chunks, and the ranges of their contents as far as they are there.
fn chunks(file: &[u8], mut within: Range<usize>) -> impl Iterator<Item = ([u8; 4], Range<usize>)> {
    iter::from_fn(move || {
        let &[n0, n1, n2, n3, s0, s1, s2, s3] = file.get(within.clone())?.first_chunk()?;
        let size = u32::from_le_bytes([s0, s1, s2, s3]) as usize;
        let start = within.start + CHUNK_HEADER;
        let end = start.saturating_add(size).min(within.end);
        within.start = end.saturating_add(size % 2).min(within.end);
        Some(([n0, n1, n2, n3], start..end))
    })
}

fn u24(bytes: &[u8], at: usize) -> Option<u32> {
    let &[b0, b1, b2] = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([b0, b1, b2, 0]))
}
