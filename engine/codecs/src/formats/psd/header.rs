//! The parts of a Photoshop document before the pixels.
//!
//! ```text
//! 0       4              6  12             14           18          22          24    26
//! "8BPS"  version: 1, 2  0  channels: u16  height: u32  width: u32  depth: u16  mode  palette: length u32, bytes
//!
//! resources  length: u32   each: "8BIM"  number: u16  name: length u8, bytes, even  length: u32  bytes, even
//! layers     length: u32 (PSB: u64)
//!   layer info   length: u32 (PSB: u64)  count of layers: i16, negative: the merged picture has opacity …
//!   mask info    length: u32  bytes
//!   more blocks  "8BIM" or "8B64"  key: 4 bytes  length: u32 (PSB, some keys: u64)  bytes, in fours
//! pixels     compression: u16  the planes
//! ```
//! All numbers are big-endian. Source: Adobe Photoshop File Formats Specification, "File Header Section" to "Additional
//! Layer Information"; the blocks of documents of 16 and 32 bits are `Lr16`, `Lr32`, `Mt16` and `Mt32`.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::FORMAT;
use crate::formats::section::{Section, array};
use crate::{SourceError, SourceFile};

/// The colour mode of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Bitmap,
    Grey,
    Indexed,
    Rgb,
    Cmyk,
    Multichannel,
    Lab,
}

pub struct Header {
    pub width: u32,
    pub height: u32,
    pub mode: Mode,
    pub channels: u16,
    /// Bits per sample: 1, 8, 16 or 32.
    pub depth: u16,
    /// True for a PSB, where lengths have more bits.
    pub is_large: bool,
    pub palette: Vec<[u8; 3]>,
    /// The transparent index of the palette.
    pub clear_index: Option<u8>,
    pub profile: Option<Vec<u8>>,
    pub has_merged_picture: bool,
    /// True if the merged picture has opacity, in the channel after the colours.
    pub has_opacity: bool,
    /// The offset of the pixels' compression.
    pub pixels_at: u64,
}

/// Numbers of resources ("Image Resource IDs").
const ICC_PROFILE: u16 = 1039;
const TRANSPARENT_INDEX: u16 = 1047;
const VERSION_INFO: u16 = 1057;

/// The largest number of resources and blocks that are read.
const MAX_BLOCKS: usize = 1 << 16;
/// The largest profile that is read, in bytes.
const PROFILE_BYTES: u32 = 4 << 20;

/// The keys of blocks whose length has 64 bits in a PSB ("Additional Layer Information").
const LONG_KEYS: [&[u8; 4]; 13] = [
    b"LMsk", b"Lr16", b"Lr32", b"Layr", b"Mt16", b"Mt32", b"Mtrn", b"Alph", b"FMsk", b"lnk2", b"FEid",
    b"FXid", b"PxSD",
];

type Reader = BufReader<Section>;

impl Header {
    pub fn read(file: &Arc<SourceFile>) -> Result<Self, SourceError> {
        read(&mut Section::all(file).buffered(16 << 10)).map_err(|error| match error {
            Failure::Source(error) => error,
            Failure::Ends => FORMAT.ends_in_header(),
        })
    }

    /// Returns the bytes of a row of a plane.
    pub fn row_bytes(&self) -> usize {
        (self.width as usize * usize::from(self.depth)).div_ceil(8)
    }
}

/// The reason why a header cannot be read. An I/O error means that the file ends in it.
enum Failure {
    Source(SourceError),
    Ends,
}

impl From<std::io::Error> for Failure {
    fn from(_: std::io::Error) -> Self {
        Self::Ends
    }
}

fn read(file: &mut Reader) -> Result<Header, Failure> {
    let [_, _, _, _, _, version] = array(file)?;
    file.seek_relative(6)?;
    let (channels, height, width) = (u16(file)?, u32(file)?, u32(file)?);
    let (depth, mode) = (u16(file)?, u16(file)?);
    let unsupported = |what| Failure::Source(FORMAT.unsupported(what));
    let mode = match mode {
        0 => Mode::Bitmap,
        1 | 8 => Mode::Grey,
        2 => Mode::Indexed,
        3 => Mode::Rgb,
        4 => Mode::Cmyk,
        7 => Mode::Multichannel,
        9 => Mode::Lab,
        other => return Err(unsupported(format!("its colour mode is {other}"))),
    };
    if !matches!(
        (depth, mode),
        (1, Mode::Bitmap | Mode::Grey) | (8, _) | (16, _) | (32, Mode::Grey | Mode::Rgb)
    ) {
        return Err(unsupported(format!("it has {depth} bits in this colour mode")));
    }
    let palette = palette(file)?;
    let mut header = Header {
        width,
        height,
        mode,
        channels,
        depth,
        is_large: version == 2,
        palette,
        clear_index: None,
        profile: None,
        has_merged_picture: true,
        has_opacity: false,
        pixels_at: 0,
    };
    let length = u32(file)?;
    let end = file.stream_position()? + u64::from(length);
    resources(file, end, &mut header)?;
    file.seek(SeekFrom::Start(end))?;
    let length = length_of(file, header.is_large)?;
    let end = file.stream_position()?.checked_add(length).ok_or(Failure::Ends)?;
    // The merged picture may be good even if the layers are broken.
    header.has_opacity = length > 0 && has_opacity(file, end, header.is_large).unwrap_or(false);
    header.pixels_at = end;
    Ok(header)
}

/// Reads the palette: all reds, all greens, all blues. Only indexed documents have one here.
fn palette(file: &mut Reader) -> Result<Vec<[u8; 3]>, Failure> {
    let length = u32(file)?;
    let mut stored = vec![0; 768.min(length as usize)];
    file.read_exact(&mut stored)?;
    file.seek_relative(i64::from(length) - stored.len() as i64)?;
    let (reds, rest) = stored.split_at(stored.len() / 3);
    let (greens, blues) = rest.split_at(rest.len() / 2);
    let colours = reds.iter().zip(greens).zip(blues);
    Ok(colours.map(|((&red, &green), &blue)| [red, green, blue]).collect())
}

fn resources(file: &mut Reader, end: u64, header: &mut Header) -> Result<(), Failure> {
    for _ in 0..MAX_BLOCKS {
        if file.stream_position()? + 12 > end {
            break;
        }
        let ([_, _, _, _], number) = (array(file)?, u16(file)?);
        let [name] = array(file)?;
        file.seek_relative(i64::from(name | 1))?;
        let length = u32(file)?;
        let next = file.stream_position()? + u64::from(length) + u64::from(length & 1);
        match number {
            ICC_PROFILE if length <= PROFILE_BYTES => {
                let mut profile = vec![0; length as usize];
                file.read_exact(&mut profile)?;
                header.profile = Some(profile);
            }
            TRANSPARENT_INDEX if length == 2 => header.clear_index = u8::try_from(u16(file)?).ok(),
            VERSION_INFO if length >= 5 => {
                let [_, _, _, _, has_merged_picture] = array(file)?;
                header.has_merged_picture = has_merged_picture != 0;
            }
            _ => {}
        }
        file.seek(SeekFrom::Start(next))?;
    }
    Ok(())
}

/// Returns true if the merged picture has opacity: the number of layers is negative, or a block says so.
fn has_opacity(file: &mut Reader, end: u64, is_large: bool) -> Result<bool, Failure> {
    let length = length_of(file, is_large)?;
    let start = file.stream_position()?;
    if length >= 2 && count(file)? < 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::Start(start.saturating_add(length)))?;
    let masks = u32(file)?;
    file.seek_relative(i64::from(masks))?;
    for _ in 0..MAX_BLOCKS {
        if file.stream_position()? + 12 > end {
            break;
        }
        let (mark, key) = (array::<4>(file)?, array::<4>(file)?);
        let is_long = is_large && (mark == *b"8B64" || LONG_KEYS.contains(&&key));
        let length = length_of(file, is_long)?;
        let start = file.stream_position()?;
        match &key {
            _ if mark != *b"8BIM" && mark != *b"8B64" => break,
            b"Mtrn" | b"Mt16" | b"Mt32" => return Ok(true),
            b"Layr" | b"Lr16" | b"Lr32" if length >= 2 && count(file)? < 0 => return Ok(true),
            _ => {}
        }
        let next = length.checked_next_multiple_of(4).and_then(|length| start.checked_add(length));
        file.seek(SeekFrom::Start(next.ok_or(Failure::Ends)?))?;
    }
    Ok(false)
}

fn count(file: &mut Reader) -> Result<i16, Failure> {
    Ok(i16::from_be_bytes(array(file)?))
}

fn length_of(file: &mut Reader, is_long: bool) -> Result<u64, Failure> {
    Ok(if is_long { u64::from_be_bytes(array(file)?) } else { u32(file)?.into() })
}

fn u16(file: &mut Reader) -> Result<u16, Failure> {
    Ok(u16::from_be_bytes(array(file)?))
}

fn u32(file: &mut Reader) -> Result<u32, Failure> {
    Ok(u32::from_be_bytes(array(file)?))
}
