//! Pictures in tiles: each tile is decoded by itself, and a row of tiles is a band of the picture.

use edgezoom_geometry::Size;

use super::FORMAT;
use super::codestream::{Codestream, Found, Tiles};
use super::picture::{BYTES_A_SAMPLE, Kind};
use super::source::Source;
use crate::parallel::in_parallel;
use crate::read_ahead::{BandSender, ReadAhead};
use crate::tolerant::missing;
use crate::{Bounds, Damage, DecodeOptions, RowReader, SourceError};

/// The memory of the bands that are decoded, wait and are read, as a multiple of a band of at least one row of tiles:
/// the tiles themselves, and three bands.
const BANDS: u64 = 4;

/// Opens a picture in tiles. A thread and its helpers decode them while they are read.
pub fn open(
    source: Source,
    codestream: Codestream,
    size: Size,
    kind: Kind,
    bounds: Bounds,
    options: DecodeOptions,
) -> Result<Box<dyn RowReader>, SourceError> {
    let tiles = codestream.tiles;
    let (tile_pixels, components) = tiles.largest();
    let [columns, rows] = tiles.count;
    let tile_bytes =
        tile_pixels.saturating_mul(components.max(kind.samples())).saturating_mul(BYTES_A_SAMPLE);
    let wanted = options.threads.get() as u64;
    // Enough rows of tiles to give each thread a tile.
    let tile_rows = wanted.div_ceil(u64::from(columns)).min(u64::from(rows));
    let band_pixels = tile_pixels.saturating_mul(u64::from(columns)).saturating_mul(tile_rows);
    let band_bytes = band_pixels.saturating_mul(kind.layout.channels() as u64 * BANDS);
    // A thread less is better than a refusal.
    let threads = (bounds.memory.saturating_sub(band_bytes) / tile_bytes.max(1)).clamp(1, wanted);
    let memory = band_bytes.saturating_add(tile_bytes.saturating_mul(threads));
    bounds.admit_memory(memory, "decoding a JPEG 2000 in such large tiles")?;
    let damage = damage(&codestream, size);
    if damage.is_some() {
        // At least one tile has to be decodable.
        decode_tile(&source, &codestream, codestream.first_tile(), &kind)?;
    }
    let decode = move |bands: &BandSender| {
        bands.begin(size, kind.layout)?;
        for first in (0..rows).step_by(tile_rows as usize) {
            let end = (first + tile_rows as u32).min(rows);
            let numbers = first * columns..end * columns;
            let cells = in_parallel(numbers.len(), threads as usize, |index| {
                shown_tile(&source, &codestream, numbers.start + index as u32, &kind)
            })?;
            for (row, cells) in (first..end).zip(cells.chunks(columns as usize)) {
                bands.send(assembled(tiles, row, cells, kind.layout.row_bytes(size.width)))?;
            }
        }
        Ok(())
    };
    Ok(Box::new(ReadAhead::start(&FORMAT, decode)?.with_damage(damage)))
}

/// Returns what is missing of a picture: all rows from one on, unless several tiles are there in part, or one of the
/// first row is.
fn damage(codestream: &Codestream, size: Size) -> Option<Damage> {
    let tiles = codestream.tiles;
    let mut lacking =
        (0..tiles.count[0] * tiles.count[1]).filter(|&tile| codestream.found(tile) != Found::All);
    let first = lacking.next()?;
    let parts = lacking.filter(|&tile| codestream.found(tile) == Found::Part).count();
    let (row, _) = tiles.range(1, first / tiles.count[0]);
    Some(match row {
        0 => Damage::Partial,
        _ if parts > 0 => Damage::Partial,
        row => Damage::FromRow { row, rows: size.height },
    })
}

/// Returns a tile's pixels, as far as they can be decoded.
fn shown_tile(
    source: &Source,
    codestream: &Codestream,
    number: u32,
    kind: &Kind,
) -> Result<Vec<u8>, SourceError> {
    let found = codestream.found(number);
    if found != Found::Nothing {
        match decode_tile(source, codestream, number, kind) {
            Err(SourceError::Corrupt { .. }) if found == Found::Part => {}
            decoded => return decoded,
        }
    }
    let size = tile_size(codestream.tiles, number);
    Ok(vec![missing(kind.layout); kind.layout.row_bytes(size.width) * size.height as usize])
}

fn tile_size(tiles: Tiles, number: u32) -> Size {
    let side = |(start, end): (u32, u32)| end - start;
    let (column, row) = (number % tiles.count[0], number / tiles.count[0]);
    Size { width: side(tiles.range(0, column)), height: side(tiles.range(1, row)) }
}

/// Decodes a tile.
fn decode_tile(
    source: &Source,
    codestream: &Codestream,
    number: u32,
    kind: &Kind,
) -> Result<Vec<u8>, SourceError> {
    let tiles = codestream.tiles;
    let file = codestream.tile(source, number % tiles.count[0], number / tiles.count[0])?;
    let size = tile_size(tiles, number);
    let mut pixels = vec![0; kind.layout.row_bytes(size.width) * size.height as usize];
    kind.decode(&file, size, &mut pixels)?;
    Ok(pixels)
}

/// Joins a row of tiles.
fn assembled(tiles: Tiles, row: u32, cells: &[Vec<u8>], row_bytes: usize) -> Vec<u8> {
    let (top, bottom) = tiles.range(1, row);
    let rows = (bottom - top) as usize;
    let mut band = vec![0; row_bytes * rows];
    let mut left = 0;
    for cell in cells {
        let cell_bytes = cell.len() / rows.max(1);
        let places = band.chunks_exact_mut(row_bytes).zip(cell.chunks_exact(cell_bytes.max(1)));
        places.for_each(|(to, from)| to[left..left + cell_bytes].copy_from_slice(from));
        left += cell_bytes;
    }
    band
}
