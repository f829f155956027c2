//! A screenshot stream: the screenshot of a web page or drawing in strips from top to bottom, each a PNG file, or several
//! side by side. The format is our own, between the browser and the renderer process. All numbers are unsigned and little-endian.
//!
//! | offset | bytes | header |
//! |---|---|---|
//! | 0 | 8 | [`MAGIC`] |
//! | 8 | 4 | width of the screenshot in pixels |
//! | 12 | 4 | height of the screenshot in pixels |
//! | 16 | 4 | length of its words, n, or 0 |
//! | 20 | n | its words: a [`Text`] as JSON |
//!
//! | offset | bytes | strip, repeated until the heights of the strips add up to that of the screenshot |
//! |---|---|---|
//! | 0 | 4 | length of the PNG file, n |
//! | 4 | n | a PNG file: RGB or RGBA, 8 bits a sample, not interlaced |
//! | … | … | length and PNG file of the pieces to its right, until the widths add up to that of the screenshot |
//!
//! It is read from a file, or from a pipe while the browser captures the last strips. A page may have taken control of
//! its browser, so the bytes are as untrusted as those of any source.

use std::io::{BufReader, Cursor, Read};

use ::png::{BitDepth, ColorType, Decoder, Limits, Reader};
use edgezoom_geometry::Size;
use edgezoom_text::{MAX_JSON_BYTES, Text};

use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "captured page",
    media_types: &[],
    endings: &[],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| head.starts_with(&MAGIC),
    open: Open::Directly(open),
};

/// The signature. No other format begins with its first byte.
pub const MAGIC: [u8; 8] = *b"\x9dEZPAGE\n";

/// The largest length of a strip's PNG file. 2,560 × 8,192 pixels that cannot be compressed take 63 MB, or 84 MB with
/// alpha.
const STRIP_BYTES: u32 = 96 << 20;

/// Bytes that the decoder may allocate: a few rows.
const DECODER_BYTES: usize = 16 << 20;

/// Returns the header of a screenshot of this size, before its words.
#[must_use]
pub fn header(size: Size, text: &[u8]) -> [u8; 20] {
    let mut header = [0; 20];
    let (magic, numbers) = header.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    let text = u32::try_from(text.len()).unwrap_or(u32::MAX);
    for (to, number) in numbers.chunks_exact_mut(4).zip([size.width, size.height, text]) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    header
}

/// Returns the bytes before the PNG file of a strip, or `None` if the file is too long.
#[must_use]
pub fn strip_header(png: &[u8]) -> Option<[u8; 4]> {
    u32::try_from(png.len()).ok().map(u32::to_le_bytes)
}

struct Screenshot {
    file: BufReader<SourceFile>,
    width: u32,
    /// Number of rows that are not read yet, including those of the current strip.
    rows_left: u32,
    strip: Option<Strip>,
}

/// The strip that is being read.
struct Strip {
    /// From left to right.
    pieces: Vec<Piece>,
    rows_left: u32,
}

/// A PNG file of a strip.
struct Piece {
    reader: Reader<Cursor<Vec<u8>>>,
    /// A buffer for rows with alpha, if the piece has alpha. It is dropped, because pages are opaque.
    rgba_row: Option<Vec<u8>>,
}

fn open(Input { mut file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut magic = [0; MAGIC.len()];
    read_exact(&mut file, &mut magic)?;
    if magic != MAGIC {
        return Err(FORMAT.unsupported("it does not begin with its magic number"));
    }
    let size = bounds.admit(read_u32(&mut file)?, read_u32(&mut file)?)?;
    bounds.admit_memory(u64::from(STRIP_BYTES), "reading a screenshot")?;
    let text = read_text(&mut file)?.filter(|_| options.drawing.text);
    let mut screenshot = Screenshot { file, width: size.width, rows_left: size.height, strip: None };
    let rows = Decoded::rows(size, Layout::Rgb, move |row| {
        screenshot.strip()?.read_row(row)?;
        screenshot.rows_left = screenshot.rows_left.saturating_sub(1);
        Ok(())
    });
    Ok(Decoded { text, ..rows })
}

/// Reads the words; `None` if there are none.
fn read_text(file: &mut BufReader<SourceFile>) -> Result<Option<Text>, SourceError> {
    let length = read_u32(file)? as usize;
    if length > MAX_JSON_BYTES {
        return Err(corrupt("its words are longer than the limit"));
    }
    let mut json = vec![0; length];
    read_exact(file, &mut json)?;
    Ok(Text::from_json(&json))
}

impl Screenshot {
    /// Returns the strip that contains the next row.
    fn strip(&mut self) -> Result<&mut Strip, SourceError> {
        let strip = match self.strip.take() {
            Some(strip) if strip.rows_left > 0 => strip,
            _ => self.next_strip()?,
        };
        Ok(self.strip.insert(strip))
    }

    fn next_strip(&mut self) -> Result<Strip, SourceError> {
        let (mut strip, mut missing, mut bytes_left) =
            (Strip { pieces: Vec::new(), rows_left: 0 }, self.width, STRIP_BYTES);
        while missing > 0 {
            let length = read_u32(&mut self.file)?;
            bytes_left =
                bytes_left.checked_sub(length).ok_or_else(|| corrupt("a strip is longer than the limit"))?;
            let mut bytes = vec![0; length as usize];
            read_exact(&mut self.file, &mut bytes)?;
            let piece = Piece::open(bytes)?;
            let (width, height) = piece.reader.info().size();
            let is_even = strip.pieces.is_empty() || height == strip.rows_left;
            if width > missing || height > self.rows_left || !is_even {
                return Err(corrupt("the size of a strip does not fit the screenshot"));
            }
            missing -= width;
            strip.rows_left = height;
            strip.pieces.push(piece);
        }
        Ok(strip)
    }
}

impl Strip {
    fn read_row(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let mut rest = into;
        for piece in &mut self.pieces {
            let bytes = piece.reader.info().width as usize * 3;
            let (row, right) =
                rest.split_at_mut_checked(bytes).ok_or_else(|| corrupt("its row is too short"))?;
            piece.read_row(row)?;
            rest = right;
        }
        self.rows_left -= 1;
        Ok(())
    }
}

impl Piece {
    fn open(bytes: Vec<u8>) -> Result<Self, SourceError> {
        let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: DECODER_BYTES });
        // The stream comes through a pipe or a local file, not over a network.
        decoder.ignore_checksums(true);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let reader = decoder.read_info().map_err(corrupt)?;
        if reader.info().interlaced {
            return Err(corrupt("a strip is interlaced"));
        }
        let rgba_row = match reader.output_color_type() {
            (ColorType::Rgb, BitDepth::Eight) => None,
            (ColorType::Rgba, BitDepth::Eight) => Some(vec![0; reader.info().width as usize * 4]),
            _ => return Err(corrupt("a strip is neither RGB nor RGBA")),
        };
        Ok(Self { reader, rgba_row })
    }

    fn read_row(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row = self.rgba_row.as_deref_mut().unwrap_or(&mut *into);
        if self.reader.read_row(row).map_err(corrupt)?.is_none() {
            return Err(corrupt("a strip ends before its last row"));
        }
        if let Some(row) = &self.rgba_row {
            let (from, _) = row.as_chunks::<4>();
            let (to, _) = into.as_chunks_mut::<3>();
            for ([red, green, blue, _], to) in from.iter().zip(to) {
                *to = [*red, *green, *blue];
            }
        }
        Ok(())
    }
}

fn read_u32(file: &mut impl Read) -> Result<u32, SourceError> {
    let mut bytes = [0; 4];
    read_exact(file, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read_exact(file: &mut impl Read, into: &mut [u8]) -> Result<(), SourceError> {
    file.read_exact(into).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => corrupt("the stream ends before its last strip"),
        _ => error.into(),
    })
}

fn corrupt(reason: impl std::fmt::Display) -> SourceError {
    FORMAT.corrupt(reason)
}
