//! Which format a file is of, by its first bytes.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::SourceError;

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
    /// The first picture of a TIFF or BigTIFF.
    Tiff,
}

impl Format {
    /// Tells the format of a file that stands at its start, and leaves it there.
    ///
    /// # Errors
    /// When it is none of those that can be read.
    pub fn sniff(file: &mut File) -> Result<Self, SourceError> {
        let mut head = Vec::with_capacity(16);
        file.by_ref().take(16).read_to_end(&mut head)?;
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
            _ => Err(SourceError::Unknown),
        }
    }
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
        })
    }
}
