//! Ventana BIF. Its scanners take areas of a slide, tile by tile, and neighbours overlap. The file stores the tiles
//! beside each other as if they did not overlap; the XML of the highest level says how far they overlap. Here each area
//! is read as a picture of its own, and its tiles are copied to their places row by row.
//!
//! ```text
//! EncodeInfo
//!   SlideStitchInfo
//!     ImageInfo        an area. AOIScanned: 0 if it is left out. Width, Height: a tile's size in pixels.
//!                      NumCols, NumRows. Pos-X: its left side. Pos-Y: its lower side, counted from below
//!       TileJointInfo  two neighbours. Direction: RIGHT or UP. OverlapX, OverlapY: in pixels. Confidence
//!   AoiOrigin
//!     AOI0             the first area. OriginX, OriginY: where its tiles begin in the grid of the file, in pixels
//! ```
//! All neighbours are equally far apart: by the mean of their overlaps, weighted by confidence. Where tiles overlap,
//! the right and the lower one are visible. OpenSlide does the same, but here a tile begins at a whole pixel.
//!
//! Source: Roche, "Digital Pathology BIF Whitepaper" (the XML); openslide.org/formats/ventana (positions).

use std::io::BufReader;
use std::ops::Range;

use edgezoom_geometry::Size;

use super::directory::{Directory, Tiff};
use super::picture::Picture;
use super::{FORMAT, open_picture};
use crate::format::{Decoded, READ_BYTES};
use crate::{AsPlanes, Bounds, DecodeOptions, Layout, RowReader, SourceError, SourceFile};

/// Maximum number of areas of a slide: each is read by itself.
const MOST_AREAS: usize = 64;
/// Largest distance between neighbours, in sides of a tile. Gaps between them are white.
const MOST_APART: f64 = 2.0;
/// Sample of pixels that no tile covers.
const BLANK: u8 = 255;

/// The places of a slide's tiles.
#[derive(Debug, PartialEq)]
pub struct Mosaic {
    size: Size,
    areas: Vec<Area>,
}

/// Tiles that are equally far apart.
#[derive(Debug, PartialEq)]
struct Area {
    /// Columns and rows of the file's tiles.
    tiles: [Range<u32>; 2],
    /// Left edge of each column of tiles in the picture.
    columns: Vec<u32>,
    /// Upper edge of each row of tiles in the picture.
    rows: Vec<u32>,
}

/// An area as the XML describes it.
struct Stated {
    is_scanned: bool,
    tile: [f64; 2],
    count: [f64; 2],
    position: [f64; 2],
}

/// An area that is being read.
struct AreaReader {
    /// Its tiles, without overlap.
    reader: Box<dyn RowReader>,
    tile: Size,
    area: Area,
    /// The row that was read last.
    row: Vec<u8>,
    /// Number of rows read.
    read: u32,
}

/// Opens each area of a slide as a picture, and puts the areas together.
pub fn open(
    source: &SourceFile,
    directory: &Directory,
    picture: &Picture,
    mosaic: Mosaic,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Decoded, SourceError> {
    let size = bounds.admit(mosaic.size.width, mosaic.size.height)?;
    let options = DecodeOptions { planes: AsPlanes::Never, ..*options };
    let columns: u64 = mosaic.areas.iter().map(|area| area.columns.len() as u64).sum();
    let (mut areas, mut profile) = (Vec::new(), None);
    for area in mosaic.areas {
        let tiff = Tiff::open(BufReader::with_capacity(READ_BYTES, source.apart()))?;
        // Each area gets memory in proportion to its width.
        let memory = bounds.memory / columns.max(1) * area.columns.len() as u64;
        let part = picture.part(area.tiles.clone())?;
        let decoded = open_picture(tiff, directory, part, Bounds { memory, ..bounds }, &options)?;
        profile = decoded.profile;
        areas.push(AreaReader::new(decoded.reader, picture.chunk, area));
    }
    let layout = areas.first().ok_or(SourceError::Empty)?.reader.layout();
    if layout == Layout::YCbCr420 || areas.iter().any(|area| area.reader.layout() != layout) {
        return Err(FORMAT.unsupported("its areas have different kinds of pixels"));
    }
    let mut y = 0;
    let rows = Decoded::rows(size, layout, move |row| {
        row.fill(BLANK);
        areas.iter_mut().try_for_each(|area| area.paint(y, row))?;
        y += 1;
        Ok(())
    });
    Ok(Decoded { orientation: picture.orientation, profile, ..rows })
}

impl AreaReader {
    /// `reader` reads the tiles of the area as if they did not overlap.
    fn new(reader: Box<dyn RowReader>, tile: Size, area: Area) -> Self {
        let row = vec![0; reader.layout().row_bytes(reader.size().width)];
        Self { reader, tile, area, row, read: 0 }
    }

    /// Paints the area's part of a row of the picture.
    fn paint(&mut self, y: u32, out: &mut [u8]) -> Result<(), SourceError> {
        let Area { columns, rows, .. } = &self.area;
        // The lowest tile that begins above.
        let Some(index) = rows.partition_point(|&top| top <= y).checked_sub(1) else { return Ok(()) };
        let below = y - rows[index];
        if below >= self.tile.height {
            return Ok(());
        }
        let wanted = index as u32 * self.tile.height + below;
        while self.read <= wanted {
            self.reader.read_rows(&mut self.row)?;
            self.read += 1;
        }
        let bytes = self.reader.layout().channels();
        let tiles = self.row.chunks_exact(self.tile.width as usize * bytes);
        for ((index, &left), tile) in columns.iter().enumerate().zip(tiles) {
            // The next tile covers the rest.
            let next = columns.get(index + 1).map_or(self.tile.width, |next| next - left);
            let seen = next.min(self.tile.width) as usize * bytes;
            let out = out.get_mut(left as usize * bytes..).unwrap_or_default();
            let seen = seen.min(out.len());
            out[..seen].copy_from_slice(&tile[..seen]);
        }
        Ok(())
    }
}

/// Returns the places of tiles of this size, of which the file has `grid` columns and rows. `None`: they do not
/// overlap, or the XML is of another kind or incomplete.
pub fn mosaic(xml: &str, tile: Size, grid: [u32; 2]) -> Option<Mosaic> {
    let (_, xml) = xml.split_once("<EncodeInfo")?;
    let (mut stated, mut origins, mut in_origins) = (Vec::new(), Vec::new(), false);
    // The sum of the overlaps across and down, and of their weights.
    let mut joints = [(0.0, 0.0); 2];
    for element in xml.split('<').skip(1) {
        let name = element.split(|byte: char| byte.is_whitespace() || matches!(byte, '/' | '>')).next()?;
        match name {
            "ImageInfo" => stated.push(Stated::read(element)?),
            "TileJointInfo" if stated.last().is_some_and(|area| area.is_scanned) => {
                let axis = usize::from(attribute(element, "Direction")? == "UP");
                let overlap = number(element, ["OverlapX", "OverlapY"][axis])?;
                let weight = number(element, "Confidence")?;
                joints[axis] = (joints[axis].0 + weight * overlap, joints[axis].1 + weight);
            }
            "AoiOrigin" => in_origins = true,
            // The end of AoiOrigin.
            "" => in_origins &= !element.starts_with("/AoiOrigin"),
            _ if in_origins => origins.push([number(element, "OriginX")?, number(element, "OriginY")?]),
            _ => {}
        }
    }
    if stated.len() != origins.len() || stated.len() > MOST_AREAS {
        return None;
    }
    let sides = [f64::from(tile.width), f64::from(tile.height)];
    let mut apart = sides;
    for ((apart, side), (overlaps, weight)) in apart.iter_mut().zip(sides).zip(joints) {
        if weight > 0.0 {
            *apart = side - overlaps / weight;
        }
        if !(1.0..=MOST_APART * side).contains(apart) {
            return None;
        }
    }
    let scanned: Vec<(Stated, [f64; 2])> =
        stated.into_iter().zip(origins).filter(|(area, _)| area.is_scanned).collect();
    // Whole pixels, as in OpenSlide.
    let height = |area: &Stated| ((area.count[1] - 1.0) * apart[1] + sides[1]).trunc();
    let top = scanned.iter().map(|(area, _)| area.position[1] + height(area)).fold(0.0, f64::max);
    let mut mosaic = Mosaic { size: Size { width: 0, height: 0 }, areas: Vec::new() };
    // No tile belongs to two areas.
    let mut room = u64::from(grid[0]) * u64::from(grid[1]);
    for (area, origin) in &scanned {
        let corner = [area.position[0], top - area.position[1] - height(area)];
        if area.tile != sides || corner.iter().any(|&side| !(0.0..f64::from(u32::MAX)).contains(&side)) {
            return None;
        }
        let axis = |axis: usize| {
            let first = origin[axis] / sides[axis];
            let end = first + area.count[axis];
            let is_there = first >= 0.0 && first.fract() == 0.0 && area.count[axis] >= 1.0;
            let is_there = is_there && area.count[axis].fract() == 0.0 && end <= f64::from(grid[axis]);
            is_there.then_some(first as u32..end as u32)
        };
        let tiles = [axis(0)?, axis(1)?];
        let begin = |axis: usize, index: u32| corner[axis] + f64::from(index) * apart[axis];
        let starts = |axis: usize| {
            (0..tiles[axis].len() as u32).map(|index| begin(axis, index).round() as u32).collect::<Vec<u32>>()
        };
        let end = |axis: usize| (begin(axis, tiles[axis].len() as u32 - 1) + sides[axis]).ceil() as u32;
        mosaic.size.width = mosaic.size.width.max(end(0));
        mosaic.size.height = mosaic.size.height.max(end(1));
        room = room.checked_sub(tiles[0].len() as u64 * tiles[1].len() as u64)?;
        mosaic.areas.push(Area { columns: starts(0), rows: starts(1), tiles });
    }
    let stands = |area: &Area, axis: usize, begins: &[u32], side: u32| {
        area.tiles[axis] == (0..grid[axis])
            && begins.iter().zip(0..).all(|(&begin, index)| begin == index * side)
    };
    match mosaic.areas.as_slice() {
        [] => None,
        [area] if stands(area, 0, &area.columns, tile.width) && stands(area, 1, &area.rows, tile.height) => {
            None
        }
        _ => Some(mosaic),
    }
}

impl Stated {
    fn read(element: &str) -> Option<Self> {
        let pair = |across, down| Some([number(element, across)?, number(element, down)?]);
        Some(Self {
            is_scanned: number(element, "AOIScanned")? != 0.0,
            tile: pair("Width", "Height")?,
            count: pair("NumCols", "NumRows")?,
            position: pair("Pos-X", "Pos-Y")?.map(f64::trunc),
        })
    }
}

/// Returns the value of an element's attribute. `element` begins with its name.
pub fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = element.split('>').next()?;
    // A name has a blank before it and an equals sign behind it.
    while let Some((before, after)) = rest.split_once(name) {
        if let (true, Some(value)) = (before.ends_with(char::is_whitespace), after.strip_prefix('=')) {
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            return value[1..].split(quote).next();
        }
        rest = after;
    }
    None
}

pub fn number(element: &str, name: &str) -> Option<f64> {
    attribute(element, name)?.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: Size = Size { width: 64, height: 64 };

    fn xml(joints: &str) -> String {
        format!(
            "<EncodeInfo Ver=\"2\"><SlideStitchInfo>\
             <ImageInfo AOIScanned=\"1\" Width=\"64\" Height=\"64\" NumCols=\"2\" NumRows=\"1\" Pos-X=\"10.0\" \
             Pos-Y=\"0\">{joints}</ImageInfo>\
             <ImageInfo AOIScanned=\"0\" Width=\"1\" Height=\"1\" NumCols=\"9\" NumRows=\"9\" Pos-X=\"0\" Pos-Y=\"0\"/>\
             </SlideStitchInfo><AoiOrigin><AOI0 OriginX=\"64\" OriginY=\"0\"/><AOI1 OriginX=\"0\" OriginY=\"0\"/>\
             </AoiOrigin></EncodeInfo>"
        )
    }

    #[test]
    fn neighbours_are_apart_by_the_mean_of_their_overlaps() {
        let joint = |overlap, confidence| {
            format!(
                "<TileJointInfo Direction='RIGHT' Confidence=\"{confidence}\" OverlapX=\"{overlap}\" OverlapY=\"1\"/>"
            )
        };
        let found = mosaic(&xml(&(joint(4, 30) + &joint(8, 10))), TILE, [3, 1]).unwrap();
        let area = Area { tiles: [1..3, 0..1], columns: vec![10, 69], rows: vec![0] };
        assert_eq!(found, Mosaic { size: Size { width: 133, height: 64 }, areas: vec![area] });
    }

    #[test]
    fn impossible_places_are_ignored() {
        let joint =
            |overlap| format!("<TileJointInfo Direction=\"RIGHT\" Confidence=\"1\" OverlapX=\"{overlap}\"/>");
        assert!(mosaic(&xml(&joint("64")), TILE, [3, 1]).is_none(), "tiles on top of each other");
        assert!(mosaic(&xml(&joint("-1e9")), TILE, [3, 1]).is_none());
        assert!(mosaic(&xml(&joint("NaN")), TILE, [3, 1]).is_none());
        assert!(mosaic(&xml(""), TILE, [2, 1]).is_none(), "an area beyond the grid");
        assert!(mosaic(&xml(""), Size { width: 32, height: 64 }, [3, 1]).is_none());
        assert!(mosaic("<EncodeInfo", TILE, [3, 1]).is_none());
    }
}
