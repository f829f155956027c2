//! Collects the stored rows of a tile, then turns and encodes them. Used if the picture has to be turned.
//!
//! Rows are stored in small blocks that tiles reuse, so an unfinished tile needs memory only for the rows received.

use std::ops::Range;
use std::sync::Arc;

use edgezoom_codecs::{Layout, Orientation};
use edgezoom_jpeg::encoder::Piece;
use edgezoom_jpeg::ycbcr420::Pair;

use crate::TileCoord;
use crate::background::Background;
use crate::geometry::Level;
use crate::strip::Strip;
use crate::tile_encoder::{Encoding, TileEncoder};
use crate::turn::turn;

/// Rows of a block, an even number.
const BLOCK_ROWS: usize = 16;

/// Collected rows of a tile.
pub struct StoredTile {
    pub coord: TileCoord,
    /// Positions of the collected columns, in planes whole pairs.
    columns: Range<u32>,
    /// Positions of the collected rows.
    rows: Range<u32>,
    /// Columns and rows of the tile in the collected area after turning.
    crop: [Range<u32>; 2],
    blocks: Vec<Vec<u8>>,
    /// Rows of MCUs, if it consists of blocks of a JPEG instead of pixels.
    mcus: Vec<Vec<Arc<Piece>>>,
}

/// Buffers that a thread reuses for its tiles.
#[derive(Default)]
pub struct Buffers {
    blocks: Vec<Vec<u8>>,
    upright: [Vec<u8>; 3],
}

impl StoredTile {
    /// Makes an empty tile at this column and row of stored tiles.
    pub fn new(level: &Level, column: u32, row: u32, encoding: Encoding) -> Self {
        let unit = if encoding.layout == Layout::YCbCr420 { 2 } else { 1 };
        let [(columns, across), (rows, down)] =
            [(level.columns, column), (level.rows, row)].map(|(axis, index)| {
                let pixels = axis.pixels(index);
                let collected = pixels.start / unit * unit..pixels.end.next_multiple_of(unit);
                let crop = pixels.start - collected.start..pixels.end - collected.start;
                // Planes are padded past an odd end.
                let end = axis.positions().next_multiple_of(unit);
                let positions =
                    if axis.from_end { end - collected.end..end - collected.start } else { collected };
                (positions, crop)
            });
        let crop = if encoding.orientation.swapped { [down, across] } else { [across, down] };
        Self { coord: level.coord(column, row), columns, rows, crop, blocks: Vec::new(), mcus: Vec::new() }
    }

    /// Adds the strip's rows that belong to the tile. Returns true if the tile is complete.
    pub fn collect(&mut self, level: &Level, strip: &Strip, layout: Layout, buffers: &mut Buffers) -> bool {
        let strip_rows = strip.rows();
        let common = self.rows.start.max(strip_rows.start)..self.rows.end.min(strip_rows.end);
        match strip {
            Strip::Blocks(blocks) => {
                for pieces in blocks.mcus(&common) {
                    let of_tile = pieces.iter().filter(|piece| blocks.is_in(piece, &self.columns));
                    self.mcus.push(of_tile.cloned().collect());
                }
            }
            Strip::Rows(strip) if layout == Layout::YCbCr420 => {
                let skipped = (common.start - strip_rows.start) as usize / 2;
                let luma = self.columns.start as usize..self.columns.end as usize;
                let chroma = luma.start / 2..luma.end / 2;
                for Pair { luma: [upper, lower], chroma: [blue, red] } in
                    strip.pairs(level).skip(skipped).take(common.len().div_ceil(2))
                {
                    let rows = [&upper[luma.clone()], &lower[luma.clone()]];
                    let block = self.block(3 * luma.len(), BLOCK_ROWS / 2, buffers);
                    rows.into_iter().for_each(|row| block.extend_from_slice(row));
                    [blue, red].into_iter().for_each(|row| block.extend_from_slice(&row[chroma.clone()]));
                }
            }
            Strip::Rows(strip) => {
                let channels = layout.channels();
                let bytes = self.columns.start as usize * channels..self.columns.end as usize * channels;
                for pixels in strip.pixels_of(&common).chunks_exact(level.row_bytes) {
                    self.block(bytes.len(), BLOCK_ROWS, buffers).extend_from_slice(&pixels[bytes.clone()]);
                }
            }
        }
        // The last pair of an odd level has no lower row.
        common.end == self.rows.end.min(level.rows.positions())
    }

    /// Returns the block for the next unit of `bytes` bytes. A block holds `count` units.
    fn block(&mut self, bytes: usize, count: usize, buffers: &mut Buffers) -> &mut Vec<u8> {
        if self.blocks.last().is_none_or(|block| block.len() >= bytes * count) {
            let mut block = buffers.blocks.pop().unwrap_or_default();
            block.clear();
            block.reserve_exact(bytes * count);
            self.blocks.push(block);
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// Turns and encodes the tile, which must be complete. Returns true if it is blank and has to be left out. `tile` is the size
    /// of a full tile.
    pub fn encode(
        self,
        encoding: Encoding,
        encoder: &mut TileEncoder,
        background: &Background,
        tile: u32,
        buffers: &mut Buffers,
    ) -> std::io::Result<bool> {
        let [columns, rows] = &self.crop;
        let [width, height] = [columns, rows].map(|range| range.end - range.start);
        let mut is_blank = background.skips();
        background.begin(encoder, [width, height], tile)?;
        if !self.mcus.is_empty() {
            self.encode_mcus(encoding.orientation, encoder);
            return Ok(is_blank);
        }
        let width = self.columns.len();
        match encoding.layout {
            Layout::YCbCr420 => self.encode_planes(encoding.orientation, encoder, &mut buffers.upright),
            layout => {
                let stored = units(&self.blocks, width * layout.channels());
                let upright = &mut buffers.upright[0];
                match layout {
                    Layout::Grey => turn::<1>(&stored, encoding.orientation, upright),
                    Layout::Rgba => turn::<4>(&stored, encoding.orientation, upright),
                    _ => turn::<3>(&stored, encoding.orientation, upright),
                }
                let row_bytes = columns.len() * layout.channels();
                for row in upright.chunks_exact(row_bytes) {
                    is_blank &= background.row(encoder, row, tile)?;
                }
                background.end(encoder, height, tile)?;
            }
        }
        buffers.blocks.extend(self.blocks);
        Ok(is_blank)
    }

    fn encode_mcus(&self, orientation: Orientation, encoder: &mut TileEncoder) {
        let rows: Vec<Vec<_>> =
            self.mcus.iter().map(|row| row.iter().flat_map(|piece| piece.runs()).collect()).collect();
        let (height, width) = (rows.len(), rows.first().map_or(0, Vec::len));
        let upright: Vec<_> = orientation.cells((height, width)).collect();
        let upright_width = if orientation.swapped { height } else { width };
        for cells in upright.chunks(upright_width.max(1)) {
            encoder.mcus(cells.iter().filter_map(|&(row, column)| rows.get(row)?.get(column).copied()));
        }
    }

    fn encode_planes(&self, orientation: Orientation, encoder: &mut TileEncoder, upright: &mut [Vec<u8>; 3]) {
        let width = self.columns.len();
        let pairs = units(&self.blocks, 3 * width);
        let luma: Vec<&[u8]> = pairs.iter().flat_map(|pair| pair[..2 * width].chunks_exact(width)).collect();
        let chroma = [2 * width..5 * width / 2, 5 * width / 2..3 * width];
        let [blue, red] =
            chroma.map(|range| pairs.iter().map(|pair| &pair[range.clone()]).collect::<Vec<_>>());
        for (stored, upright) in [luma, blue, red].iter().zip(&mut *upright) {
            turn::<1>(stored, orientation, upright);
        }
        let [columns, rows] = &self.crop;
        let stride = if orientation.swapped { self.rows.len() } else { width };
        let [luma, blue, red] = &*upright;
        let chroma = blue.chunks_exact(stride / 2).zip(red.chunks_exact(stride / 2));
        let pairs = luma.chunks_exact(2 * stride).zip(chroma).flat_map(|(luma, (blue, red))| {
            let pair = Pair { luma: luma.split_at(stride).into(), chroma: [blue, red] };
            [(pair, false), (pair, true)]
        });
        for (pair, is_lower) in pairs.skip(rows.start as usize).take(rows.len()) {
            encoder.ycbcr420_row(&pair, is_lower, columns);
        }
    }
}

/// Splits blocks into units of `bytes` bytes.
fn units(blocks: &[Vec<u8>], bytes: usize) -> Vec<&[u8]> {
    blocks.iter().flat_map(|block| block.chunks_exact(bytes)).collect()
}
