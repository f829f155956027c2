//! Renders a region from the bytes of its plan's tiles.
//!
//! A row of tiles is decoded at a time, into planes. JPEG with halved chroma stays as it is stored: chroma is resampled
//! as the plane that it is, and luma alone makes a grey picture. As soon as the rows that a filter needs are there, the
//! output's rows are made; mirroring and half of a turn are an order of samples in the filter, and the other half swaps
//! rows and columns at the end.
//!
//! ```text
//! tiles ─▶ decode ─▶ canvas (a row of tiles) ─▶ resample ─▶ picture ─▶ encode ─▶ the file
//! ```
//!
//! Tiles may be damaged or hostile: the size in a tile's header must be the one that the pyramid's arithmetic gives, so
//! memory is bounded by the plan.

mod canvas;
mod decode;
mod encode;
mod picture;
mod resample;

use edgezoom_geometry::{Dzi, TileFormat};

use crate::plan::{Plan, PlanError};
use crate::rendering::{Colours, Format, Rendering};

use canvas::{Canvas, Kind};
use decode::{Decoder, Undecodable};
use picture::Picture;

/// The reason why a region cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The rendering cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There are more or fewer tiles than the plan has.
    #[error("{given} tiles were given, and {planned} are needed")]
    Tiles {
        /// Number of tiles that were given.
        given: usize,
        /// Number of tiles in the plan.
        planned: u64,
    },
    /// A tile is damaged, or is not the one that the pyramid has there.
    #[error("tile {column}_{row} of level {level} cannot be decoded")]
    Tile {
        /// The tile's level.
        level: u32,
        /// The tile's column.
        column: u32,
        /// The tile's row.
        row: u32,
    },
    /// The file cannot be encoded.
    #[error("the file cannot be encoded")]
    Encode,
}

/// Renders a region. `tiles` has the bytes of the tiles in the order of [`Plan::tiles`].
///
/// # Errors
/// If the rendering cannot be planned, or a tile is missing or damaged.
pub fn render<T: AsRef<[u8]>>(dzi: &Dzi, rendering: &Rendering, tiles: &[T]) -> Result<Vec<u8>, RenderError> {
    let plan = Plan::new(dzi, rendering)?;
    if tiles.len() as u64 != plan.tile_count() {
        return Err(RenderError::Tiles { given: tiles.len(), planned: plan.tile_count() });
    }
    let picture = match dzi.tile_format {
        TileFormat::Png if rendering.format == Format::Jpg => draw(dzi, rendering, &plan, tiles, Kind::Rgb),
        TileFormat::Png => draw(dzi, rendering, &plan, tiles, Kind::Rgba),
        // WebP is no JPEG, and fails so. The service has no such tiles.
        _ => {
            let kind = tiles.first().map_or(Kind::Rgb, |tile| Kind::of_jpeg(dzi, tile.as_ref()));
            // A pyramid's tiles are of one kind, but for those that something else than a pyramid has put there.
            draw(dzi, rendering, &plan, tiles, kind).or_else(|error| match kind {
                Kind::Rgb => Err(error),
                _ => draw(dzi, rendering, &plan, tiles, Kind::Rgb),
            })
        }
    };
    picture?.turned(rendering.turn).encode(rendering).ok_or(RenderError::Encode)
}

/// Decodes and resamples all tiles, on a canvas of this kind.
fn draw<T: AsRef<[u8]>>(
    dzi: &Dzi,
    rendering: &Rendering,
    plan: &Plan,
    tiles: &[T],
    kind: Kind,
) -> Result<Picture, RenderError> {
    let is_grey = rendering.colours != Colours::Colour;
    let mut decoder = Decoder::default();
    let mut canvas = Canvas::new(plan, kind, is_grey);
    let mut picture = Picture::new(rendering, plan, &canvas);
    let mut places = plan.tiles().zip(tiles);
    for row in plan.rows.clone() {
        picture.drop_used_rows(&mut canvas);
        canvas.begin_row_of_tiles(dzi, plan, row);
        for ((column, row), tile) in places.by_ref().take(plan.columns.len()) {
            decoder
                .decode(tile.as_ref(), &mut canvas.tile(dzi, plan, column, row))
                .map_err(|Undecodable| RenderError::Tile { level: plan.level, column, row })?;
        }
        picture.draw(&canvas);
    }
    Ok(picture)
}
