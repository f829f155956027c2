//! A picture that exists only as tiles, as Deep Zoom and IIIF viewers load them. Its file is made by the program that has
//! downloaded the tiles, and begins with the length of each in bytes, row by row, as little-endian numbers of 8 bytes: 0 for
//! a tile that is missing. The tiles follow without gaps. They are files of strangers in JPEG, PNG or WebP.
//!
//! A row of tiles is decoded at once, so memory is that of such a row. A tile that cannot be read is grey or transparent, as
//! missing pixels are.

use std::io::{Read, Seek, SeekFrom};

use edgezoom_geometry::Size;

use crate::format::{Decoded, Input, Open};
use crate::open::{Prepared, open_with};
use crate::row_reader::BandBuffer;
use crate::tolerant::missing;
use crate::{
    Bounds, Damage, DecodeOptions, Flattened, Format, Layout, Reading, RowReader, SourceError, SourceFile,
};

/// The grid of a picture's tiles, without the pixels of overlap: tile `i` begins at `i` times the side of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mosaic {
    /// Size of the picture in pixels.
    pub size: Size,
    /// Size of a tile in pixels without overlap. Tiles at the right and lower edge are smaller.
    pub tile: Size,
    /// Pixels that a tile shares with each neighbour.
    pub overlap: u32,
}

/// The format, for messages. No file is recognised as one: only the program that made it knows.
const FORMAT: Format = Format {
    name: "set of tiles",
    media_types: &[],
    endings: &[],
    reading: Reading::Rows,
    in_order: false,
    signature: |_| false,
    open: Open::Directly(|_| Err(SourceError::NoBytes)),
};

/// Largest number of tiles.
const MAX_TILES: u64 = 1 << 20;
/// Formats of tiles.
const MEDIA_TYPES: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];
/// Pixels that a tile may have beyond four times those of the grid.
const SPARE_PIXELS: u64 = 1 << 20;

impl Mosaic {
    /// Returns the number of columns and of rows of tiles.
    #[must_use]
    pub fn grid(&self) -> (u32, u32) {
        let Self { size, tile, .. } = self;
        (size.width.div_ceil(tile.width.max(1)), size.height.div_ceil(tile.height.max(1)))
    }

    /// Returns the number of tiles.
    #[must_use]
    pub fn count(&self) -> u64 {
        let (columns, rows) = self.grid();
        u64::from(columns) * u64::from(rows)
    }

    /// Returns a tile's own part of the picture, without overlap: its left and upper edge, and its size.
    #[must_use]
    pub fn part(&self, column: u32, row: u32) -> (u32, u32, Size) {
        let (left, top) = (column.saturating_mul(self.tile.width), row.saturating_mul(self.tile.height));
        let width = self.tile.width.min(self.size.width.saturating_sub(left));
        let height = self.tile.height.min(self.size.height.saturating_sub(top));
        (left, top, Size { width, height })
    }

    /// Returns the opener of the file with the tiles.
    #[must_use]
    pub fn prepare(self) -> Prepared {
        Prepared::by(&FORMAT, Box::new(move |input| self.open(input)))
    }

    fn open(self, input: Input<'_>) -> Result<Decoded, SourceError> {
        let Input { mut file, bounds, .. } = input;
        let size = bounds.admit(self.size.width, self.size.height)?;
        if self.tile.width == 0 || self.tile.height == 0 || self.count() > MAX_TILES {
            return Err(FORMAT.corrupt("there are too many"));
        }
        let mut lengths = bounds.allocate(8 * self.count(), "the list of tiles")?;
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut lengths).map_err(|_| FORMAT.ends_in_header())?;
        let mut end = lengths.len() as u64;
        let mut tiles = Vec::with_capacity(lengths.len() / 8);
        for length in lengths.as_chunks::<8>().0 {
            let length = u64::from_le_bytes(*length);
            tiles.push((end, length));
            end = end.checked_add(length).ok_or_else(|| FORMAT.corrupt("a length is too large"))?;
        }
        let file = file.into_inner();
        // A JPEG has no opacity, and other tiles may have some.
        let first = tiles.iter().find(|(_, length)| *length > 0);
        let mut head = [0; 2];
        if let Some((offset, _)) = first {
            file.read_up_to_at(&mut head, *offset)?;
        }
        let layout = if head == [0xff, 0xd8] { Layout::Rgb } else { Layout::Rgba };
        let row_bytes = layout.row_bytes(size.width) as u64;
        bounds.admit_memory(row_bytes * u64::from(self.tile.height.min(size.height)), "a row of tiles")?;
        let tiles = Tiles {
            mosaic: self,
            file,
            tiles,
            layout,
            bounds: Bounds { pixels_by_length: u64::MAX, ..bounds },
            next: 0,
            has_any: false,
            is_damaged: false,
        };
        Ok(Decoded::plain(MosaicReader { tiles, band: BandBuffer::default() }))
    }
}

struct MosaicReader {
    tiles: Tiles,
    band: BandBuffer,
}

struct Tiles {
    mosaic: Mosaic,
    file: SourceFile,
    /// Offset and length of each tile, row by row.
    tiles: Vec<(u64, u64)>,
    layout: Layout,
    bounds: Bounds,
    /// Next row of tiles.
    next: u32,
    /// True if any tile was read, at least in part.
    has_any: bool,
    is_damaged: bool,
}

impl RowReader for MosaicReader {
    fn size(&self) -> Size {
        self.tiles.mosaic.size
    }

    fn layout(&self) -> Layout {
        self.tiles.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let Self { tiles, band } = self;
        band.read_rows(into, |band| tiles.read_band(band))
    }

    fn damage(&self) -> Option<Damage> {
        self.tiles.is_damaged.then_some(Damage::Partial)
    }
}

impl Tiles {
    /// Reads the next row of tiles into a buffer.
    fn read_band(&mut self, mut band: Vec<u8>) -> Result<Vec<u8>, SourceError> {
        let (columns, rows) = self.mosaic.grid();
        let (_, _, Size { height, .. }) = self.mosaic.part(0, self.next);
        if height == 0 {
            return Err(FORMAT.ends_early()); // does not happen: the caller reads no more rows than there are
        }
        band.clear();
        band.resize(self.layout.row_bytes(self.mosaic.size.width) * height as usize, missing(self.layout));
        for column in 0..columns {
            match self.draw(column, self.next, &mut band) {
                Ok(is_whole) => self.is_damaged |= !is_whole,
                Err(error @ (SourceError::Cancelled | SourceError::OutOfMemory)) => return Err(error),
                Err(_) => self.is_damaged = true,
            }
        }
        self.next += 1;
        if self.next == rows && !self.has_any {
            return Err(FORMAT.corrupt("none of them could be read"));
        }
        Ok(band)
    }

    /// Draws a tile into the buffer of its row of tiles. Returns true if all of its pixels are there.
    fn draw(&mut self, column: u32, row: u32, band: &mut [u8]) -> Result<bool, SourceError> {
        let index = u64::from(row) * u64::from(self.mosaic.grid().0) + u64::from(column);
        let Some(&(offset, length)) = self.tiles.get(index as usize).filter(|(_, length)| *length > 0) else {
            return Ok(false);
        };
        let (left, top, part) = self.mosaic.part(column, row);
        let mut tile = self.open(offset, length, part)?;
        // No tile begins before the picture.
        let (skipped_columns, skipped_rows) = (self.mosaic.overlap.min(left), self.mosaic.overlap.min(top));
        let size = tile.size();
        let width = part.width.min(size.width.saturating_sub(skipped_columns)) as usize;
        let height = part.height.min(size.height.saturating_sub(skipped_rows));
        let (from_channels, to_channels) = (tile.layout().channels(), self.layout.channels());
        let mut pixels = vec![0; tile.layout().row_bytes(size.width)];
        for _ in 0..skipped_rows.min(size.height) {
            tile.read_rows(&mut pixels)?;
        }
        let rows = band.chunks_exact_mut(self.layout.row_bytes(self.mosaic.size.width));
        for into in rows.take(height as usize) {
            tile.read_rows(&mut pixels)?;
            let from = pixels.chunks_exact(from_channels).skip(skipped_columns as usize).take(width);
            let into = into.chunks_exact_mut(to_channels).skip(left as usize);
            into.zip(from).for_each(|(into, from)| convert(from, into));
            self.has_any = true;
        }
        let is_whole = width == part.width as usize && height == part.height;
        Ok(is_whole && tile.damage().is_none())
    }

    /// Opens a tile that should show this part of the picture.
    fn open(&self, offset: u64, length: u64, part: Size) -> Result<Box<dyn RowReader>, SourceError> {
        let mut bytes = self.bounds.allocate(length, "a tile")?;
        self.file.read_exact_at(&mut bytes, offset)?;
        let mut file = SourceFile::from(bytes);
        let format = Format::sniff(&mut file)?;
        if !format.media_types.iter().any(|known| MEDIA_TYPES.contains(known)) {
            return Err(FORMAT.unsupported(format!("a tile is {format}")));
        }
        let side = |side: u32| u64::from(side) + 2 * u64::from(self.mosaic.overlap);
        let most = side(part.width).saturating_mul(4 * side(part.height)).saturating_add(SPARE_PIXELS);
        let bounds = Bounds { pixels: self.bounds.pixels.min(most), ..self.bounds };
        let tile = open_with(file, bounds, &DecodeOptions::default())?;
        Ok(if self.layout == Layout::Rgb { Box::new(Flattened::onto([255; 3], tile)) } else { tile })
    }
}

/// Converts a pixel of grey, RGB or RGBA to one of RGB or RGBA. Opacity is not removed.
fn convert(from: &[u8], into: &mut [u8]) {
    let pixel = match *from {
        [grey] => [grey, grey, grey, 255],
        [red, green, blue] => [red, green, blue, 255],
        [red, green, blue, alpha] => [red, green, blue, alpha],
        _ => return,
    };
    into.copy_from_slice(&pixel[..into.len().min(4)]);
}
