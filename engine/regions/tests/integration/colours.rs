//! Colours, transparency and formats.

use edgezoom_regions::{Colours, Format, Rendering};
use edgezoom_test_pictures::{cutout, photograph};
use image::{ColorType, DynamicImage, ImageFormat, Rgba, RgbaImage};

use crate::pyramid::{Kind, Pyramid, decode, rendering};

fn opaque() -> RgbaImage {
    DynamicImage::ImageRgb8(photograph(256, 200, 1)).to_rgba8()
}

#[test]
fn files_are_of_the_format_and_colours_that_are_asked_for() {
    for kind in [Kind::Png, Kind::Jpeg420, Kind::Jpeg444, Kind::GreyJpeg] {
        let pyramid = Pyramid::new(opaque(), kind, 128, 0);
        for (format, name) in [
            (Format::Jpg, ImageFormat::Jpeg),
            (Format::Png, ImageFormat::Png),
            (Format::WebP, ImageFormat::WebP),
        ] {
            for colours in [Colours::Colour, Colours::Grey, Colours::Bitonal] {
                let file = pyramid
                    .render(&Rendering { format, colours, ..rendering([9, 9, 201, 133], [101, 67]) })
                    .unwrap();
                assert_eq!(image::guess_format(&file).unwrap(), name);
                let picture = decode(&file);
                assert_eq!((picture.width(), picture.height()), (101, 67));
                let is_grey = colours != Colours::Colour || kind == Kind::GreyJpeg;
                if format != Format::WebP {
                    assert_eq!(picture.color() == ColorType::L8, is_grey, "{kind:?} {format:?} {colours:?}");
                }
                if colours == Colours::Bitonal && format != Format::Jpg {
                    assert!(picture.to_luma8().pixels().all(|pixel| matches!(pixel.0, [0 | 255])));
                }
            }
        }
    }
}

#[test]
fn grey_is_luma_of_bt_601() {
    for (colour, grey) in [([255, 0, 0], 76), ([0, 255, 0], 150), ([0, 0, 255], 29), ([255, 255, 255], 255)] {
        let [red, green, blue] = colour;
        let flat = RgbaImage::from_pixel(64, 64, Rgba([red, green, blue, 255]));
        for kind in [Kind::Png, Kind::Jpeg420, Kind::Jpeg444] {
            let pyramid = Pyramid::new(flat.clone(), kind, 64, 0);
            let shown =
                pyramid.show(&Rendering { colours: Colours::Grey, ..rendering([0, 0, 64, 64], [20, 20]) });
            assert!(shown.to_luma8().get_pixel(10, 10).0[0].abs_diff(grey) <= 1, "{kind:?} {colour:?}");
        }
    }
}

#[test]
fn a_bitonal_png_has_one_bit_a_pixel() {
    let pyramid = Pyramid::new(opaque(), Kind::Jpeg420, 128, 0);
    let asked = Rendering { colours: Colours::Bitonal, ..rendering([0, 0, 200, 200], [99, 99]) };
    let file = pyramid.render(&asked).unwrap();
    assert_eq!(&file[24..26], [1, 0], "depth and colour type");
    let grey = pyramid.show(&Rendering { colours: Colours::Grey, ..asked }).to_luma8();
    let bits = pyramid.show(&asked).to_luma8();
    assert!(grey.pixels().zip(bits.pixels()).all(|(grey, bit)| (grey.0[0] >= 128) == (bit.0[0] == 255)));
}

#[test]
fn transparency_is_kept_and_is_white_in_jpeg() {
    let source = cutout(256, 256, 2);
    let pyramid = Pyramid::new(source.clone(), Kind::Png, 128, 1);
    for format in [Format::Png, Format::WebP] {
        let shown = pyramid.show(&Rendering { format, ..rendering([0, 0, 256, 256], [256, 256]) }).to_rgba8();
        for (shown, source) in shown.pixels().zip(source.pixels()) {
            assert_eq!(shown.0[3], source.0[3]);
            // Colours are multiplied with alpha meanwhile.
            let tolerance = 255_u32.checked_div(source.0[3].into()).map_or(255, |steps| steps as u8);
            assert!((0..3).all(|channel| shown.0[channel].abs_diff(source.0[channel]) <= tolerance));
        }
    }
    let half = pyramid.show(&Rendering { colours: Colours::Grey, ..rendering([0, 0, 256, 256], [128, 128]) });
    assert_eq!(half.color(), ColorType::La8);
    // One cell is transparent.
    let jpeg =
        pyramid.show(&Rendering { format: Format::Jpg, ..rendering([70, 70, 50, 50], [50, 50]) }).to_rgb8();
    assert!(jpeg.pixels().all(|pixel| pixel.0 == [255; 3]));
}

#[test]
fn transparent_pixels_do_not_bleed_into_others() {
    let source =
        RgbaImage::from_fn(
            128,
            128,
            |x, _| if x < 64 { Rgba([200, 100, 50, 255]) } else { Rgba([0, 255, 0, 0]) },
        );
    let shown =
        Pyramid::new(source, Kind::Png, 128, 0).show(&rendering([40, 40, 60, 60], [45, 45])).to_rgba8();
    for pixel in shown.pixels().filter(|pixel| pixel.0[3] > 40) {
        assert!(pixel.0[0].abs_diff(200) <= 4 && pixel.0[1].abs_diff(100) <= 4, "{pixel:?}");
    }
}
