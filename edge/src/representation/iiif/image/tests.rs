//! Which image a request selects, with and without rendering.

use proptest::prelude::*;

use super::*;
use crate::request::iiif::IiifRequest;

fn dzi(width: u32, height: u32) -> Dzi {
    Dzi { size: Size { width, height }, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg }
}

fn parse(path: &str) -> ImageRequest {
    let Some(IiifRequest::Image(Ok(image))) = IiifRequest::parse(path) else { panic!("{path}") };
    image
}

fn stored_in(dzi: &Dzi, path: &str, renders: bool) -> Result<Option<StoredImage>, ImageRequestError> {
    select(&parse(path), dzi, renders).map(|image| image.stored)
}

fn tile_of(path: &str, dzi: Dzi, renders: bool) -> Result<Option<(u32, u32, u32)>, ImageRequestError> {
    Ok(match stored_in(&dzi, path, renders)? {
        Some(StoredImage::Tile(PyramidObject::Tile { level, column, row, .. })) => Some((level, column, row)),
        None => None,
        Some(other) => panic!("{path}: {other:?}"),
    })
}

#[test]
fn a_tile_is_found_only_at_the_size_of_its_level() {
    let dzi = dzi(8001, 6000);
    for (path, tile) in [
        ("0,0,512,512/512,512/0/default.jpg", (13, 0, 0)),
        ("512,0,512,512/max/0/default.jpg", (13, 1, 0)),
        ("7680,5632,321,368/321,368/0/default.jpg", (13, 15, 11)),
        ("7680,5632,512,512/321,/0/color.jpg", (13, 15, 11)),
        ("7168,5120,833,880/417,440/0/default.jpg", (12, 7, 5)),
        ("7168,5120,833,880/417,/0/default.jpg", (12, 7, 5)),
        ("full/501,375/0/default.jpg", (9, 0, 0)),
        ("0,0,8001,6000/501,375/0/default.jpg", (9, 0, 0)),
        ("full/,375/0/default.jpg", (9, 0, 0)),
        ("full/126,94/0/default.jpg", (7, 0, 0)),
        ("full/1,1/0/default.jpg", (0, 0, 0)),
    ] {
        assert_eq!(tile_of(path, dzi, false), Ok(Some(tile)), "{path}");
        assert_eq!(tile_of(path, dzi, true), Ok(Some(tile)), "{path}");
    }
    for path in [
        "full/500,375/0/default.jpg",
        "full/1001,750/0/default.jpg",
        "0,0,512,512/256,256/0/default.jpg",
        "0,0,1024,1024/max/0/default.jpg",
        "1,0,512,512/512,512/0/default.jpg",
        "7168,5120,833,880/416,440/0/default.jpg",
        "0,0,512,512/512,512/0/default.png",
        "0,0,512,512/512,512/90/default.jpg",
        "0,0,512,512/512,512/!0/default.jpg",
        "0,0,512,512/512,512/0/gray.jpg",
        "square/500,/0/default.jpg",
        "full/pct:10/0/default.jpg",
        "full/^max/0/default.jpg",
    ] {
        assert_eq!(tile_of(path, dzi, false), Err(NotStored), "{path}");
        assert_eq!(tile_of(path, dzi, true), Ok(None), "{path}");
    }
    for renders in [false, true] {
        assert_eq!(tile_of("8001,0,1,1/1,1/0/default.jpg", dzi, renders), Err(Outside));
        assert_eq!(tile_of("0,0,512,512/513,512/0/default.jpg", dzi, renders), Err(Enlarged));
        assert_eq!(tile_of("full/8002,/0/default.jpg", dzi, renders), Err(Enlarged));
    }
    // Other words for stored sizes.
    assert_eq!(tile_of("full/!501,501/0/default.jpg", dzi, true), Ok(None), "501 × 376 by rounding");
    assert_eq!(tile_of("full/!512,375/0/default.jpg", dzi, true), Ok(None), "500 × 375 by rounding");
    assert_eq!(tile_of("pct:0,0,6.4,8.5333/512,512/0/default.jpg", dzi, true), Ok(Some((13, 0, 0))));
    assert_eq!(tile_of("0,0,512,512/^512,512/0/default.jpg", dzi, true), Ok(Some((13, 0, 0))));
}

#[test]
fn tiles_with_overlap_are_not_parts_of_the_picture() {
    let dzi = Dzi { tile_size: 254, tile_overlap: 1, ..dzi(1000, 800) };
    assert_eq!(tile_of("0,0,254,254/254,254/0/default.jpg", dzi, true), Ok(None));
    assert_eq!(tile_of("full/250,200/0/default.jpg", dzi, true), Ok(Some((8, 0, 0))), "one tile has none");
}

#[test]
fn an_image_of_one_tile_has_its_full_size() {
    for renders in [false, true] {
        for path in ["full/max/0/default.jpg", "full/512,300/0/default.jpg"] {
            assert_eq!(tile_of(path, dzi(512, 300), renders), Ok(Some((9, 0, 0))));
        }
    }
}

#[test]
fn without_rendering_the_image_at_its_maximum_size_is_the_preview() {
    let find = |path: &str, dzi: &Dzi| stored_in(dzi, path, false);
    let large = dzi(8001, 6000);
    for path in
        ["full/max", "full/1200,900", "full/1200,", "full/,900", "0,0,8001,6000/max", "0,0,9000,9000/max"]
    {
        let path = format!("{path}/0/default.jpg");
        let image = select(&parse(&path), &large, false).unwrap();
        assert_eq!(image.stored, Some(StoredImage::Preview), "{path}");
        assert_eq!(canonical_path(&image.rendering, &large, false), "full/max/0/default.jpg");
    }
    for path in ["full/1200,901", "full/1199,", "0,0,8000,6000/max"] {
        assert_eq!(find(&format!("{path}/0/default.jpg"), &large), Err(NotStored), "{path}");
    }
    assert_eq!(find("full/max/0/default.png", &large), Err(NotStored));
    assert!(matches!(find("full/501,375/0/default.jpg", &large), Ok(Some(StoredImage::Tile(_)))));
    let preview = Ok(Some(StoredImage::Preview));
    assert_eq!(find("full/max/0/default.jpg", &dzi(1000, 800)), preview);
    let small = dzi(500, 400);
    assert!(matches!(find("full/max/0/default.jpg", &small), Ok(Some(StoredImage::Tile(_)))));
    // A transparent picture has PNG tiles, and a JPEG on white.
    let transparent = Dzi { tile_format: TileFormat::Png, ..dzi(500, 400) };
    assert_eq!(find("full/max/0/default.jpg", &transparent), preview);
    assert!(matches!(find("full/max/0/default.png", &transparent), Ok(Some(StoredImage::Tile(_)))));
}

#[test]
fn with_rendering_the_preview_is_the_image_at_its_own_size() {
    let large = dzi(8001, 6000);
    for path in ["full/1200,900", "full/1200,", "full/,900", "full/!1200,1200", "0,0,8001,6000/1200,"] {
        let image = select(&parse(&format!("{path}/0/default.jpg")), &large, true).unwrap();
        assert_eq!(image.stored, Some(StoredImage::Preview), "{path}");
        assert_eq!(canonical_path(&image.rendering, &large, true), "full/1200,900/0/default.jpg");
    }
    assert_eq!(stored_in(&large, "full/max/0/default.jpg", true), Ok(None));
    let preview = Ok(Some(StoredImage::Preview));
    assert_eq!(stored_in(&dzi(1000, 800), "full/max/0/default.jpg", true), preview);
}

/// Returns the canonical path of a request for a picture of 6,000 × 4,000 pixels.
fn canonical(path: &str) -> Result<String, ImageRequestError> {
    let dzi = dzi(6000, 4000);
    let image = select(&parse(path), &dzi, true)?;
    Ok(canonical_path(&image.rendering, &dzi, true))
}

#[test]
fn an_image_has_one_canonical_path() {
    for (path, one) in [
        ("full/max/0/default.jpg", "full/max/0/default.jpg"),
        ("0,0,6000,4000/1732,1154/360/color.jpg", "full/max/0/default.jpg"),
        ("0,0,9999,9999/!1732,9999/0/default.jpg", "full/max/0/default.jpg"),
        ("pct:0,0,100,100/max/0.0/default.jpg", "full/max/0/default.jpg"),
        ("full/^max/!90/gray.png", "full/max/!90/gray.png"),
        ("square/!300,200/0/default.webp", "1000,0,4000,4000/200,200/0/default.webp"),
        ("1000,0,4000,4000/max/270/bitonal.png", "1000,0,4000,4000/1414,1414/270/bitonal.png"),
        ("10,20,300,200/pct:50/0/default.jpg", "10,20,300,200/150,100/0/default.jpg"),
        ("10,20,300,200/^pct:200/0/default.jpg", "10,20,300,200/^600,400/0/default.jpg"),
        ("10,20,300,200/^max/0/default.jpg", "10,20,300,200/^1732,1154/0/default.jpg"),
        ("10,20,300,200/^150,/0/default.jpg", "10,20,300,200/150,100/0/default.jpg"),
        ("10,20,300,200/^!600,600/0/default.jpg", "10,20,300,200/^600,400/0/default.jpg"),
        ("10,20,300,200/,1/0/default.jpg", "10,20,300,200/2,1/0/default.jpg"),
        ("0,0,3000,2/100,/0/default.jpg", "0,0,3000,2/100,1/0/default.jpg"),
        ("5990,3990,300,200/300,/0/default.jpg", "Enlarged"),
        ("full/2049,/0/default.jpg", "TooLarge"),
        ("full/,1500/0/default.jpg", "TooLarge"),
        ("full/pct:50/0/default.jpg", "TooLarge"),
        ("6000,0,10,10/max/0/default.jpg", "Outside"),
        ("pct:100,0,10,10/max/0/default.jpg", "Outside"),
        ("10,20,300,200/301,/0/default.jpg", "Enlarged"),
        ("10,20,300,200/!301,201/0/default.jpg", "Enlarged"),
        ("10,20,300,200/!301,200/0/default.jpg", "10,20,300,200/300,200/0/default.jpg"),
    ] {
        let found = canonical(path).unwrap_or_else(|error| format!("{error:?}"));
        assert_eq!(found, one, "{path}");
    }
}

#[test]
fn the_maximum_size_is_within_all_limits() {
    for (width, height) in
        [(6000, 4000), (100, 1_000_000), (1_000_000, 1), (2048, 976), (2048, 977), (1414, 1415)]
    {
        for upscaled in [false, true] {
            let size = max_size(&dzi(width, height), true, upscaled);
            assert!(
                size.width <= MAX_SIDE && size.height <= MAX_SIDE && size.pixels() <= MAX_PIXELS,
                "{size:?}"
            );
            assert!(upscaled || size.width <= width && size.height <= height);
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
        renders: bool,
    ) {
        let dzi = dzi(width, height);
        let level = level.min(dzi.max_level());
        let (columns, rows) = dzi.grid(level);
        let (column, row) = ((f64::from(columns) * right) as u32, (f64::from(rows) * down) as u32);
        let span = |index: u32, side: u32| {
            let step = 512 * scale_factor(&dzi, level);
            let start = u64::from(index) * step;
            (start as u32, step.min(u64::from(side) - start) as u32)
        };
        let ((left, width), (top, height)) = (span(column, width), span(row, height));
        let (object, size) = tile_at(level, Region { left, top, width, height }, &dzi).unwrap();
        prop_assert_eq!(object, PyramidObject::Tile { level, column, row, format: TileFormat::Jpg });
        let rendering = plain(Region { left, top, width, height }, size, Format::Jpg);
        let path = canonical_path(&rendering, &dzi, renders);
        prop_assert_eq!(tile_of(&path, dzi, renders), Ok(Some((level, column, row))));
    }

    #[test]
    fn a_canonical_path_is_canonical(
        (width, height) in (1_u32..=100_000, 1_u32..=100_000),
        region in prop_oneof![
            Just("full".to_owned()),
            Just("square".to_owned()),
            (0_u32..2000, 0_u32..2000, 1_u32..9000, 1_u32..9000).prop_map(|(x, y, w, h)| format!("{x},{y},{w},{h}")),
            (0.0..99.0_f64, 0.0..99.0_f64, 0.1..99.0_f64, 0.1..99.0_f64).prop_map(|(x, y, w, h)| format!("pct:{x:.2},{y:.2},{w:.2},{h:.2}")),
        ],
        size in prop_oneof![
            Just("max".to_owned()),
            Just("^max".to_owned()),
            (1_u32..2048, 1_u32..2048).prop_map(|(w, h)| format!("!{w},{h}")),
            (1_u32..2048, 1_u32..2048).prop_map(|(w, h)| format!("^{w},{h}")),
            (1_u32..2048).prop_map(|w| format!("^{w},")),
            (1_u32..2048).prop_map(|h| format!(",{h}")),
            (0.1..100.0_f64).prop_map(|n| format!("pct:{n:.2}")),
        ],
        rest in prop_oneof![Just("0/default.jpg"), Just("!90/gray.png"), Just("270/bitonal.webp")],
        overlap in 0_u32..2,
    ) {
        let dzi = Dzi { tile_overlap: overlap, ..dzi(width, height) };
        if let Ok(image) = select(&parse(&format!("{region}/{size}/{rest}")), &dzi, true) {
            let path = canonical_path(&image.rendering, &dzi, true);
            let again = select(&parse(&path), &dzi, true);
            prop_assert_eq!(again, Ok(image), "{}", path);
            let planned = edgezoom_regions::Plan::new(&dzi, &image.rendering);
            prop_assert!(planned.is_ok(), "{} {:?}", path, planned);
        }
    }
}
