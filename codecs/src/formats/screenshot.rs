//! The screenshot of a web page, as the tiler's browser writes it: strips from top to bottom, each a PNG.
//!
//! ```text
//! 0               8           12           16
//! 9d "EZPAGE\n"   width: u32  height: u32  strips: length: u32, a PNG;  numbers are little-endian
//! ```
//! It comes as a file, or as a stream whose first strips are read while the browser still takes the last ones. A page
//! may have taken over its browser, so these bytes are trusted no more than others.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};

use ::png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Reader};
use edgezoom_content::Size;

use crate::open::{Input, Open};
use crate::{Decoded, Format, Layout, Reading, RowReader, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "captured page",
    media_types: &[],
    endings: &[],
    reading: Reading::Rows,
    signature: |head| head.starts_with(&MAGIC),
    open: Open::Directly(open),
};

/// The signature. No other format begins with its first byte.
pub const MAGIC: [u8; 8] = *b"\x9dEZPAGE\n";

/// The bytes that a strip may have: 2,560 × 8,192 pixels that do not compress are 63 MB, or 84 MB with alpha.
const STRIP_BYTES: u32 = 96 << 20;

/// The bytes that the decoder may allocate: a few rows.
const DECODER_BYTES: usize = 16 << 20;

struct Screenshot {
    file: BufReader<File>,
    size: Size,
    /// The rows that are not read yet, those of the open strip included.
    missing: u32,
    strip: Option<Strip>,
}

/// A strip that is being read.
struct Strip {
    reader: Reader<Cursor<Vec<u8>>>,
    missing: u32,
    /// A row with alpha, if the browser wrote one. Alpha is dropped: a page has a white background.
    rgba_row: Option<Vec<u8>>,
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut magic = [0; MAGIC.len()];
    read(&mut file, &mut magic)?;
    if magic != MAGIC {
        return Err(SourceError::Unknown);
    }
    let size = bounds.admit(number(&mut file)?, number(&mut file)?)?;
    bounds.admit_memory(u64::from(STRIP_BYTES), "reading a captured page")?;
    Ok(Decoded::plain(Screenshot { file, size, missing: size.height, strip: None }))
}

impl RowReader for Screenshot {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgb
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.size.width as usize * Layout::Rgb.channels();
        for row in into.chunks_exact_mut(row_bytes) {
            self.strip()?.read_row(row)?;
            self.missing = self.missing.saturating_sub(1);
        }
        Ok(())
    }
}

impl Screenshot {
    /// The strip with the next row.
    fn strip(&mut self) -> Result<&mut Strip, SourceError> {
        let strip = match self.strip.take() {
            Some(strip) if strip.missing > 0 => strip,
            _ => self.next_strip()?,
        };
        Ok(self.strip.insert(strip))
    }

    fn next_strip(&mut self) -> Result<Strip, SourceError> {
        let length = number(&mut self.file)?;
        if length > STRIP_BYTES {
            return Err(corrupt("a strip is too long"));
        }
        let mut bytes = vec![0; length as usize];
        read(&mut self.file, &mut bytes)?;
        let strip = Strip::open(bytes)?;
        let (width, height) = strip.reader.info().size();
        if width != self.size.width || height > self.missing {
            return Err(corrupt("a strip does not fit"));
        }
        Ok(strip)
    }
}

impl Strip {
    fn open(bytes: Vec<u8>) -> Result<Self, SourceError> {
        let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: DECODER_BYTES });
        // The strip comes from a pipe or a local file, not over a network.
        decoder.ignore_checksums(true);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let reader = decoder.read_info().map_err(broken)?;
        if reader.info().interlaced {
            return Err(corrupt("a strip is interlaced"));
        }
        let rgba_row = match reader.output_color_type() {
            (ColorType::Rgb, BitDepth::Eight) => None,
            (ColorType::Rgba, BitDepth::Eight) => Some(vec![0; reader.info().width as usize * 4]),
            _ => return Err(corrupt("a strip has other pixels")),
        };
        let missing = reader.info().height;
        Ok(Self { reader, missing, rgba_row })
    }

    fn read_row(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row = self.rgba_row.as_deref_mut().unwrap_or(&mut *into);
        if self.reader.read_row(row).map_err(broken)?.is_none() {
            return Err(corrupt("a strip ends before its last row"));
        }
        if let Some(row) = &self.rgba_row {
            let (from, _) = row.as_chunks::<4>();
            let (to, _) = into.as_chunks_mut::<3>();
            for ([red, green, blue, _], to) in from.iter().zip(to) {
                *to = [*red, *green, *blue];
            }
        }
        self.missing -= 1;
        Ok(())
    }
}

fn number(file: &mut impl Read) -> Result<u32, SourceError> {
    let mut bytes = [0; 4];
    read(file, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read(file: &mut impl Read, into: &mut [u8]) -> Result<(), SourceError> {
    file.read_exact(into).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => corrupt("it ends before its last strip"),
        _ => error.into(),
    })
}

fn broken(error: DecodingError) -> SourceError {
    corrupt(error)
}

fn corrupt(reason: impl std::fmt::Display) -> SourceError {
    FORMAT.corrupt(reason)
}
