//! Windows icons and cursors: the largest picture of several. It is a PNG file, or a bitmap without its file header and
//! with a mask of one bit per pixel below it.
//!
//! ```text
//! 0         2                     4      6      7       8        9         10      12    14    18
//! reserved  1: icon, 2: cursor    count  width  height  colours  reserved  planes  bits  size  offset   16 bytes each
//! ```
//! A side of 0 means 256. The sizes and lengths in entries are often wrong: the sizes only choose a picture, and the
//! lengths are ignored.
//!
//! Source: Microsoft, "Icons" (ICONDIR, ICONDIRENTRY).

use std::sync::Arc;

use super::section::{ReadAt, Section};
use super::{bmp, png};
use crate::buffered::Buffered;
use crate::format::{Decoded, Input, Open, READ_BYTES};
use crate::{Bounds, Format, Layout, Orientation, Reading, RowReader, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "ICO",
    media_types: &["image/vnd.microsoft.icon", "image/x-icon"],
    endings: &["ico", "cur"],
    reading: Reading::Buffered,
    in_order: false,
    signature: is_icon,
    open: Open::Directly(open),
};

/// Checks a reserved zero, the type, a count up to 255, and the reserved zero of the first entry.
fn is_icon(head: &[u8]) -> bool {
    matches!(head, [0, 0, 1 | 2, 0, 1..=255, 0, _, _, _, 0, ..])
}

const DIRECTORY_BYTES: usize = 6;
const ENTRY_BYTES: usize = 16;
/// The largest count that the signature allows.
const MOST_ENTRIES: usize = 255;
/// If the best picture cannot be read, the next one is tried, up to this number.
const MOST_TRIED: usize = 8;

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = Arc::new(file.into_inner());
    let mut first_error = None;
    for at in places(&file)?.into_iter().take(MOST_TRIED) {
        match open_at(&file, at, bounds) {
            Ok(decoded) => return Ok(decoded),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| FORMAT.corrupt("it has no picture")))
}

/// Returns the offsets of the pictures, the best first.
fn places(file: &SourceFile) -> Result<Vec<u64>, SourceError> {
    let mut directory = [0; DIRECTORY_BYTES + MOST_ENTRIES * ENTRY_BYTES];
    let read = file.read_with_zeros(0, &mut directory)?;
    let &[_, _, kind, _, count, ..] = &directory;
    let entries = directory.get(DIRECTORY_BYTES..read).unwrap_or_default().as_chunks::<ENTRY_BYTES>().0;
    let side = |side: u8| if side == 0 { 256 } else { u32::from(side) };
    let mut entries: Vec<_> = entries
        .iter()
        .take(count.into())
        .map(|&[width, height, _, _, _, _, b0, b1, _, _, _, _, o0, o1, o2, o3]| {
            // A cursor has its hot spot in place of the bits.
            let bits = if kind == 1 { u16::from_le_bytes([b0, b1]) } else { 0 };
            ((side(width) * side(height), bits), u64::from(u32::from_le_bytes([o0, o1, o2, o3])))
        })
        .collect();
    entries.sort_by_key(|&(rank, _)| std::cmp::Reverse(rank));
    Ok(entries.into_iter().map(|(_, at)| at).collect())
}

fn open_at(file: &Arc<SourceFile>, at: u64, bounds: Bounds) -> Result<Decoded, SourceError> {
    let mut head = [0; 8];
    file.read_with_zeros(at, &mut head)?;
    if (png::FORMAT.signature)(&head) {
        let section = Section::new(file, at, file.length()?.saturating_sub(at)).buffered(READ_BYTES);
        return png::open_reader(section, Orientation::UPRIGHT, bounds, None);
    }
    let (mut rows, mask_at) = bmp::open_in_icon(file, at, bounds)?;
    let (size, layout) = (rows.size(), rows.layout());
    bounds.admit_memory(size.pixels() * (4 + layout.channels() as u64), "decoding an icon")?;
    let stored = Buffered::load(&mut rows, bounds)?;
    // An alpha channel takes precedence over the mask.
    if layout != Layout::Rgba {
        let opaque = stored.pixels.chunks_exact(layout.channels());
        let mut pixels: Vec<u8> = opaque.flat_map(|pixel| rgba(pixel, layout)).collect();
        mask(&mut pixels, file, mask_at, size.width as usize)?;
        let mut masked = Buffered::of(size, Layout::Rgba, pixels);
        masked.damage = stored.damage;
        return Ok(Decoded::plain(masked.without_opaque_alpha()));
    }
    Ok(Decoded::plain(stored))
}

fn rgba(pixel: &[u8], layout: Layout) -> [u8; 4] {
    match (layout, pixel) {
        (Layout::Grey, &[grey]) => [grey, grey, grey, 255],
        (_, &[red, green, blue]) => [red, green, blue, 255],
        _ => [0; 4],
    }
}

/// Makes the pixels transparent whose bits in the mask are set. Pixels without a bit are opaque.
fn mask(pixels: &mut [u8], file: &SourceFile, at: u64, width: usize) -> Result<(), SourceError> {
    let mut bits = vec![0; width.div_ceil(32) * 4];
    // From the bottom up, as the pixels are stored.
    for (number, row) in (0_u64..).zip(pixels.rchunks_exact_mut(width.max(1) * 4)) {
        file.read_with_zeros(at.saturating_add(number * bits.len() as u64), &mut bits)?;
        for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            if bits.get(x / 8).is_some_and(|byte| byte << (x % 8) & 0x80 != 0) {
                *pixel = [0; 4];
            }
        }
    }
    Ok(())
}
