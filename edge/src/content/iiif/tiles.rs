//! Which stored tile is the picture that a request of the Image API asks for. A region's width and height are a tile's, or
//! end with the picture, times the scale factor of a level; the size is that divided by the factor and rounded up, as the
//! levels of a Deep Zoom Image are
//! (<https://iiif.io/api/image/3.0/implementation/#3-tile-region-parameter-calculation>).

use edgezoom_content::{Dzi, Size};

use crate::request::iiif::{ImageRequest, ImageRequestError, ImageSize, Region};
use crate::request::object_key::PyramidObject;

/// The smallest level that `info.json` names: the largest that is one tile.
pub(super) fn least_level(dzi: &Dzi) -> u32 {
    (0..=dzi.max_level()).rev().find(|level| dzi.grid(*level) == (1, 1)).unwrap_or(0)
}

/// How many pixels of the full picture are one of a level, across and down.
pub(super) fn scale_factor(dzi: &Dzi, level: u32) -> u64 {
    1 << dzi.max_level().saturating_sub(level).min(32)
}

/// The tile that a request asks for.
///
/// # Errors
/// No tile is exactly that.
pub fn tile_of(request: &ImageRequest, dzi: &Dzi) -> Result<PyramidObject, ImageRequestError> {
    let whole = Region { x: 0, y: 0, width: dzi.size.width, height: dzi.size.height };
    let region = cropped(request.region.unwrap_or(whole), dzi.size)?;
    if let ImageSize::Sides { width, height } = request.size
        && (width.is_some_and(|width| width > region.width)
            || height.is_some_and(|height| height > region.height))
    {
        return Err(ImageRequestError::Enlarged);
    }
    let mut levels = (0..=dzi.max_level()).rev().filter_map(|level| tile_at(level, region, dzi));
    let tile = levels.find(|tile| is_size(request.size, tile.size, region)).map(|tile| tile.object);
    tile.filter(|_| request.format == dzi.tile_format).ok_or(ImageRequestError::NotImplemented)
}

/// A tile, and its size.
struct Tile {
    object: PyramidObject,
    size: Size,
}

/// The tile of a level that shows exactly this region.
fn tile_at(level: u32, region: Region, dzi: &Dzi) -> Option<Tile> {
    let scale = scale_factor(dzi, level);
    let step = u64::from(dzi.tile_size.max(1)) * scale;
    let place = |start: u32, length: u32, side: u32| {
        let start = u64::from(start);
        let is_tile = start % step == 0 && u64::from(length) == step.min(u64::from(side) - start);
        is_tile.then(|| ((start / step) as u32, u64::from(length).div_ceil(scale) as u32))
    };
    let (column, width) = place(region.x, region.width, dzi.size.width)?;
    let (row, height) = place(region.y, region.height, dzi.size.height)?;
    let object = PyramidObject::Tile { level, column, row, format: dzi.tile_format };
    Some(Tile { object, size: Size { width, height } })
}

/// The part of a region that lies in a picture.
fn cropped(region: Region, picture: Size) -> Result<Region, ImageRequestError> {
    let Region { x, y, width, height } = region;
    if x >= picture.width || y >= picture.height {
        return Err(ImageRequestError::Outside);
    }
    Ok(Region { x, y, width: width.min(picture.width - x), height: height.min(picture.height - y) })
}

fn is_size(asked: ImageSize, tile: Size, region: Region) -> bool {
    match asked {
        ImageSize::Max => tile == Size { width: region.width, height: region.height },
        ImageSize::Sides { width, height } => {
            width.is_none_or(|width| width == tile.width) && height.is_none_or(|height| height == tile.height)
        }
    }
}

/// The canonical path of a tile (section 4.7), below the base URI.
#[must_use]
pub fn canonical_path(object: PyramidObject, dzi: &Dzi) -> String {
    let PyramidObject::Tile { level, column, row, format } = object else { return String::new() };
    let scale = scale_factor(dzi, level);
    let span = |index: u32, side: u32| {
        let step = u64::from(dzi.tile_size) * scale;
        let start = u64::from(index) * step;
        (start, step.min(u64::from(side).saturating_sub(start)))
    };
    let ((x, width), (y, height)) = (span(column, dzi.size.width), span(row, dzi.size.height));
    let is_whole = width == u64::from(dzi.size.width) && height == u64::from(dzi.size.height);
    let region = if is_whole { "full".to_owned() } else { format!("{x},{y},{width},{height}") };
    let size = match (is_whole, scale) {
        (true, 1) => "max".to_owned(),
        _ => format!("{},{}", width.div_ceil(scale), height.div_ceil(scale)),
    };
    format!("{region}/{size}/0/default.{}", format.extension())
}

#[cfg(test)]
mod tests {
    use edgezoom_content::TileFormat;
    use proptest::prelude::*;

    use super::*;
    use crate::request::iiif::IiifRequest;

    fn dzi(width: u32, height: u32) -> Dzi {
        Dzi { size: Size { width, height }, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg }
    }

    fn find(path: &str, dzi: &Dzi) -> Result<(u32, u32, u32), ImageRequestError> {
        let Some(IiifRequest::Image(image)) = IiifRequest::parse(path) else { panic!("{path}") };
        match tile_of(&image?, dzi)? {
            PyramidObject::Tile { level, column, row, .. } => Ok((level, column, row)),
            PyramidObject::Descriptor | PyramidObject::Coarse(_) => panic!("{path}"),
        }
    }

    #[test]
    fn regions_that_are_tiles_are_found_in_the_size_of_their_level_alone() {
        let dzi = dzi(8001, 6000);
        for (path, tile) in [
            ("0,0,512,512/512,512/0/default.jpg", (13, 0, 0)),
            ("512,0,512,512/max/0/default.jpg", (13, 1, 0)),
            ("7680,5632,321,368/321,368/0/default.jpg", (13, 15, 11)),
            ("7680,5632,512,512/321,/0/default.jpg", (13, 15, 11)),
            ("7168,5120,833,880/417,440/0/default.jpg", (12, 7, 5)),
            ("full/501,375/0/default.jpg", (9, 0, 0)),
            ("0,0,8001,6000/501,375/0/default.jpg", (9, 0, 0)),
            ("full/,375/0/default.jpg", (9, 0, 0)),
            ("full/126,94/0/default.jpg", (7, 0, 0)),
            ("full/1,1/0/default.jpg", (0, 0, 0)),
        ] {
            assert_eq!(find(path, &dzi), Ok(tile), "{path}");
        }
        for path in [
            "full/max/0/default.jpg",
            "full/500,375/0/default.jpg",
            "full/1001,750/0/default.jpg",
            "0,0,512,512/256,256/0/default.jpg",
            "0,0,1024,1024/max/0/default.jpg",
            "1,0,512,512/512,512/0/default.jpg",
            "7168,5120,833,880/416,440/0/default.jpg",
            "0,0,512,512/512,512/0/default.png",
        ] {
            assert_eq!(find(path, &dzi), Err(ImageRequestError::NotImplemented), "{path}");
        }
        assert_eq!(find("8001,0,1,1/1,1/0/default.jpg", &dzi), Err(ImageRequestError::Outside));
        assert_eq!(find("0,0,512,512/513,512/0/default.jpg", &dzi), Err(ImageRequestError::Enlarged));
        assert_eq!(find("full/8002,/0/default.jpg", &dzi), Err(ImageRequestError::Enlarged));
    }

    #[test]
    fn a_picture_of_one_tile_is_there_at_its_full_size() {
        let dzi = dzi(512, 300);
        assert_eq!(find("full/max/0/default.jpg", &dzi), Ok((9, 0, 0)));
        assert_eq!(find("full/512,300/0/default.jpg", &dzi), Ok((9, 0, 0)));
        assert_eq!(least_level(&dzi), 9);
    }

    proptest! {
        #[test]
        fn every_tile_is_found_by_its_canonical_path(
            width in 1_u32..=1_000_000,
            height in 1_u32..=1_000_000,
            level in 0_u32..=20,
            right in 0.0..1.0_f64,
            down in 0.0..1.0_f64,
        ) {
            let dzi = dzi(width, height);
            let level = level.min(dzi.max_level());
            let (columns, rows) = dzi.grid(level);
            let (column, row) = ((f64::from(columns) * right) as u32, (f64::from(rows) * down) as u32);
            let object = PyramidObject::Tile { level, column, row, format: TileFormat::Jpg };
            prop_assert_eq!(find(&canonical_path(object, &dzi), &dzi), Ok((level, column, row)));
        }
    }
}
