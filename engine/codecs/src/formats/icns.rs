//! Apple's icons: the largest picture of several. They are buffered: the largest has 1,024 pixels a side.
//!
//! ```text
//! "icns"  length: u32        then entries: type: 4 bytes  length: u32, head included  bytes
//! ```
//! | types | an entry's bytes |
//! |---|---|
//! | `icp4`–`icp6`, `ic07`–`ic14`, `icsb`, `icsB`, `sb24`, `SB24` | a PNG, or a JPEG 2000 |
//! | `ic04`, `ic05` | "ARGB", then planes of alpha, red, green, blue, in runs |
//! | `is32`, `il32`, `ih32`, `it32` | planes of red, green, blue, in runs; `it32` has four zeros first |
//! | `s8mk`, `l8mk`, `h8mk`, `t8mk` | their alpha |
//! | `icl8`, `ics8`, … | older pictures of few colours, which are not supported |
//!
//! ```text
//! runs   0 … 127 n: n + 1 bytes follow      128 … 255 n: the next byte, n - 125 times
//! ```
//! Source: Apple, "Icon Services" (IconStorage.h); Wikipedia, "Icon Image", for the types after 2009.

use std::io::{Cursor, Read};

use ::png::{ColorType, Decoder, Limits, Transformations};
use edgezoom_geometry::Size;

use crate::buffered::{self, Buffered};
use crate::format::{Decoded, Input, Open};
use crate::{Bounds, Format, Layout, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "ICNS",
    media_types: &["image/icns", "image/x-icns"],
    endings: &["icns"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(b"icns"),
    open: Open::Directly(open),
};

/// Bytes that the PNG decoder may allocate besides the picture.
const DECODER_BYTES: usize = 16 << 20;
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The largest side of an icon (Apple, "High Resolution Guidelines").
const MAX_SIDE: u32 = 2048;

/// The supported types, with their kind and side. A PNG may have another side.
#[rustfmt::skip]
const TYPES: &[(&[u8; 4], Kind, u32)] = &[
    (b"ic10", Kind::File, 1024), (b"ic14", Kind::File, 512), (b"ic09", Kind::File, 512), (b"ic13", Kind::File, 256),
    (b"ic08", Kind::File, 256), (b"ic07", Kind::File, 128), (b"it32", Kind::Colours(b"t8mk"), 128),
    (b"ic12", Kind::File, 64), (b"icp6", Kind::File, 64), (b"SB24", Kind::File, 48), (b"ih32", Kind::Colours(b"h8mk"), 48),
    (b"icsB", Kind::File, 36), (b"ic11", Kind::File, 32), (b"icp5", Kind::File, 32), (b"ic05", Kind::Argb, 32),
    (b"il32", Kind::Colours(b"l8mk"), 32),
    (b"sb24", Kind::File, 24), (b"icsb", Kind::Argb, 18), (b"icp4", Kind::File, 16), (b"ic04", Kind::Argb, 16),
    (b"is32", Kind::Colours(b"s8mk"), 16),
];

#[derive(Clone, Copy)]
enum Kind {
    /// A PNG or a JPEG 2000, or else ARGB.
    File,
    Argb,
    /// Colours, with the type of their alpha.
    Colours(&'static [u8; 4]),
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let bytes = buffered::read_all(file, bounds)?;
    let entries = entries(&bytes);
    let find = |wanted: &[u8; 4]| entries.iter().find(|(kind, _)| kind == wanted).map(|(_, bytes)| *bytes);
    let length = bytes.get(4..).and_then(|rest| rest.first_chunk()).map(|&length| u32::from_be_bytes(length));
    let is_cut_off = length.is_none_or(|length| length as usize > bytes.len());
    let mut failure =
        if is_cut_off { cut_off() } else { FORMAT.unsupported("it has no picture of 24 bits or more") };
    for &(name, kind, side) in TYPES {
        let Some(entry) = find(name) else { continue };
        let picture = match kind {
            Kind::File if entry.starts_with(PNG) => png(entry, bounds),
            Kind::File | Kind::Argb if entry.starts_with(b"ARGB") => argb(entry, side, bounds),
            Kind::File | Kind::Argb => jpeg_2000(entry, bounds),
            Kind::Colours(mask) if is_cut_off && find(mask).is_none() => Err(cut_off()),
            Kind::Colours(mask) => colours(entry, find(mask), side, bounds),
        };
        match picture {
            Ok(picture) => return Ok(picture),
            // A smaller picture is better than none.
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn cut_off() -> SourceError {
    FORMAT.corrupt("it ends before its last picture")
}

/// Returns the types and contents of entries, up to the first that is cut off.
fn entries(bytes: &[u8]) -> Vec<([u8; 4], &[u8])> {
    let mut entries = Vec::new();
    let mut rest = bytes.get(8..).unwrap_or_default();
    while let Some((&[k0, k1, k2, k3, l0, l1, l2, l3], after)) = rest.split_first_chunk::<8>() {
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        let Some((entry, later)) = length.checked_sub(8).and_then(|length| after.split_at_checked(length))
        else {
            break;
        };
        entries.push(([k0, k1, k2, k3], entry));
        rest = later;
    }
    entries
}

fn png(entry: &[u8], bounds: Bounds) -> Result<Decoded, SourceError> {
    let error = |_| FORMAT.corrupt("its PNG is invalid");
    let mut decoder = Decoder::new_with_limits(Cursor::new(entry), Limits { bytes: DECODER_BYTES });
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    let header = decoder.read_header_info().map_err(error)?;
    let size = admit(header.width, header.height, bounds)?;
    let mut reader = decoder.read_info().map_err(error)?;
    let (colour, _) = reader.output_color_type();
    let mut stored = vec![0; reader.output_buffer_size().unwrap_or(0)];
    reader.next_frame(&mut stored).map_err(error)?;
    let mut picture = Buffered::new(size, Layout::Rgba, bounds)?;
    let out = picture.pixels.as_chunks_mut::<4>().0.iter_mut();
    match colour {
        ColorType::GrayscaleAlpha => {
            out.zip(stored.as_chunks::<2>().0)
                .for_each(|(out, &[grey, alpha])| *out = [grey, grey, grey, alpha]);
        }
        _ => out.zip(stored.as_chunks::<4>().0).for_each(|(out, pixel)| *out = *pixel),
    }
    Ok(Decoded::plain(picture.without_opaque_alpha()))
}

#[cfg(feature = "modern")]
fn jpeg_2000(entry: &[u8], bounds: Bounds) -> Result<Decoded, SourceError> {
    super::jpeg2000::decode(entry, bounds)
}

#[cfg(not(feature = "modern"))]
fn jpeg_2000(_: &[u8], _: Bounds) -> Result<Decoded, SourceError> {
    Err(FORMAT.unsupported("its picture is a JPEG 2000"))
}

fn argb(entry: &[u8], side: u32, bounds: Bounds) -> Result<Decoded, SourceError> {
    let mut packed = entry.get(4..).unwrap_or_default();
    let mut picture = Buffered::new(admit(side, side, bounds)?, Layout::Rgba, bounds)?;
    for channel in [3, 0, 1, 2] {
        unpack(&mut packed, picture.pixels.iter_mut().skip(channel).step_by(4))?;
    }
    Ok(Decoded::plain(picture.without_opaque_alpha()))
}

fn colours(entry: &[u8], mask: Option<&[u8]>, side: u32, bounds: Bounds) -> Result<Decoded, SourceError> {
    let mut packed = entry.strip_prefix(&[0; 4]).filter(|_| side == 128).unwrap_or(entry);
    let mut picture = Buffered::new(admit(side, side, bounds)?, Layout::Rgba, bounds)?;
    let pixels = (side * side) as usize;
    if packed.len() == 4 * pixels {
        // Not in runs: each pixel has an unused byte and three colours.
        for (out, &[_, red, green, blue]) in
            picture.pixels.as_chunks_mut::<4>().0.iter_mut().zip(packed.as_chunks().0)
        {
            *out = [red, green, blue, 255];
        }
    } else {
        for channel in 0..3 {
            unpack(&mut packed, picture.pixels.iter_mut().skip(channel).step_by(4))?;
        }
    }
    let alphas = picture.pixels.iter_mut().skip(3).step_by(4);
    let mask = mask.filter(|mask| mask.len() >= pixels).unwrap_or_default();
    alphas.zip(mask.iter().chain(std::iter::repeat(&255))).for_each(|(out, &alpha)| *out = alpha);
    Ok(Decoded::plain(picture.without_opaque_alpha()))
}

/// Decompresses a plane.
fn unpack<'a>(
    packed: &mut &[u8],
    mut out: impl ExactSizeIterator<Item = &'a mut u8>,
) -> Result<(), SourceError> {
    let mut next = || {
        let mut byte = [0];
        packed.read_exact(&mut byte).map_err(|_| FORMAT.corrupt("a picture ends before its last row"))?;
        Ok::<u8, SourceError>(byte[0])
    };
    while out.len() > 0 {
        let control = next()?;
        if control < 128 {
            for out in out.by_ref().take(usize::from(control) + 1) {
                *out = next()?;
            }
        } else {
            let value = next()?;
            out.by_ref().take(usize::from(control) - 125).for_each(|out| *out = value);
        }
    }
    Ok(())
}

/// Checks the size of an icon.
fn admit(width: u32, height: u32, bounds: Bounds) -> Result<Size, SourceError> {
    if width.max(height) > MAX_SIDE {
        return Err(SourceError::TooLong { size: Size { width, height }, side: MAX_SIDE });
    }
    bounds.admit(width, height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mutated;

    fn icns(entries: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut content = Vec::new();
        for (kind, bytes) in entries {
            content.extend(*kind);
            content.extend((bytes.len() as u32 + 8).to_be_bytes());
            content.extend(*bytes);
        }
        [b"icns".as_slice(), &(content.len() as u32 + 8).to_be_bytes(), &content].concat()
    }

    /// Returns a plane of 256 equal bytes, in runs of 128.
    fn plane(value: u8) -> [u8; 4] {
        [253, value, 253, value]
    }

    #[test]
    fn alpha_comes_from_a_mask_or_with_the_colours() {
        let colours = [plane(1), plane(2), plane(3)].concat();
        let file = icns(&[(b"TOC ", &[]), (b"is32", &colours), (b"s8mk", &[9; 256])]);
        assert_eq!(mutated::read(&file).unwrap(), (16, Layout::Rgba, [1, 2, 3, 9].repeat(256)));
        assert_eq!(
            mutated::read(&icns(&[(b"is32", &colours)])).unwrap(),
            (16, Layout::Rgb, [1, 2, 3].repeat(256))
        );
        let argb = [b"ARGB".as_slice(), &plane(9), &colours].concat();
        let file = icns(&[(b"ic04", &argb)]);
        assert_eq!(mutated::read(&file).unwrap(), (16, Layout::Rgba, [1, 2, 3, 9].repeat(256)));
        mutated::check(&file, 40);
        assert!(matches!(mutated::read(&file[..30]), Err(SourceError::Corrupt { .. })));
        assert!(matches!(mutated::read(&icns(&[(b"TOC ", &[])])), Err(SourceError::Unsupported { .. })));
    }
}
