//! Where the tiles of a Ventana BIF lie. Its scanners take areas of a slide, tile by tile, and neighbours overlap. In
//! the file the tiles stand beside each other all the same; the XML of the highest level says how far they overlap.
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
//! All neighbours are equally far apart: by the mean of their overlaps, weighted by confidence. Where tiles overlap, the
//! right and the lower one are seen. So does OpenSlide; a tile begins at a whole pixel here.
//!
//! Source: Roche, "Digital Pathology BIF Whitepaper" (the XML); openslide.org/formats/ventana (positions).

use std::ops::Range;

use edgezoom_geometry::Size;

/// The areas that a slide may have: each is read by itself.
const MOST_AREAS: usize = 64;
/// How far apart tiles may be, in sides of a tile. Gaps between them are white.
const MOST_APART: f64 = 2.0;

/// A picture of areas of tiles.
#[derive(Debug, PartialEq)]
pub struct Mosaic {
    pub size: Size,
    pub areas: Vec<Area>,
}

/// Tiles that are equally far apart.
#[derive(Debug, PartialEq)]
pub struct Area {
    /// The columns and rows of the file's tiles.
    pub tiles: [Range<u32>; 2],
    /// Where each column of tiles begins in the picture, and each row.
    pub columns: Vec<u32>,
    pub rows: Vec<u32>,
}

/// An area as the XML has it.
struct Stated {
    is_scanned: bool,
    tile: [f64; 2],
    count: [f64; 2],
    position: [f64; 2],
}

/// Where the tiles of this size lie, of which the file has so many columns and rows. `None`: where they stand in the file,
/// or the XML is another one or does not say.
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

/// The value of an element's attribute. `element` begins with its name.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = element.split('>').next()?;
    // A name follows a blank, and is followed by an equals sign.
    while let Some((before, after)) = rest.split_once(name) {
        if let (true, Some(value)) = (before.ends_with(char::is_whitespace), after.strip_prefix('=')) {
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            return value[1..].split(quote).next();
        }
        rest = after;
    }
    None
}

fn number(element: &str, name: &str) -> Option<f64> {
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
    fn what_cannot_be_is_not_believed() {
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
