//! Every pixel comes from its place: at any size, turned, from tiles of any size.

use edgezoom_regions::{Colours, Format, Rendering, Turn};
use edgezoom_test_pictures::photograph;
use image::imageops::{crop_imm, flip_horizontal, rotate90, rotate180, rotate270};
use image::{DynamicImage, GrayImage, RgbImage, RgbaImage};
use proptest::prelude::*;

use crate::pyramid::{Kind, Pyramid, rendering};

fn picture(width: u32, height: u32) -> RgbaImage {
    DynamicImage::ImageRgb8(photograph(width, height, 3)).to_rgba8()
}

/// A region of a picture, and a size.
fn request(width: u32, height: u32) -> impl Strategy<Value = ([u32; 4], [u32; 2])> {
    let side = |side: u32| (0..side).prop_flat_map(move |from| (Just(from), 1..=side - from));
    (side(width), side(height), 1..=200_u32, 1..=200_u32)
        .prop_map(|((left, w), (top, h), across, down)| ([left, top, w, h], [across, down]))
}

fn largest_difference(one: &RgbImage, other: &RgbImage) -> u8 {
    assert_eq!(one.dimensions(), other.dimensions());
    one.as_raw().iter().zip(other.as_raw()).map(|(one, other)| one.abs_diff(*other)).max().unwrap_or(0)
}

#[test]
fn a_region_of_the_full_picture_has_its_pixels() {
    let source = picture(300, 200);
    let png = Pyramid::new(source.clone(), Kind::Png, 64, 1);
    for region in [[0, 0, 300, 200], [1, 2, 3, 4], [63, 65, 130, 131], [299, 199, 1, 1]] {
        let [left, top, width, height] = region;
        let shown = png.show(&rendering(region, [width, height])).to_rgba8();
        assert_eq!(shown, crop_imm(&source, left, top, width, height).to_image());
    }
}

#[test]
fn a_turn_is_that_of_the_picture_after_mirroring() {
    for (kind, tile_size) in [(Kind::Png, 100), (Kind::Jpeg420, 128), (Kind::GreyJpeg, 77)] {
        let pyramid = Pyramid::new(picture(401, 300), kind, tile_size, 0);
        for (region, size) in
            [([3, 5, 350, 251], [101, 64]), ([0, 0, 401, 300], [401, 300]), ([9, 9, 64, 48], [99, 77])]
        {
            let plain = rendering(region, size);
            for colours in [Colours::Colour, Colours::Grey] {
                let upright = pyramid.show(&Rendering { colours, ..plain }).to_rgb8();
                for mirrored in [false, true] {
                    let upright = if mirrored { flip_horizontal(&upright) } else { upright.clone() };
                    for turn in Turn::ALL {
                        let expected = match turn {
                            Turn::None => upright.clone(),
                            Turn::Right => rotate90(&upright),
                            Turn::Half => rotate180(&upright),
                            Turn::Left => rotate270(&upright),
                        };
                        let shown = pyramid.show(&Rendering { turn, mirrored, colours, ..plain }).to_rgb8();
                        // Weights are rounded, and one of them makes up for it.
                        assert!(largest_difference(&shown, &expected) <= 2, "{kind:?} {turn:?} {mirrored}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_jpeg_is_turned_with_its_halved_chroma() {
    let pyramid = Pyramid::new(picture(401, 301), Kind::Jpeg420, 128, 0);
    let plain = Rendering { format: Format::Jpg, ..rendering([4, 2, 395, 291], [201, 147]) };
    let upright = pyramid.show(&plain).to_rgb8();
    let expected = rotate90(&flip_horizontal(&upright));
    let shown = pyramid.show(&Rendering { turn: Turn::Right, mirrored: true, ..plain }).to_rgb8();
    let differences =
        shown.as_raw().iter().zip(expected.as_raw()).map(|(one, other)| u64::from(one.abs_diff(*other)));
    assert!(differences.sum::<u64>() < 2 * shown.as_raw().len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn tiles_of_any_size_give_the_same_picture(
        (width, height) in (1..200_u32, 1..200_u32),
        (region, size) in request(199, 199),
        (tile_size, overlap) in (20..150_u32, 0..4_u32),
    ) {
        let source = picture(width, height);
        let region = [region[0] % width, region[1] % height, region[2], region[3]];
        let region = [region[0], region[1], region[2].min(width - region[0]), region[3].min(height - region[1])];
        let plain = rendering(region, size);
        let whole = Pyramid::new(source.clone(), Kind::Png, 256, 0).show(&plain);
        let tiled = Pyramid::new(source, Kind::Png, tile_size, overlap);
        prop_assume!(edgezoom_regions::Plan::new(&tiled.dzi, &plain).unwrap().tile_count() < 40);
        prop_assert_eq!(tiled.show(&plain), whole);
    }

    #[test]
    fn a_flat_picture_stays_as_it_is(
        (region, size) in request(300, 200),
        colour in any::<[u8; 3]>(),
        turn in (0..4_usize).prop_map(|turn| Turn::ALL[turn]),
        mirrored in any::<bool>(),
    ) {
        let [red, green, blue] = colour;
        let source = RgbaImage::from_pixel(300, 200, image::Rgba([red, green, blue, 255]));
        let pyramid = Pyramid::new(source, Kind::Png, 128, 1);
        let asked = Rendering { turn, mirrored, ..rendering(region, size) };
        let shown = pyramid.show(&asked).to_rgb8();
        let turned = asked.turned_size();
        prop_assert_eq!(shown.dimensions(), (turned.width, turned.height));
        prop_assert!(shown.pixels().all(|pixel| pixel.0 == colour));
    }

    #[test]
    fn jpegs_of_halved_chroma_show_what_those_of_full_chroma_show((region, size) in request(300, 200)) {
        let source = DynamicImage::ImageLuma8(GrayImage::from_fn(300, 200, |x, y| image::Luma([(x / 2 + y / 2) as u8])));
        let tinted = RgbaImage::from_fn(300, 200, |x, y| {
            let light = source.as_luma8().unwrap().get_pixel(x, y).0[0];
            image::Rgba([light / 2 + 100, light / 2 + 20, 90, 255])
        });
        let [halved, full] = [Kind::Jpeg420, Kind::Jpeg444]
            .map(|kind| Pyramid::new(tinted.clone(), kind, 128, 0).show(&rendering(region, size)).to_rgb8());
        prop_assert!(largest_difference(&halved, &full) <= 12);
    }
}
