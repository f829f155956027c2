//! Lossless WebP, by rows. The codec refers to pixels up to 2^20 back, so that many are in memory; its transforms need only the
//! row above.
//!
//! Source: RFC 9649, section 3: 3.4 for the header, 3.5 for the transforms, 3.6 for the coding of pixels, 3.7 for the
//! prefix codes.

mod bits;
mod coded;
mod codes;
mod transforms;

use std::io::Read;

use crate::format::Decoded;
use crate::{Bounds, Layout, SourceError};
use bits::{Bits, Result, broken};
use coded::{Coded, Groups, WINDOW, cache_bits};
use transforms::Transform;

/// Memory for prefix codes in bytes, however small the bounds.
const LEAST_BYTES: u64 = 8 << 20;

/// Opens a picture: reads the header, the transforms and the codes.
pub fn open<R: Read + 'static>(file: R, bounds: Bounds) -> std::result::Result<Decoded, SourceError> {
    let mut bits = Bits::new(file);
    let mut parse = || -> Result<(u32, u32, bool)> {
        let is_lossless = bits.read(8)? == 0x2f;
        let (width, height) = (bits.read(14)? + 1, bits.read(14)? + 1);
        let has_alpha = bits.read(1)? == 1;
        if !is_lossless || bits.read(3)? != 0 {
            return Err(broken("its header is invalid"));
        }
        Ok((width, height, has_alpha))
    };
    let (width, height, has_alpha) = parse()?;
    let size = bounds.admit(width, height)?;
    let mut coded_width = width;
    let mut transforms = Vec::new();
    let mut kinds = 0;
    while bits.read(1)? == 1 {
        let kind = bits.read(2)?;
        if kinds & 1 << kind != 0 {
            return Err(broken("a transform occurs twice").into());
        }
        kinds |= 1 << kind;
        transforms.push(Transform::read(kind, &mut bits, &mut coded_width, height)?);
    }
    transforms.reverse();
    let cache_bits = cache_bits(&mut bits)?;
    let memory = bounds.memory.max(LEAST_BYTES);
    let groups = Groups::read(&mut bits, coded_width, height, cache_bits, memory)?;
    let mut coded = Coded::new(coded_width, cache_bits, WINDOW);
    let layout = if has_alpha { Layout::Rgba } else { Layout::Rgb };
    let mut row = Vec::new();
    Ok(Decoded::rows(size, layout, move |out| {
        row.clear();
        coded.row(&mut bits, |x, y| groups.at(x, y), &mut row)?;
        for transform in &mut transforms {
            transform.undo(&mut row);
        }
        if layout == Layout::Rgba {
            for (out, pixel) in out.as_chunks_mut::<4>().0.iter_mut().zip(&row) {
                let [alpha, red, green, blue] = pixel.to_be_bytes();
                *out = [red, green, blue, alpha];
            }
        } else {
            for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(&row) {
                let [_, red, green, blue] = pixel.to_be_bytes();
                *out = [red, green, blue];
            }
        }
        Ok(())
    }))
}
