//! The second header of a bitmap, with the masks and the palette after it.
//!
//! ```text
//!  0     4      8       12      14    16           20     24, 28  32       36         40 …        52    56 … 124
//! size   width  height  planes  bits  compression  bytes  dpi     colours  important  r g b masks alpha Windows 4, 5
//!  0     4      6       8       10                                   OS/2 1: 12 bytes, with 16 bits of width and height
//! ```
//! All numbers are little-endian. A header may be shorter than this: OS/2 2 has 16 to 64 bytes, and the rest counts as
//! zero. After a header of 40 bytes come the masks, if the compression needs them. A negative height means that rows
//! are stored from the top down. The number of planes is not used, as in browsers.
//!
//! Source: Microsoft, BITMAPINFOHEADER, BITMAPV4HEADER, BITMAPV5HEADER; OS/2 Presentation Manager Programming
//! Reference, BITMAPINFOHEADER2.

use super::FORMAT;
use crate::formats::section::ReadAt;
use crate::{SourceError, SourceFile};

/// A bitmap without its pixels.
#[derive(Clone, Debug)]
pub struct Header {
    pub width: u32,
    pub height: u32,
    pub is_top_down: bool,
    /// Bits per pixel: 1, 2, 4, 8, 16, 24 or 32.
    pub bits: u32,
    pub encoding: Encoding,
    /// The masks of red, green, blue and alpha, for 16 and 32 bits.
    pub masks: [u32; 4],
    /// The palette, for up to 8 bits.
    pub palette: Vec<[u8; 3]>,
    /// The offset of the first stored row.
    pub rows_at: u64,
}

/// The pixel that a run repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Two indices of 4 bits.
    Nibbles,
    /// An index of 8 bits.
    Bytes,
    /// Blue, green and red.
    Colours,
}

/// The encoding of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Runs(RunKind),
}

const LONGEST: usize = 124;
const OS2_1: u32 = 12;
const WINDOWS_3: u32 = 40;
/// The first header that has masks, and the first that has one for alpha.
const WITH_MASKS: u32 = 52;
const WITH_ALPHA_MASK: u32 = 56;

/// Values of the compression field. 3 and 4 mean something else in OS/2.
const PLAIN: u32 = 0;
const RLE8: u32 = 1;
const RLE4: u32 = 2;
const MASKS: u32 = 3;
const RLE24: u32 = 4;
const ALPHA_MASKS: u32 = 6;

impl Header {
    /// Reads a header. `rows_at` is the offset of the rows, or `None` in an icon, where they follow the palette.
    pub fn read(file: &SourceFile, at: u64, rows_at: Option<u64>) -> Result<Self, SourceError> {
        let is_icon = rows_at.is_none();
        let mut bytes = [0; LONGEST];
        let read = file.read_with_zeros(at, &mut bytes)?;
        let size = u32_at(&bytes, 0);
        let is_windows = matches!(size, WINDOWS_3 | WITH_MASKS | WITH_ALPHA_MASK | 108 | 124);
        let is_os2_2 = (16..=64).contains(&size) && (size.is_multiple_of(4) || matches!(size, 42 | 46));
        if size != OS2_1 && !is_windows && !is_os2_2 {
            return Err(FORMAT.unsupported("its header has an unknown size"));
        }
        if read < size as usize {
            return Err(FORMAT.ends_in_header());
        }
        // Bytes after the header are not part of it, except for the masks.
        let behind = bytes.split_at(size as usize).1.to_vec();
        bytes.iter_mut().skip(size as usize).for_each(|byte| *byte = 0);

        let mut header = if size == OS2_1 {
            let side = |at| u32::from(u16_at(&bytes, at));
            Self::of(side(4), i64::from(side(6)), u16_at(&bytes, 10))
        } else {
            let width = u32_at(&bytes, 4).cast_signed();
            let width = u32::try_from(width).map_err(|_| FORMAT.corrupt("its width is negative"))?;
            Self::of(width, i64::from(u32_at(&bytes, 8).cast_signed()), u16_at(&bytes, 14))
        };
        let compression = u32_at(&bytes, 16);
        header.encoding = header.encoding(compression, size)?;
        header.set_masks(&bytes);
        let mut end = at + u64::from(size);
        let has_masks = matches!((compression, header.encoding), (MASKS | ALPHA_MASKS, Encoding::Plain));
        if has_masks && size < WITH_MASKS {
            let masks = if compression == ALPHA_MASKS { 4 } else { 3 };
            header.masks =
                std::array::from_fn(|index| if index < masks { u32_at(&behind, 4 * index) } else { 0 });
            end += 4 * masks as u64;
        } else if !has_masks {
            header.set_default_masks(size, is_icon);
        }
        header.check_masks()?;
        let colour_bytes = if size == OS2_1 { 3 } else { 4 };
        let colours = u32_at(&bytes, 32);
        end = header.read_palette(file, end, colours, colour_bytes)?;
        // Ignore an offset inside the header.
        header.rows_at = rows_at.filter(|&rows| rows >= at + u64::from(size)).unwrap_or(end);
        Ok(header)
    }

    fn of(width: u32, height: i64, bits: u16) -> Self {
        Self {
            width,
            height: u32::try_from(height.unsigned_abs()).unwrap_or(u32::MAX),
            is_top_down: height < 0,
            bits: bits.into(),
            encoding: Encoding::Plain,
            masks: [0; 4],
            palette: Vec::new(),
            rows_at: 0,
        }
    }

    fn encoding(&self, compression: u32, size: u32) -> Result<Encoding, SourceError> {
        let encoding = match (compression, self.bits) {
            (PLAIN, 1 | 2 | 4 | 8 | 16 | 24 | 32) => Encoding::Plain,
            (MASKS | ALPHA_MASKS, 16 | 32) if size >= WINDOWS_3 => Encoding::Plain,
            (RLE8, 8) => Encoding::Runs(RunKind::Bytes),
            (RLE4, 4) => Encoding::Runs(RunKind::Nibbles),
            (RLE24, 24) => Encoding::Runs(RunKind::Colours),
            (compression, bits) => {
                return Err(FORMAT
                    .unsupported(format_args!("it has {bits} bits per pixel in compression {compression}")));
            }
        };
        Ok(encoding)
    }

    fn set_masks(&mut self, bytes: &[u8]) {
        self.masks = std::array::from_fn(|index| u32_at(bytes, 40 + 4 * index));
    }

    /// Sets the masks of a bitmap that has none. A bitmap of 32 bits has alpha if it is an icon, or if its header is of
    /// version 3 or later and has a mask for alpha.
    fn set_default_masks(&mut self, size: u32, is_icon: bool) {
        let alpha = match (self.bits, is_icon) {
            (32, true) => 0xff00_0000,
            (32, false) if size >= WITH_ALPHA_MASK => self.masks[3],
            _ => 0,
        };
        let [red, green, blue] =
            if self.bits == 16 { [0x7c00, 0x03e0, 0x001f] } else { [0xff_0000, 0xff00, 0xff] };
        self.masks = [red, green, blue, alpha];
    }

    /// Checks that no bit belongs to two channels, and that the bits of each channel are adjacent.
    fn check_masks(&mut self) -> Result<(), SourceError> {
        if self.bits == 16 {
            self.masks = self.masks.map(|mask| mask & 0xffff);
        }
        let mut seen = 0;
        for mask in self.masks {
            let shifted = mask.checked_shr(mask.trailing_zeros()).unwrap_or(0);
            if mask & seen != 0 || shifted & shifted.wrapping_add(1) != 0 {
                return Err(FORMAT.corrupt("its masks are invalid"));
            }
            seen |= mask;
        }
        Ok(())
    }

    /// Reads the palette, and returns the offset of its end. It may reach into the rows, as in browsers.
    fn read_palette(
        &mut self,
        file: &SourceFile,
        at: u64,
        colours: u32,
        colour_bytes: usize,
    ) -> Result<u64, SourceError> {
        if self.bits > 8 {
            return Ok(at);
        }
        let most = 1_u32 << self.bits;
        let colours = if colours == 0 || colours > most { most } else { colours };
        let bytes = colours as usize * colour_bytes;
        let mut palette = vec![0; bytes];
        let read = file.read_with_zeros(at, &mut palette)?;
        palette.truncate(read);
        let colour = |stored: &[u8]| Some([*stored.get(2)?, *stored.get(1)?, *stored.first()?]);
        self.palette = palette.chunks_exact(colour_bytes).filter_map(colour).collect();
        Ok(at + bytes as u64)
    }

    /// Returns the bytes of a stored row. It is padded to 32 bits.
    pub fn stride(&self) -> u64 {
        (u64::from(self.width) * u64::from(self.bits)).div_ceil(32) * 4
    }

    /// Returns the bytes of a stored row without padding.
    pub fn used_bytes(&self) -> u64 {
        (u64::from(self.width) * u64::from(self.bits)).div_ceil(8)
    }

    /// Returns true if all colours of the palette are grey.
    pub fn is_grey(&self) -> bool {
        self.bits <= 8 && self.palette.iter().all(|&[red, green, blue]| red == green && green == blue)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |&bytes| u32::from_le_bytes(bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |&bytes| u16::from_le_bytes(bytes))
}
