//! A pyramid by IIIF's APIs, which name the stored tiles in another way: `info.json` of the Image API 3.0 (section 5),
//! a manifest of the Presentation API 3.0 (<https://iiif.io/api/presentation/3.0/>), and the tile or preview image that an
//! image request selects. The tiles must not overlap. The preview is the image at its maximum size, `full/max`, so that
//! clients without tiles have a picture too.

use edgezoom_content::{Content, ContentId, Dzi, Finished, PreviewKind, Size, TileFormat};
use http::StatusCode;

use crate::config::Addresses;
use crate::request::iiif::{ImageRequest, ImageRequestError, ImageSize, Region};
use crate::request::object_key::PyramidObject;
use crate::response::element::Element::{self, Count, Object, Printed, Text};
use crate::response::{CachePolicy, Response};

const IMAGE: &str = "http://iiif.io/api/image/3/context.json";
const PRESENTATION: &str = "http://iiif.io/api/presentation/3/context.json";

/// Minimum longer side, in pixels, of the sizes in `info.json`: smaller ones are of no use to clients.
const MIN_SIDE: u32 = 32;

/// Path of the image at its maximum size, below the base URI.
const MAX_PATH: &str = "full/max/0/default.jpg";

/// A stored image that an image request selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredImage {
    Tile(PyramidObject),
    /// The large preview.
    Preview,
}

impl StoredImage {
    /// Returns the canonical path below the base URI (section 4.7).
    pub fn canonical_path(self, dzi: &Dzi) -> String {
        match self {
            Self::Tile(tile) => canonical_path(tile, dzi),
            Self::Preview => MAX_PATH.to_owned(),
        }
    }
}

/// Returns the size of the stored preview; `None` if the tiler made none.
fn preview_size(Finished { dzi, previews, .. }: &Finished) -> Option<Size> {
    previews.as_ref().map(|_| PreviewKind::Large.size(dzi.size))
}

/// Returns the stored image that an image request selects.
///
/// # Errors
/// No stored image is exactly the requested one.
pub fn stored_image(request: &ImageRequest, finished: &Finished) -> Result<StoredImage, ImageRequestError> {
    let dzi = &finished.dzi;
    tile_of(request, dzi).map(StoredImage::Tile).or_else(|error| {
        let whole = whole(dzi);
        let is_preview = preview_size(finished).is_some_and(|size| {
            cropped(request.region.unwrap_or(whole), dzi.size) == Ok(whole)
                && (request.size == ImageSize::Max || is_size(request.size, size, whole))
                && request.format == TileFormat::Jpg
        });
        if is_preview { Ok(StoredImage::Preview) } else { Err(error) }
    })
}

/// Returns the description of the image, `info.json`.
pub fn description(id: ContentId, finished: &Finished, addresses: &Addresses) -> Response {
    let dzi = &finished.dzi;
    let one_tile = least_level(dzi);
    let useful = |level: &u32| {
        let size = dzi.level_size(*level);
        *level == one_tile || size.width.max(size.height) >= MIN_SIDE
    };
    // If there are as many sizes, the full one included, as scale factors, OpenSeadragon takes them for those of the levels.
    let max_size = preview_size(finished);
    let is_limited = max_size.is_some_and(|size| size != dzi.size);
    let most_sizes = match (is_limited, dzi.max_level() - one_tile + 1) {
        (false, levels) => levels.saturating_sub(2).max(1),
        (true, 3) => 2,
        (true, levels) => levels.saturating_sub(3).max(1),
    };
    let least = (one_tile + 1).saturating_sub(most_sizes);
    let levels = (least..=one_tile).filter(useful).map(|level| dzi.level_size(level));
    let max_size = max_size.filter(|size| *size != dzi.level_size(one_tile));
    let sizes = levels
        .chain(max_size)
        .map(|size| Object(vec![("width", Count(size.width.into())), ("height", Count(size.height.into()))]));
    let factors = (one_tile..=dzi.max_level()).rev().map(|level| Count(scale_factor(dzi, level)));
    let tiles = Object(vec![
        ("width", Count(dzi.tile_size.into())),
        ("height", Count(dzi.tile_size.into())),
        ("scaleFactors", list(factors)),
    ]);
    let features = ["baseUriRedirect", "canonicalLinkHeader", "cors", "jsonldMediaType", "profileLinkHeader"];
    let mut fields = vec![
        ("@context", text(IMAGE)),
        ("id", Text(addresses.iiif(id))),
        ("type", text("ImageService3")),
        ("protocol", text("http://iiif.io/api/image")),
        ("profile", text("level0")),
        ("width", Count(dzi.size.width.into())),
        ("height", Count(dzi.size.height.into())),
    ];
    if is_limited {
        // The same holds for the height.
        fields.push(("maxWidth", Count(PreviewKind::Large.long_side().into())));
    }
    fields.extend([("sizes", list(sizes)), ("tiles", list([tiles]))]);
    if dzi.tile_format == TileFormat::Png {
        fields.push(("preferredFormats", list([text("png")])));
        fields.push(("extraFormats", list([text("png")])));
    }
    fields.push(("extraFeatures", list(features.map(text))));
    document("application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\"", fields)
}

/// Returns the manifest, with one canvas and the picture's `name` as its label.
pub fn manifest(content: &Content, name: &str, addresses: &Addresses) -> Option<Response> {
    let finished = content.status.finished()?;
    let Finished { dzi, archive, .. } = finished;
    let (id, base) = (content.id, addresses.iiif(content.id));
    let here = |part: &str| Text(format!("{base}/{part}"));
    let sides = |width: u32, height: u32| [("width", Count(width.into())), ("height", Count(height.into()))];
    let service = || {
        let image =
            [("id", Text(base.clone())), ("type", text("ImageService3")), ("profile", text("level0"))];
        list([Object(image.into())])
    };
    let picture = |path: &str, size: Size, format: TileFormat| {
        let mut fields =
            vec![("id", here(path)), ("type", text("Image")), ("format", text(format.media_type()))];
        fields.extend(sides(size.width, size.height));
        fields.push(("service", service()));
        Object(fields)
    };
    let level = least_level(dzi);
    let object = PyramidObject::Tile { level, column: 0, row: 0, format: dzi.tile_format };
    let (one_tile, tile_size) = (canonical_path(object, dzi), dzi.level_size(level));
    // Clients without tiles show this image alone.
    let body = match preview_size(finished) {
        Some(size) => picture(MAX_PATH, size, TileFormat::Jpg),
        None => picture(&one_tile, tile_size, dzi.tile_format),
    };
    let annotation = Object(vec![
        ("id", here("annotation/1")),
        ("type", text("Annotation")),
        ("motivation", text("painting")),
        ("body", body),
        ("target", here("canvas/1")),
    ]);
    let page =
        Object(vec![("id", here("page/1")), ("type", text("AnnotationPage")), ("items", list([annotation]))]);
    let mut canvas = vec![("id", here("canvas/1")), ("type", text("Canvas"))];
    canvas.extend(sides(dzi.size.width, dzi.size.height));
    canvas.push(("items", list([page])));
    let source = Object(vec![
        ("label", in_language("en", "Source")),
        ("value", in_language("none", content.url.as_str())),
    ]);
    let homepage = Object(vec![
        ("id", Text(addresses.share(id))),
        ("type", text("Text")),
        ("label", in_language("en", "To zoom into")),
        ("format", text("text/html")),
    ]);
    let mut fields = vec![
        ("@context", text(PRESENTATION)),
        ("id", here("manifest.json")),
        ("type", text("Manifest")),
        ("label", in_language("none", name)),
        ("metadata", list([source])),
        ("homepage", list([homepage])),
        ("thumbnail", list([picture(&one_tile, tile_size, dzi.tile_format)])),
    ];
    if archive.is_some() {
        let download = Object(vec![
            ("id", Text(format!("{}/download", addresses.share(id)))),
            ("type", text("Dataset")),
            ("label", in_language("en", "Deep Zoom Image in one file")),
            ("format", text("application/zip")),
        ]);
        fields.push(("rendering", list([download])));
    }
    fields.push(("items", list([Object(canvas)])));
    let media_type = "application/ld+json;profile=\"http://iiif.io/api/presentation/3/context.json\"";
    Some(document(media_type, fields))
}

fn document(media_type: &'static str, fields: Vec<(&'static str, Element)>) -> Response {
    Response::new(StatusCode::OK, media_type, CachePolicy::OneHour, Object(fields).json()).tagged()
}

fn text(constant: &str) -> Element {
    Text(constant.to_owned())
}

/// Returns a language map with one text.
fn in_language(language: &'static str, value: &str) -> Element {
    Object(vec![(language, list([text(value)]))])
}

fn list(items: impl IntoIterator<Item = Element>) -> Element {
    let items: Vec<String> = items.into_iter().map(Element::json).collect();
    Printed(format!("[{}]", items.join(",")))
}

/// Returns the smallest level in `info.json`: the largest that is one tile.
fn least_level(dzi: &Dzi) -> u32 {
    (0..=dzi.max_level()).rev().find(|level| dzi.grid(*level) == (1, 1)).unwrap_or(0)
}

/// Returns the scale factor of a level: pixels of the full image per pixel of the level, in each direction.
fn scale_factor(dzi: &Dzi, level: u32) -> u64 {
    1 << dzi.max_level().saturating_sub(level).min(32)
}

/// Returns the tile that an image request selects. The region must be a tile of a level, or end with the image, times
/// the scale factor; the size must be that divided by the factor and rounded up, as the levels of a Deep Zoom Image are
/// (<https://iiif.io/api/image/3.0/implementation/#3-tile-region-parameter-calculation>).
///
/// # Errors
/// No stored tile is exactly the requested image.
fn tile_of(request: &ImageRequest, dzi: &Dzi) -> Result<PyramidObject, ImageRequestError> {
    let region = cropped(request.region.unwrap_or(whole(dzi)), dzi.size)?;
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

fn whole(dzi: &Dzi) -> Region {
    Region { x: 0, y: 0, width: dzi.size.width, height: dzi.size.height }
}

/// A tile with its size.
struct Tile {
    object: PyramidObject,
    size: Size,
}

/// Returns the tile of a level that shows exactly this region.
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

/// Returns the part of a region inside the image.
fn cropped(region: Region, image: Size) -> Result<Region, ImageRequestError> {
    let Region { x, y, width, height } = region;
    if x >= image.width || y >= image.height {
        return Err(ImageRequestError::Outside);
    }
    Ok(Region { x, y, width: width.min(image.width - x), height: height.min(image.height - y) })
}

fn is_size(asked: ImageSize, tile: Size, region: Region) -> bool {
    match asked {
        ImageSize::Max => tile == Size { width: region.width, height: region.height },
        ImageSize::Sides { width, height } => {
            width.is_none_or(|width| width == tile.width) && height.is_none_or(|height| height == tile.height)
        }
    }
}

/// Returns the canonical path of a tile below the base URI (section 4.7).
fn canonical_path(object: PyramidObject, dzi: &Dzi) -> String {
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
    fn a_tile_is_found_only_at_the_size_of_its_level() {
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
    fn an_image_of_one_tile_has_its_full_size() {
        let dzi = dzi(512, 300);
        assert_eq!(find("full/max/0/default.jpg", &dzi), Ok((9, 0, 0)));
        assert_eq!(find("full/512,300/0/default.jpg", &dzi), Ok((9, 0, 0)));
        assert_eq!(least_level(&dzi), 9);
    }

    #[test]
    fn the_image_at_its_maximum_size_is_the_preview() {
        use edgezoom_content::Previews;
        let with = |dzi| Finished { previews: Some(Previews::Objects), ..Finished::new(dzi) };
        let find = |path: &str, finished: &Finished| {
            let Some(IiifRequest::Image(Ok(image))) = IiifRequest::parse(path) else { panic!("{path}") };
            stored_image(&image, finished)
        };
        let large = with(dzi(8001, 6000));
        for path in
            ["full/max", "full/1200,900", "full/1200,", "full/,900", "0,0,8001,6000/max", "0,0,9000,9000/max"]
        {
            assert_eq!(find(&format!("{path}/0/default.jpg"), &large), Ok(StoredImage::Preview), "{path}");
        }
        for path in ["full/1200,901", "full/1199,", "0,0,8000,6000/max"] {
            let refused = Err(ImageRequestError::NotImplemented);
            assert_eq!(find(&format!("{path}/0/default.jpg"), &large), refused, "{path}");
        }
        assert_eq!(find("full/max/0/default.png", &large), Err(ImageRequestError::NotImplemented));
        assert!(matches!(find("full/501,375/0/default.jpg", &large), Ok(StoredImage::Tile(_))));
        assert_eq!(find("full/max/0/default.jpg", &with(dzi(1000, 800))), Ok(StoredImage::Preview));
        assert!(matches!(find("full/max/0/default.jpg", &with(dzi(500, 400))), Ok(StoredImage::Tile(_))));
        // A transparent picture has PNG tiles, and a JPEG on white.
        let transparent = with(Dzi { tile_format: TileFormat::Png, ..dzi(500, 400) });
        assert_eq!(find("full/max/0/default.jpg", &transparent), Ok(StoredImage::Preview));
        assert!(matches!(find("full/max/0/default.png", &transparent), Ok(StoredImage::Tile(_))));
    }

    /// OpenSeadragon counts the sizes below the full one, which it adds, and compares with the number of scale factors.
    #[test]
    fn sizes_are_not_taken_for_those_of_the_levels_unless_they_are() {
        let addresses = Addresses { base: String::new(), share: String::new(), cache: String::new() };
        for side in (1..=200).map(|step| step * 97) {
            for previews in [None, Some(edgezoom_content::Previews::Objects)] {
                let finished = Finished { previews, ..Finished::new(dzi(side, side * 2 / 3 + 1)) };
                let info = description("6qy4OXfXSid".parse().unwrap(), &finished, &addresses).body;
                let info: serde_json::Value = serde_json::from_str(&info).unwrap();
                let count = |list: &serde_json::Value| list.as_array().unwrap().len();
                let sizes = info["sizes"].as_array().unwrap();
                let has_full = sizes.iter().any(|size| size["width"] == side);
                let levels = count(&info["tiles"][0]["scaleFactors"]);
                let halves: Vec<_> =
                    sizes.iter().map(|size| f64::from(side) / size["width"].as_f64().unwrap()).collect();
                let are_levels =
                    halves.iter().all(|scale| (scale.log2() - scale.log2().round()).abs() < 0.01);
                assert!(sizes.len() + usize::from(!has_full) != levels || are_levels, "{side}: {info}");
                assert!(
                    sizes.windows(2).all(|two| two[0]["width"].as_u64() < two[1]["width"].as_u64()),
                    "{info}"
                );
                assert_eq!(info["maxWidth"].as_u64(), (previews.is_some() && side > 1200).then_some(1200));
            }
        }
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
