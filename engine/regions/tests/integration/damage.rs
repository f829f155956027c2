//! Tiles that are missing, damaged or others.

use edgezoom_regions::{Format, Plan, RenderError, Rendering, render};
use edgezoom_test_pictures::photograph;
use image::DynamicImage;
use proptest::prelude::*;

use crate::pyramid::{Kind, Pyramid, encode, rendering};

fn pyramid(kind: Kind) -> Pyramid {
    Pyramid::new(DynamicImage::ImageRgb8(photograph(150, 130, 5)).to_rgba8(), kind, 64, 0)
}

#[test]
fn the_number_of_tiles_must_be_that_of_the_plan() {
    let pyramid = pyramid(Kind::Jpeg420);
    let asked = rendering([0, 0, 150, 130], [150, 130]);
    let tiles = pyramid.tiles(&Plan::new(&pyramid.dzi, &asked).unwrap());
    let error = render(&pyramid.dzi, &asked, &tiles[1..]).unwrap_err();
    assert!(matches!(error, RenderError::Tiles { given: 8, planned: 9 }));
}

#[test]
fn a_tile_of_another_size_is_an_error() {
    for kind in [Kind::Png, Kind::Jpeg420, Kind::Jpeg444, Kind::GreyJpeg] {
        let pyramid = pyramid(kind);
        let asked = rendering([0, 0, 150, 130], [150, 130]);
        let mut tiles = pyramid.tiles(&Plan::new(&pyramid.dzi, &asked).unwrap());
        tiles[4] = tiles[5].clone();
        let error = render(&pyramid.dzi, &asked, &tiles).unwrap_err();
        assert_eq!(error.to_string(), "tile 1_1 of level 8 cannot be decoded");
    }
}

#[test]
fn tiles_of_several_kinds_are_one_picture() {
    let pyramid = pyramid(Kind::Jpeg420);
    let asked = rendering([0, 0, 150, 130], [150, 130]);
    let plan = Plan::new(&pyramid.dzi, &asked).unwrap();
    let mut tiles = pyramid.tiles(&plan);
    let source = photograph(150, 130, 5);
    let grey = image::imageops::crop_imm(&source, 64, 64, 64, 64).to_image();
    tiles[4] = encode(&DynamicImage::ImageRgb8(grey).to_rgba8(), Kind::GreyJpeg);
    let shown = image::load_from_memory(&render(&pyramid.dzi, &asked, &tiles).unwrap()).unwrap().to_rgb8();
    let [red, green, blue] = shown.get_pixel(100, 100).0;
    assert!(red == green && green == blue);
    let [shown, expected] = [&shown, &source].map(|picture| picture.get_pixel(10, 10).0[1]);
    assert!(shown.abs_diff(expected) < 20);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn damaged_tiles_are_an_error_or_a_picture(
        kind in prop_oneof![Just(Kind::Png), Just(Kind::Jpeg420), Just(Kind::Jpeg444), Just(Kind::GreyJpeg)],
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        end in any::<Option<prop::sample::Index>>(),
        in_header in any::<bool>(),
    ) {
        let pyramid = pyramid(kind);
        let asked = Rendering { format: Format::Jpg, ..rendering([5, 5, 120, 120], [60, 60]) };
        let mut tiles = pyramid.tiles(&Plan::new(&pyramid.dzi, &asked).unwrap());
        let tile = &mut tiles[0];
        for (place, value) in changes {
            let most = if in_header { tile.len().min(400) } else { tile.len() };
            tile[place.index(most)] = value;
        }
        if let Some(end) = end {
            tile.truncate(end.index(tile.len()));
        }
        if let Err(error) = render(&pyramid.dzi, &asked, &tiles) {
            let is_about_the_tile = matches!(error, RenderError::Tile { column: 0, row: 0, .. });
            prop_assert!(is_about_the_tile, "{}", error);
        }
    }
}
