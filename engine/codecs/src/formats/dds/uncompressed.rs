//! Uncompressed pixels of kinds that the crate does not read: any masks, luminance with alpha, palettes.

use std::io::Read;

use super::FORMAT;
use super::header::Masks;
use crate::buffered::Buffered;
use crate::colour::bit_mask::BitMask;
use crate::{Bounds, Layout, SourceError};

/// Number of colours of a palette.
const COLOURS: usize = 256;

/// Reads pixels whose channels are in the bits of a number.
pub fn masks(
    file: impl Read,
    bounds: Bounds,
    [width, height]: [u32; 2],
    masks: &Masks,
) -> Result<Buffered, SourceError> {
    let Masks { bytes, colours, is_luminance, alpha } = *masks;
    let layout = match (is_luminance, alpha) {
        (_, Some(_)) => Layout::Rgba,
        (true, None) => Layout::Grey,
        (false, None) => Layout::Rgb,
    };
    let picture = Buffered::new(bounds.admit(width, height)?, layout, bounds)?;
    read_rows(file, picture, bytes, |stored, out| {
        let mut number = [0; 4];
        number[..bytes].copy_from_slice(stored);
        let number = u32::from_le_bytes(number);
        let [red, green, blue] = match is_luminance {
            true => [colours[0].of(number); 3],
            false => colours.map(|colour| colour.of(number)),
        };
        match out {
            [grey] => *grey = red,
            out => {
                let alpha = alpha.map_or(255, |alpha| BitMask::of(alpha, number));
                out.iter_mut().zip([red, green, blue, alpha]).for_each(|(out, value)| *out = value);
            }
        }
    })
}

/// Reads a palette and indices.
pub fn palette(
    mut file: impl Read,
    bounds: Bounds,
    [width, height]: [u32; 2],
    has_alpha: bool,
) -> Result<Buffered, SourceError> {
    let mut palette = [[0; 4]; COLOURS];
    let read = file.read_exact(palette.as_flattened_mut());
    read.map_err(|_| FORMAT.corrupt("it ends before its first row"))?;
    // The fourth byte is that of flags in PALETTEENTRY, which most programs leave zero.
    if palette.iter().all(|&[_, _, _, alpha]| alpha == 0) {
        palette.iter_mut().for_each(|colour| colour[3] = 255);
    }
    let picture = Buffered::new(bounds.admit(width, height)?, Layout::Rgba, bounds)?;
    read_rows(file, picture, 1 + usize::from(has_alpha), |stored, out| {
        let Some(&index) = stored.first() else { return };
        out.copy_from_slice(&palette[usize::from(index)]);
        if let (Some(&alpha), Some(out)) = (stored.get(1), out.get_mut(3)) {
            *out = alpha;
        }
    })
}

/// Fills a picture with pixels of `bytes` bytes.
fn read_rows(
    mut file: impl Read,
    mut picture: Buffered,
    bytes: usize,
    convert: impl Fn(&[u8], &mut [u8]),
) -> Result<Buffered, SourceError> {
    let (width, channels) = (picture.size.width as usize, picture.layout.channels());
    let mut row = vec![0; width * bytes];
    for out in picture.pixels.chunks_exact_mut(width * channels) {
        file.read_exact(&mut row).map_err(|_| FORMAT.corrupt("it ends before its last row"))?;
        let pixels = row.chunks_exact(bytes).zip(out.chunks_exact_mut(channels));
        pixels.for_each(|(stored, out)| convert(stored, out));
    }
    Ok(picture.without_opaque_alpha())
}
