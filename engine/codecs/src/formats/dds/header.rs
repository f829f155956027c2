//! The header, with the mistakes corrected that writers make and others ignore: only the first surface is read, so the
//! numbers of levels, faces, slices and array members do not matter.
//!
//! ```text
//! "DDS "  124: u32  flags  height  width  pitch  depth  levels  11 × reserved  pixel format  caps … caps4  reserved
//! pixel format  32: u32  flags  FourCC  bits of a pixel  masks of red or luminance, green, blue, alpha: u32 each
//! if the FourCC is "DX10"  DXGI format: u32  dimension  flags  array members  flags of alpha
//! if pixels are indices    palette: 256 × (red green blue alpha: u8)
//! ```
//! Source: Microsoft, "DDS_HEADER", "DDS_PIXELFORMAT", "DDS_HEADER_DXT10", "DXGI_FORMAT enumeration".

use std::io::Read;

use ::dds::Format as Stored;
use ::dds::header::{Header, MiscFlags, ParseOptions, ResourceDimension};

use super::FORMAT;
use crate::SourceError;
use crate::colour::bit_mask::BitMask;

const HEADER_BYTES: usize = 128;
/// Bytes that follow the header if its FourCC is "DX10".
const NEWER_BYTES: usize = 20;

/// Flags of the pixel format.
const ALPHA_PIXELS: u32 = 0x1;
const FOUR_CC: u32 = 0x4;
const PALETTE: u32 = 0x20;
const RGB: u32 = 0x40;
const LUMINANCE: u32 = 0x2_0000;

/// The way pixels are stored.
pub enum Pixels {
    /// In a format that the crate decodes.
    Known(Header, Stored),
    Masks {
        size: [u32; 2],
        masks: Masks,
    },
    /// As indices of 8 bits, with 8 bits of alpha behind each if `has_alpha`.
    Palette {
        size: [u32; 2],
        has_alpha: bool,
    },
}

/// Channels in the bits of little-endian numbers.
pub struct Masks {
    /// Number of bytes of a pixel.
    pub bytes: usize,
    /// Red, green and blue. Without green and blue, red is luminance.
    pub colours: [BitMask; 3],
    pub is_luminance: bool,
    pub alpha: Option<BitMask>,
}

/// Reads the header. The file is then at the first pixel, or at the palette.
pub fn read(file: &mut impl Read) -> Result<Pixels, SourceError> {
    let cut_off = || FORMAT.corrupt("it ends in its header");
    let mut head = [0; HEADER_BYTES + NEWER_BYTES];
    file.read_exact(&mut head[..HEADER_BYTES]).map_err(|_| cut_off())?;
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (size, bits) = ([number(16), number(12)], number(88));
    let (mut flags, masks) = (number(80), [92, 96, 100, 104].map(number));
    let is_newer = &head[84..88] == b"DX10";
    // Old files have a FourCC without its flag.
    if is_newer && bits == 0 {
        flags |= FOUR_CC;
        head[80..84].copy_from_slice(&flags.to_le_bytes());
    }
    if flags & FOUR_CC == 0 && flags & PALETTE != 0 {
        return match (bits, flags & ALPHA_PIXELS != 0) {
            (8, _) => Ok(Pixels::Palette { size, has_alpha: false }),
            (16, true) => Ok(Pixels::Palette { size, has_alpha: true }),
            _ => Err(FORMAT.unsupported(format_args!("it has a palette and {bits} bits a pixel"))),
        };
    }
    if flags & FOUR_CC != 0 && is_newer {
        file.read_exact(&mut head[HEADER_BYTES..]).map_err(|_| cut_off())?;
        correct(&mut head);
    }
    let options = ParseOptions::new_permissive(None);
    let header = Header::read(&mut &head[..], &options).map_err(|error| FORMAT.unsupported(error))?;
    let known = Stored::from_header(&header);
    let is_luminance = flags & LUMINANCE != 0;
    // The crate takes luminance and alpha for red and green.
    let is_misread = is_luminance && flags & ALPHA_PIXELS != 0;
    let has_masks =
        flags & FOUR_CC == 0 && flags & (LUMINANCE | RGB) != 0 && matches!(bits, 8 | 16 | 24 | 32);
    if has_masks && (known.is_err() || is_misread) {
        return Ok(Pixels::Masks { size, masks: Masks::new(bits, masks, is_luminance, flags) });
    }
    let stored = known.map_err(|error| FORMAT.unsupported(error))?;
    Ok(Pixels::Known(first_surface(header), stored))
}

/// Corrects the part of newer files: the dimension, and formats that are stored as another one is.
fn correct(head: &mut [u8; HEADER_BYTES + NEWER_BYTES]) {
    let (_, newer) = head.split_at_mut(HEADER_BYTES);
    let (fields, _) = newer.as_chunks_mut::<4>();
    let [format, dimension, ..] = fields else { return };
    *dimension = u32::from(ResourceDimension::Texture2D).to_le_bytes();
    let known = match u32::from_le_bytes(*format) {
        // Integers without a scale, and depths, are shown as if 1 were their greatest value.
        3 => 2,        // R32G32B32A32
        7 => 6,        // R32G32B32
        12 => 11,      // R16G16B16A16
        17 => 16,      // R32G32
        25 => 24,      // R10G10B10A2
        30 => 28,      // R8G8B8A8
        36 => 35,      // R16G16
        40 => 41,      // D32, R32
        48 | 50 => 49, // R8G8
        55 | 57 => 56, // D16, R16
        62 => 61,      // R8
        other => other,
    };
    *format = known.to_le_bytes();
}

/// Returns the header of a file with nothing but the first surface.
fn first_surface(header: Header) -> Header {
    match header.with_mipmap_count(1) {
        Header::Dx9(mut older) => {
            older.caps2 = ::dds::header::Caps2::empty();
            older.depth = None;
            Header::Dx9(older)
        }
        Header::Dx10(mut newer) => {
            newer.misc_flag = MiscFlags::empty();
            newer.array_size = 1;
            newer.depth = None;
            Header::Dx10(newer)
        }
    }
}

impl Masks {
    fn new(bits: u32, [red, green, blue, alpha]: [u32; 4], is_luminance: bool, flags: u32) -> Self {
        let has_alpha = flags & ALPHA_PIXELS != 0 && alpha != 0;
        Self {
            bytes: (bits / 8) as usize,
            colours: [red, green, blue].map(BitMask::new),
            is_luminance,
            alpha: has_alpha.then(|| BitMask::new(alpha)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_of_more_than_32_bits_have_no_masks() {
        let mut head = [0; HEADER_BYTES];
        head[..8].copy_from_slice(b"DDS \x7c\0\0\0");
        for (at, number) in [(12, 1), (16, 1), (76, 32), (80, RGB), (92, 0xf00), (96, 0xf0), (100, 0xf)] {
            head[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        for (bits, is_read) in
            [(8, true), (12, false), (16, true), (24, true), (32, true), (40, false), (64, false)]
        {
            head[88] = bits;
            assert_eq!(matches!(read(&mut &head[..]), Ok(Pixels::Masks { .. })), is_read, "{bits} bits");
        }
    }
}
