//! Bitmaps compressed by runs. Rows have no fixed length and are mostly stored from the bottom up, so the file is
//! scanned once for the start of each block of rows. Then blocks are decoded from the top.
//!
//! | bytes | what follows |
//! |---|---|
//! | n, pixel | the pixel n times; with 4 bits, two that alternate; with 24, three bytes |
//! | 0, 0 | the next row |
//! | 0, 1 | the end |
//! | 0, 2, x, y | a move by x pixels and y rows |
//! | 0, n (3 to 255) | n pixels, padded to 16 bits |
//!
//! Pixels that are skipped are black, as in Chromium and Windows.
//!
//! Source: Microsoft, "Bitmap Compression"; OS/2 Presentation Manager Programming Reference, "RLE24".

use std::io::{BufReader, ErrorKind, Read};
use std::sync::Arc;

use edgezoom_geometry::Size;

use super::FORMAT;
use super::header::{Header, RunKind};
use crate::formats::section::Section;
use crate::tolerant::missing;
use crate::{Damage, Layout, RowReader, SourceError, SourceFile};

/// Bytes of a block of decoded rows.
const BLOCK_BYTES: usize = 4 << 20;
const RGB: usize = 3;

/// An offset in the file, with the position of the next pixel.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    at: u64,
    x: u32,
    y: u32,
}

/// Reads the rows of a compressed bitmap.
pub struct RleRows {
    file: Arc<SourceFile>,
    header: Header,
    kind: RunKind,
    size: Size,
    /// The start of each block of stored rows.
    blocks: Vec<Place>,
    block_rows: u32,
    /// The decoded block.
    block: Vec<u8>,
    /// Number of the decoded block.
    decoded: Option<u32>,
    next: u32,
    damage: Option<Damage>,
}

/// Reads codes.
struct Codes {
    file: BufReader<Section>,
    /// Number of bytes that have been read.
    read: u64,
}

/// The reason why decoding stops.
enum Stop {
    /// The end marker was read, or all rows.
    Complete,
    /// The file ends.
    CutOff,
    Failed(SourceError),
}

impl RleRows {
    pub fn open(
        file: Arc<SourceFile>,
        header: Header,
        kind: RunKind,
        size: Size,
    ) -> Result<Self, SourceError> {
        let row_bytes = (size.width as usize).saturating_mul(RGB).max(1);
        let block_rows = u32::try_from(BLOCK_BYTES / row_bytes).unwrap_or(1).clamp(1, size.height);
        let mut rows = Self {
            file,
            header,
            kind,
            size,
            blocks: Vec::new(),
            block_rows,
            block: Vec::new(),
            decoded: None,
            next: 0,
            damage: None,
        };
        rows.find_blocks()?;
        Ok(rows)
    }

    fn find_blocks(&mut self) -> Result<(), SourceError> {
        let mut codes = self.codes(self.header.rows_at);
        let (mut place, mut blocks) = (Place { at: self.header.rows_at, ..Place::default() }, Vec::new());
        let stop = loop {
            while (blocks.len() as u64) * u64::from(self.block_rows) <= u64::from(place.y) {
                blocks.push(place);
            }
            if let Err(stop) = self.step(&mut codes, &mut place, &mut |_, _, _| {}) {
                break stop;
            }
            place.at = self.header.rows_at + codes.read;
        };
        let rows = self.size.height;
        match stop {
            Stop::Failed(error) => return Err(error),
            Stop::CutOff if place.y == 0 => return Err(FORMAT.corrupt("it ends before its first row")),
            Stop::CutOff if place.y < rows => {
                self.damage = Some(Damage::FromRow { row: place.y, rows });
            }
            Stop::CutOff | Stop::Complete => {}
        }
        self.blocks = blocks;
        Ok(())
    }

    fn codes(&self, at: u64) -> Codes {
        let section = Section::new(&self.file, at, u64::MAX);
        Codes { file: BufReader::with_capacity(64 << 10, section), read: 0 }
    }

    /// Reads a code and passes its pixels to `paint`, with their position. Pixels beyond the end of the row are
    /// dropped.
    fn step(
        &self,
        codes: &mut Codes,
        place: &mut Place,
        paint: &mut impl FnMut(u32, u32, [u8; 3]),
    ) -> Result<(), Stop> {
        if place.y >= self.size.height {
            return Err(Stop::Complete);
        }
        match codes.take()? {
            [0, 0] => (place.x, place.y) = (0, place.y.saturating_add(1)),
            [0, 1] => return Err(Stop::Complete),
            [0, 2] => {
                let [across, down] = codes.take()?;
                place.x = place.x.saturating_add(across.into());
                place.y = place.y.saturating_add(down.into());
            }
            [0, count] => {
                let mut pixels = [0; 3 * 255 + 1];
                let bytes = match self.kind {
                    RunKind::Nibbles => usize::from(count).div_ceil(2),
                    RunKind::Bytes => count.into(),
                    RunKind::Colours => 3 * usize::from(count),
                };
                codes.fill(pixels.get_mut(..bytes.next_multiple_of(2)).unwrap_or_default())?;
                for number in 0..usize::from(count) {
                    let pixel = match self.kind {
                        RunKind::Nibbles => self.nibble(pixels[number / 2], number),
                        RunKind::Bytes => self.colour(pixels[number]),
                        RunKind::Colours => bgr(pixels.get(3 * number..).unwrap_or_default()),
                    };
                    self.put(place, pixel, paint);
                }
            }
            [count, first] => {
                let mut rest = [first, 0, 0];
                if self.kind == RunKind::Colours {
                    codes.fill(&mut rest[1..])?;
                }
                for number in 0..usize::from(count) {
                    let pixel = match self.kind {
                        RunKind::Nibbles => self.nibble(first, number),
                        RunKind::Bytes => self.colour(first),
                        RunKind::Colours => bgr(&rest),
                    };
                    self.put(place, pixel, paint);
                }
            }
        }
        Ok(())
    }

    fn put(&self, place: &mut Place, pixel: [u8; 3], paint: &mut impl FnMut(u32, u32, [u8; 3])) {
        if place.x < self.size.width {
            paint(place.x, place.y, pixel);
            place.x += 1;
        }
    }

    fn colour(&self, index: u8) -> [u8; 3] {
        self.header.palette.get(usize::from(index)).copied().unwrap_or_default()
    }

    fn nibble(&self, pair: u8, number: usize) -> [u8; 3] {
        self.colour(if number.is_multiple_of(2) { pair >> 4 } else { pair & 15 })
    }

    /// Decodes a block of stored rows.
    fn decode(&mut self, number: u32) -> Result<(), SourceError> {
        let row_bytes = self.size.width as usize * RGB;
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        block.resize(row_bytes * self.block_rows as usize, 0);
        if let Some(Damage::FromRow { row, .. }) = self.damage {
            let there = row.saturating_sub(number * self.block_rows) as usize;
            block.iter_mut().skip(there * row_bytes).for_each(|sample| *sample = missing(Layout::Rgb));
        }
        if let Some(&start) = self.blocks.get(number as usize) {
            let (mut codes, mut place) = (self.codes(start.at), start);
            let first = number * self.block_rows;
            let mut paint = |x: u32, y: u32, colour: [u8; RGB]| {
                let pixel = y.checked_sub(first).map(|row| row as usize * row_bytes + x as usize * RGB);
                if let Some(out) = pixel.and_then(|at| block.get_mut(at..at + RGB)) {
                    out.copy_from_slice(&colour);
                }
            };
            while place.y < first.saturating_add(self.block_rows) {
                match self.step(&mut codes, &mut place, &mut paint) {
                    Ok(()) => {}
                    Err(Stop::Failed(error)) => return Err(error),
                    Err(Stop::Complete | Stop::CutOff) => break,
                }
            }
        }
        self.block = block;
        self.decoded = Some(number);
        Ok(())
    }
}

/// Converts a stored colour.
fn bgr(stored: &[u8]) -> [u8; 3] {
    stored.first_chunk().map_or([0; 3], |&[blue, green, red]| [red, green, blue])
}

impl Codes {
    fn take(&mut self) -> Result<[u8; 2], Stop> {
        let mut code = [0; 2];
        self.fill(&mut code).map(|()| code)
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Stop> {
        self.read += into.len() as u64;
        self.file.read_exact(into).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Stop::CutOff,
            _ => Stop::Failed(error.into()),
        })
    }
}

impl RowReader for RleRows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgb
    }

    fn damage(&self) -> Option<Damage> {
        self.damage
    }

    fn rows_at_once(&self) -> u32 {
        u32::MAX
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.size.width as usize * RGB;
        for out in into.chunks_exact_mut(row_bytes) {
            let bottom_up = self.size.height.saturating_sub(self.next + 1);
            let row = if self.header.is_top_down { self.next } else { bottom_up };
            let number = row / self.block_rows;
            if self.decoded != Some(number) {
                self.decode(number)?;
            }
            let start = (row % self.block_rows) as usize * row_bytes;
            out.copy_from_slice(self.block.get(start..start + row_bytes).unwrap_or_default());
            self.next += 1;
        }
        Ok(())
    }
}
