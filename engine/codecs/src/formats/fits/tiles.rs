//! Pictures in compressed tiles, as fpack makes them: a table has a row for each tile, with the position of its bytes
//! in the heap after the table.
//!
//! ```text
//! a row of the table   COMPRESSED_DATA: length, offset in the heap (P: 2 × u32, Q: 2 × u64)   ZSCALE, ZZERO: f64   …
//! a tile               RICE_1, GZIP_1, or GZIP_2, which has the first bytes of all numbers, then the second bytes …
//! ```
//! Floats are stored as integers, with a scale and a zero for each tile. Most are dithered: a random number, which is
//! the same for every reader, is subtracted.
//!
//! Source: FITS Standard 4.0, 10.1 to 10.2 (quantization), 10.4.1 (Rice), 10.4.2 (gzip), appendix I (random numbers).

use std::io::Read;
use std::sync::Arc;

use flate2::bufread::GzDecoder;

use super::cards::number;
use super::header::{Algorithm, Column, Picture, Table};
use super::{FORMAT, rice};
use crate::formats::section::{Section, array};
use crate::{Bounds, SourceError, SourceFile};

/// Number of random numbers.
const RANDOM_NUMBERS: usize = 10_000;
/// The number that stands for 0 if zeros are not dithered.
const ZERO: i64 = -2_147_483_646;

/// Reads tiles. Keeps the current row of tiles of each plane.
pub struct Tiles {
    file: Arc<SourceFile>,
    picture: Picture,
    table: Table,
    /// Number of tiles in a row.
    across: u32,
    /// The number of each plane's current row of tiles, and its values.
    kept: Vec<(Option<u32>, Vec<f64>)>,
    random: Vec<f32>,
}

impl Tiles {
    pub fn new(
        file: &Arc<SourceFile>,
        picture: &Picture,
        table: &Table,
        bounds: Bounds,
    ) -> Result<Self, SourceError> {
        // Besides the kept values, a tile is read, decompressed and converted.
        let kept = u64::from(picture.width) * u64::from(table.tile_height) * picture.planes as u64;
        let tile = u64::from(table.tile_width) * u64::from(table.tile_height);
        bounds.admit_memory(kept * 8 + tile * 32, "decompressing tiles of a FITS")?;
        let random = if table.dither.is_some() { random_numbers() } else { Vec::new() };
        let (file, picture, table) = (Arc::clone(file), picture.clone(), table.clone());
        let across = picture.width.div_ceil(table.tile_width);
        let kept = vec![(None, Vec::new()); picture.planes];
        Ok(Self { file, picture, table, across, kept, random })
    }

    pub fn read(&mut self, plane: usize, row: u32, column: u32, into: &mut [f64]) -> Result<(), SourceError> {
        let wanted = row / self.table.tile_height;
        if self.kept.get(plane).is_none_or(|(kept, _)| *kept != Some(wanted)) {
            let values = self.tiles_of(plane, wanted)?;
            let kept = self.kept.get_mut(plane).ok_or_else(|| FORMAT.ends_early())?;
            *kept = (Some(wanted), values);
        }
        let start = (row % self.table.tile_height) as usize * self.picture.width as usize + column as usize;
        let values = self.kept.get(plane).and_then(|(_, values)| values.get(start..start + into.len()));
        into.copy_from_slice(values.ok_or_else(|| FORMAT.ends_early())?);
        Ok(())
    }

    /// Decodes a row of tiles.
    fn tiles_of(&self, plane: usize, row: u32) -> Result<Vec<f64>, SourceError> {
        let Table { tile_width, tile_height, .. } = self.table;
        let width = self.picture.width as usize;
        let down = u64::from(self.picture.height.div_ceil(tile_height));
        let height = tile_height.min(self.picture.height - row * tile_height) as usize;
        let mut values = vec![0.0; width * height];
        for index in 0..self.across {
            let left = index * tile_width;
            let across = tile_width.min(self.picture.width - left) as usize;
            let number = (plane as u64 * down + u64::from(row)) * u64::from(self.across) + u64::from(index);
            let tile = self.tile(number, across * height)?;
            let rows = values.chunks_exact_mut(width).zip(tile.chunks_exact(across));
            for (out, row) in rows {
                out.iter_mut().skip(left as usize).zip(row).for_each(|(out, &value)| *out = value);
            }
        }
        Ok(values)
    }

    /// Decodes a tile of `count` values.
    fn tile(&self, index: u64, count: usize) -> Result<Vec<f64>, SourceError> {
        if index >= self.table.tiles {
            return Err(FORMAT.ends_early());
        }
        let bitpix = self.picture.bitpix;
        if let Some(packed) = self.bytes(self.table.packed, index, count)? {
            let scale = self.real(self.table.scale, index)?;
            // Floats with a scale are stored as integers of 32 bits.
            let stored = if scale.is_some() && bitpix < 0 { 32 } else { bitpix };
            let numbers = match self.table.algorithm {
                Algorithm::Rice(parameters) => rice::decompress(&packed, count, parameters)?,
                Algorithm::Gzip { is_shuffled } => {
                    let bytes = gunzip(&packed, count, stored, is_shuffled)?;
                    if stored < 0 {
                        return self.values(&bytes, stored);
                    }
                    integers(&bytes, stored)?
                }
            };
            return match scale {
                Some(scale) if bitpix < 0 => {
                    let zero = self.real(self.table.zero, index)?.unwrap_or(0.0);
                    let blank = self.integer(self.table.blank, index)?.or(self.table.blank_number);
                    Ok(self.dequantized(&numbers, index, scale, zero, blank))
                }
                _ => {
                    Ok(numbers.into_iter().map(|number| self.picture.value(number as f64, number)).collect())
                }
            };
        }
        if let Some(packed) = self.bytes(self.table.gzipped, index, count)? {
            return self.values(&gunzip(&packed, count, bitpix, false)?, bitpix);
        }
        let raw = self.bytes(self.table.raw, index, count)?;
        let raw = raw.ok_or_else(|| FORMAT.corrupt("a tile is missing"))?;
        let values = self.values(&raw, bitpix)?;
        if values.len() == count { Ok(values) } else { Err(FORMAT.corrupt("a tile is too short")) }
    }

    /// Converts stored numbers to values.
    fn values(&self, bytes: &[u8], bitpix: i64) -> Result<Vec<f64>, SourceError> {
        let stored = bytes.chunks_exact(self.picture.sample_bytes());
        let value =
            |stored| number(stored, bitpix).map(|(float, integer)| self.picture.value(float, integer));
        stored.map(value).collect()
    }

    /// Converts quantized numbers to values.
    fn dequantized(
        &self,
        numbers: &[i64],
        index: u64,
        scale: f64,
        zero: f64,
        blank: Option<i64>,
    ) -> Vec<f64> {
        let mut random =
            self.table.dither.map(|(seed, _)| Random::new(&self.random, index.wrapping_add(seed)));
        let keeps_zeros = self.table.dither.is_some_and(|(_, keeps_zeros)| keeps_zeros);
        let values = numbers.iter().map(|&number| {
            let shift = random.as_mut().map_or(0.0, |random| 0.5 - random.next());
            match number {
                _ if blank == Some(number) => f64::NAN,
                ZERO if keeps_zeros => 0.0,
                _ => (number as f64 + shift) * scale + zero,
            }
        });
        values.collect()
    }

    /// Reads the bytes in the heap to which a column leads. Returns `None` if the tile has none in this column.
    fn bytes(
        &self,
        column: Option<Column>,
        index: u64,
        count: usize,
    ) -> Result<Option<Vec<u8>>, SourceError> {
        let Some(column) = column else { return Ok(None) };
        let (length, offset) = match column.kind {
            b'Q' => {
                let both = u128::from_be_bytes(self.cell(column, index)?);
                ((both >> 64) as u64, both as u64)
            }
            _ => {
                let both = u64::from_be_bytes(self.cell(column, index)?);
                (both >> 32, both & u64::from(u32::MAX))
            }
        };
        // Lengths count elements, which are bytes unless the tile is raw. A tile that cannot be compressed grows a
        // little.
        let is_raw = self.table.raw.is_some_and(|raw| raw.at == column.at);
        let length = length.saturating_mul(if is_raw { self.picture.sample_bytes() as u64 } else { 1 });
        if length == 0 {
            return Ok(None);
        }
        if length > count as u64 * 16 + 4096 {
            return Err(FORMAT.corrupt("a tile is too long"));
        }
        let mut bytes = vec![0; length as usize];
        let mut section = Section::new(&self.file, self.table.heap_at.saturating_add(offset), length);
        section.read_exact(&mut bytes).map_err(|_| FORMAT.ends_early())?;
        Ok(Some(bytes))
    }

    /// Reads a cell of the table.
    fn cell<const N: usize>(&self, column: Column, index: u64) -> Result<[u8; N], SourceError> {
        let at = index.saturating_mul(self.table.row_bytes).saturating_add(column.at);
        let mut section = Section::new(&self.file, self.table.table_at.saturating_add(at), N as u64);
        array(&mut section).map_err(|_| FORMAT.ends_early())
    }

    fn real(&self, column: Option<Column>, index: u64) -> Result<Option<f64>, SourceError> {
        Ok(match column {
            Some(column) if column.kind == b'E' => Some(f32::from_be_bytes(self.cell(column, index)?).into()),
            Some(column) => Some(f64::from_be_bytes(self.cell(column, index)?)),
            None => None,
        })
    }

    fn integer(&self, column: Option<Column>, index: u64) -> Result<Option<i64>, SourceError> {
        let Some(column) = column else { return Ok(None) };
        Ok(Some(i32::from_be_bytes(self.cell(column, index)?).into()))
    }
}

/// Decompresses the numbers of a tile.
fn gunzip(packed: &[u8], count: usize, bitpix: i64, is_shuffled: bool) -> Result<Vec<u8>, SourceError> {
    let width = bitpix.unsigned_abs() as usize / 8;
    let mut bytes = vec![0; count * width];
    GzDecoder::new(packed).read_exact(&mut bytes).map_err(|_| FORMAT.corrupt("a tile is invalid"))?;
    if !is_shuffled {
        return Ok(bytes);
    }
    let place = |index: usize| bytes.get(index % width * count + index / width).copied().unwrap_or_default();
    Ok((0..bytes.len()).map(place).collect())
}

fn integers(bytes: &[u8], bitpix: i64) -> Result<Vec<i64>, SourceError> {
    let stored = bytes.chunks_exact(bitpix.unsigned_abs() as usize / 8);
    stored.map(|stored| number(stored, bitpix).map(|(_, integer)| integer)).collect()
}

/// Returns the random numbers of Park and Miller's minimal standard (FITS Standard 4.0, appendix I).
fn random_numbers() -> Vec<f32> {
    let mut seed = 1u64;
    let next = || {
        seed = seed * 16_807 % 2_147_483_647;
        (seed as f64 / 2_147_483_647.0) as f32
    };
    std::iter::repeat_with(next).take(RANDOM_NUMBERS).collect()
}

/// Returns the random numbers of a tile, in order.
struct Random<'a> {
    numbers: &'a [f32],
    start: usize,
    next: usize,
}

impl<'a> Random<'a> {
    /// `number` is the tile's number, counted from 0, plus the seed.
    fn new(numbers: &'a [f32], number: u64) -> Self {
        let start = (number.wrapping_sub(1) % RANDOM_NUMBERS as u64) as usize;
        let mut random = Self { numbers, start, next: 0 };
        random.begin();
        random
    }

    fn begin(&mut self) {
        self.next = (self.numbers.get(self.start).copied().unwrap_or_default() * 500.0) as usize;
    }

    fn next(&mut self) -> f64 {
        let number = self.numbers.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        if self.next == RANDOM_NUMBERS {
            self.start = (self.start + 1) % RANDOM_NUMBERS;
            self.begin();
        }
        number.into()
    }
}
