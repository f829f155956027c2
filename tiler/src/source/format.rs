//! Which format a file is of, by its first bytes.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::{SourceError, tga};

/// How much of a file is looked at. Brands of HEIF need more than a magic number.
const HEAD_BYTES: usize = 64;

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG.
    Png,
    /// WebP, lossy or lossless; the first frame of an animation.
    WebP,
    /// The first frame of a GIF.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// TIFF or BigTIFF: its first picture, or the largest level of a pyramid.
    Tiff,
    /// AVIF.
    Avif,
    /// HEIC, and HEIF whose codec shows later.
    Heic,
    /// JPEG XL, as a codestream or in its container.
    Jxl,
    /// JPEG 2000, as a codestream or in its container.
    Jp2,
    /// QOI.
    Qoi,
    /// PBM, PGM, PPM or PAM.
    Pnm,
    /// Truevision TGA.
    Tga,
    /// A Windows icon or cursor.
    Ico,
    /// DirectDraw surface.
    Dds,
    /// Radiance HDR.
    Hdr,
    /// OpenEXR.
    Exr,
    /// Farbfeld.
    Farbfeld,
}

impl Format {
    /// Tells the format of a file that stands at its start, and leaves it there.
    ///
    /// # Errors
    /// When it is none of those that can be read.
    pub fn sniff(file: &mut File) -> Result<Self, SourceError> {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        match head.as_slice() {
            [] => Err(SourceError::NoBytes),
            [0xff, 0xd8, 0xff, ..] => Ok(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(Self::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Ok(Self::WebP),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Ok(Self::Gif),
            // "BM" alone also begins a text about BMX: the size of the header that follows is one of a few small numbers.
            [b'B', b'M', _, _, _, _, _, _, _, _, _, _, _, _, 12..=124, 0, ..] => Ok(Self::Bmp),
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Ok(Self::Tiff),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => heif(&head).ok_or(SourceError::Unknown),
            [0xff, 0x0a, ..] => Ok(Self::Jxl),
            [0, 0, 0, 12, b'J', b'X', b'L', b' ', 0x0d, 0x0a, 0x87, 0x0a, ..] => Ok(Self::Jxl),
            [0xff, 0x4f, 0xff, 0x51, ..] => Ok(Self::Jp2),
            [0, 0, 0, 12, b'j', b'P', b' ', b' ', 0x0d, 0x0a, 0x87, 0x0a, ..] => Ok(Self::Jp2),
            [b'q', b'o', b'i', b'f', ..] => Ok(Self::Qoi),
            [b'P', b'1'..=b'6', b' ' | b'\t' | b'\r' | b'\n' | b'#', ..] => Ok(Self::Pnm),
            [b'P', b'7', b'\n', ..] => Ok(Self::Pnm),
            [b'D', b'D', b'S', b' ', ..] => Ok(Self::Dds),
            [b'#', b'?', b'R', b'A', b'D', b'I', b'A', b'N', b'C', b'E', ..]
            | [b'#', b'?', b'R', b'G', b'B', b'E', ..] => Ok(Self::Hdr),
            [0x76, 0x2f, 0x31, 0x01, ..] => Ok(Self::Exr),
            [b'f', b'a', b'r', b'b', b'f', b'e', b'l', b'd', ..] => Ok(Self::Farbfeld),
            // Reserved, 1 for icons or 2 for cursors, how many, and the first one's reserved byte.
            [0, 0, 1 | 2, 0, 1..=255, 0, _, _, _, 0, ..] => Ok(Self::Ico),
            // TGA has no magic number, so it is asked last.
            head if tga::is_header(head) => Ok(Self::Tga),
            _ => Err(SourceError::Unknown),
        }
    }
}

/// Which of HEIF's family a file is, by its brands: the main one, a version, and those that it is compatible with.
fn heif(head: &[u8]) -> Option<Format> {
    let length = u32::from_be_bytes(*head.first_chunk()?);
    let brands = head.get(8..head.len().min(usize::try_from(length).ok()?))?;
    let (brands, _) = brands.as_chunks::<4>();
    let has = |names: &[&[u8; 4]]| brands.iter().any(|brand| names.contains(&brand));
    if has(&[b"avif", b"avis"]) {
        return Some(Format::Avif);
    }
    let heif: &[&[u8; 4]] =
        &[b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"mif2", b"msf1"];
    has(heif).then_some(Format::Heic)
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::Avif => "AVIF",
            Self::Heic => "HEIC",
            Self::Jxl => "JPEG XL",
            Self::Jp2 => "JPEG 2000",
            Self::Qoi => "QOI",
            Self::Pnm => "PNM",
            Self::Tga => "TGA",
            Self::Ico => "icon",
            Self::Dds => "DDS",
            Self::Hdr => "HDR",
            Self::Exr => "OpenEXR",
            Self::Farbfeld => "Farbfeld",
        })
    }
}
