//! Decodes every format and compares the result with the picture that was encoded.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use edgezoom_codecs::Layout;

use edgezoom_test_support::files::{self, Jpeg, decode, exif};
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::{Picture, files::BOUNDS};

/// Accepted difference for a JPEG of quality 95 without chroma subsampling.
const JPEG: Tolerance = Tolerance::lossy(1.7, 8, 1.8);
const CMYK_JPEG: Tolerance = Tolerance::up_to(3);

/// Returns the stored picture, rotated and mirrored according to its EXIF orientation.
fn upright(stored: &Picture, orientation: u8) -> Picture {
    let (w, h) = (stored.width, stored.height);
    let (width, height) = if orientation >= 5 { (h, w) } else { (w, h) };
    Picture::new(width, height, stored.layout, |x, y| {
        let (x, y) = match orientation {
            1 => (x, y),
            2 => (w - 1 - x, y),
            3 => (w - 1 - x, h - 1 - y),
            4 => (x, h - 1 - y),
            5 => (y, x),
            6 => (y, h - 1 - x),
            7 => (w - 1 - y, h - 1 - x),
            _ => (w - 1 - y, x),
        };
        let mut pixel = [0; 4];
        pixel[..stored.layout.channels()].copy_from_slice(stored.at(x, y));
        pixel
    })
}

#[test]
fn jpeg_in_colour_and_grey_is_decoded_baseline_and_progressive() {
    for layout in [Layout::Rgb, Layout::Grey] {
        let picture = Picture::photo(333, 217, layout);
        for progressive in [false, true] {
            let read = decode(&files::jpeg(&picture, Jpeg { progressive, exif: None })).unwrap();
            compare(&read, &picture, JPEG)
                .unwrap_or_else(|why| panic!("{layout:?}, progressive {progressive}: {why}"));
        }
    }
}

/// Converts a CMYK picture, in which 255 is full ink, to RGB without a profile.
fn cmyk_to_rgb(cmyk: &Picture) -> Picture {
    Picture::new(cmyk.width, cmyk.height, Layout::Rgb, |x, y| {
        let &[cyan, magenta, yellow, black] = cmyk.at(x, y) else { panic!("four channels") };
        let channel = |ink: u8| ((255 - u32::from(ink)) * (255 - u32::from(black)) / 255) as u8;
        [channel(cyan), channel(magenta), channel(yellow), 0]
    })
}

#[test]
fn jpeg_in_cmyk_becomes_rgb_and_is_inverted_with_and_without_adobes_marker() {
    let cmyk = Picture::photo(120, 80, Layout::Rgba);
    let expected = cmyk_to_rgb(&cmyk);
    // libjpeg always writes an Adobe marker.
    let inverted = Picture { pixels: cmyk.pixels.iter().map(|ink| 255 - ink).collect(), ..cmyk.clone() };
    let adobe = files::jpeg(&inverted, Jpeg::default());
    compare(&decode(&adobe).unwrap(), &expected, CMYK_JPEG).unwrap();

    // Chromium, libvips and Pillow do not look for it.
    let mut plain = files::jpeg(&inverted, Jpeg::default());
    let marker = plain.windows(9).position(|window| window == b"\xff\xee\0\x0eAdobe").unwrap();
    plain.drain(marker..marker + 16);
    compare(&decode(&plain).unwrap(), &expected, CMYK_JPEG).unwrap();
}

#[test]
fn jpeg_in_ycck_and_in_cmyk_look_the_same() {
    let cmyk = Picture::photo(120, 80, Layout::Rgba);
    let expected = cmyk_to_rgb(&cmyk);
    let inverted: Vec<u8> = cmyk.pixels.iter().map(|ink| 255 - ink).collect();
    let mut encoder = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_CMYK);
    encoder.set_size(120, 80);
    encoder.set_fastest_defaults();
    encoder.set_color_space(mozjpeg::ColorSpace::JCS_YCCK);
    encoder.set_quality(95.0);
    let mut encoder = encoder.start_compress(Vec::new()).unwrap();
    encoder.write_scanlines(&inverted).unwrap();
    let file = encoder.finish().unwrap();
    let transform = file.windows(5).position(|window| window == b"Adobe").unwrap() + 11;
    assert_eq!(file[transform], 2, "the file is stored as YCCK");
    compare(&decode(&file).unwrap(), &expected, CMYK_JPEG).unwrap();
}

#[test]
fn an_animated_png_shows_its_first_picture() {
    let [first, second] = [Picture::noise(40, 30, Layout::Rgb), Picture::photo(40, 30, Layout::Rgb)];
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 40, 30);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_animated(2, 0).unwrap();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&first.pixels).unwrap();
    writer.write_image_data(&second.pixels).unwrap();
    writer.finish().unwrap();
    assert_eq!(decode(&file).unwrap(), first);
}

#[test]
fn png_is_decoded_in_all_layouts() {
    for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
        let picture = Picture::noise(133, 71, layout);
        assert_eq!(decode(&files::png(&picture, |_| {})).unwrap(), picture);
    }
}

#[test]
fn png_with_16_bits_is_rounded_to_8() {
    let picture = Picture::noise(50, 40, Layout::Rgb);
    let stored = Picture { width: 25, ..picture.clone() };
    let read = decode(&files::png(&stored, |info| info.bit_depth = png::BitDepth::Sixteen)).unwrap();
    let rounded = picture.pixels.chunks(2).map(|pair| {
        let sample = u16::from_be_bytes([pair[0], pair[1]]);
        (f64::from(sample) / 257.0).round() as u8
    });
    assert_eq!(read, Picture { width: 25, pixels: rounded.collect(), ..picture });
}

#[test]
fn png_in_grey_with_alpha_becomes_rgba() {
    let stored = Picture { width: 30, ..Picture::noise(60, 20, Layout::Grey) };
    let read = decode(&files::png(&stored, |info| info.color_type = png::ColorType::GrayscaleAlpha)).unwrap();
    let pixels = stored.pixels.chunks(2).flat_map(|pair| [pair[0], pair[0], pair[0], pair[1]]).collect();
    assert_eq!(read, Picture { layout: Layout::Rgba, pixels, ..stored });
}

#[test]
fn png_with_a_palette_and_a_transparent_colour_is_decoded() {
    let indices = Picture::new(40, 30, Layout::Grey, |x, y| [((x + y) % 3) as u8, 0, 0, 0]);
    let palette = vec![10, 20, 30, 40, 50, 60, 70, 80, 90];
    let indexed = |info: &mut png::Info<'static>| {
        info.color_type = png::ColorType::Indexed;
        info.palette = Some(palette.clone().into());
    };
    let read = decode(&files::png(&indices, indexed)).unwrap();
    let colours = |index: &u8| palette[usize::from(*index) * 3..][..3].to_vec();
    assert_eq!((read.layout, read.pixels), (Layout::Rgb, indices.pixels.iter().flat_map(colours).collect()));

    let read = decode(&files::png(&indices, |info| {
        indexed(info);
        info.trns = Some(vec![255, 0, 128].into());
    }))
    .unwrap();
    assert_eq!(read.layout, Layout::Rgba);
    assert_eq!((read.at(0, 0)[3], read.at(1, 0)[3], read.at(2, 0)[3]), (255, 0, 128));
}

#[test]
fn interlaced_png_is_decoded() {
    // Written by libvips: 5×3 orange pixels, 16 bits, Adam7.
    let picture = decode(include_bytes!("pictures/interlaced.png")).unwrap();
    assert_eq!((picture.width, picture.height, picture.layout), (5, 3, Layout::Rgb));
    assert!(picture.pixels.chunks(3).all(|pixel| pixel == [255, 128, 0]), "{:?}", picture.pixels);
}

#[test]
fn webp_is_decoded_with_and_without_alpha() {
    for layout in [Layout::Rgb, Layout::Rgba] {
        let picture = Picture::noise(90, 60, layout);
        assert_eq!(decode(&files::webp(&picture, None)).unwrap(), picture);
    }
}

#[test]
fn bmp_stored_from_the_bottom_up_is_decoded_from_the_top_down() {
    let picture = Picture::noise(91, 60, Layout::Rgb);
    assert_eq!(decode(&files::bmp(&picture)).unwrap(), picture);
}

#[test]
fn a_gif_frame_that_fills_its_canvas_is_opaque() {
    let picture = Picture::noise(61, 40, Layout::Grey);
    let frame = gif::Frame::from_indexed_pixels(61, 40, picture.pixels.clone(), None);
    let read = decode(&files::gif((61, 40), &frame)).unwrap();
    assert_eq!(read.layout, Layout::Rgb);
    assert!(read.pixels.chunks(3).zip(&picture.pixels).all(|(pixel, &grey)| pixel == [grey; 3]));
}

#[test]
fn a_smaller_gif_frame_is_surrounded_by_transparency() {
    let mut frame =
        gif::Frame::from_indexed_pixels(4, 4, vec![9, 7, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9], Some(7));
    (frame.left, frame.top) = (2, 1);
    let read = decode(&files::gif((5, 8), &frame)).unwrap();
    assert_eq!(
        (read.width, read.height, read.layout),
        (6, 8, Layout::Rgba),
        "the canvas grows to hold the frame"
    );
    assert_eq!(read.at(0, 0), [0; 4]);
    assert_eq!(read.at(2, 1), [9, 9, 9, 255]);
    assert_eq!(read.at(3, 1), [0; 4], "the frame's own transparent pixel");
    assert_eq!(read.at(5, 4), [9, 9, 9, 255]);
}

#[test]
fn tiff_is_decoded_in_all_layouts_and_strip_heights() {
    for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
        let picture = Picture::noise(100, 77, layout);
        for rows in [1, 7, 16, 77] {
            assert_eq!(
                decode(&files::tiff(&picture, rows, None)).unwrap(),
                picture,
                "{layout:?}, {rows} rows"
            );
        }
    }
}

#[test]
fn tiff_samples_of_other_depths_become_8_bits() {
    use tiff::encoder::colortype::{CMYK8, Gray16, RGB32Float};
    let shades = Picture::photo(64, 50, Layout::Grey);
    let wide: Vec<u16> = shades.pixels.iter().map(|&grey| u16::from(grey) * 257).collect();
    assert_eq!(decode(&files::tiff_of::<Gray16>(&shades, 9, None, &wide)).unwrap(), shades);

    let colours = Picture::photo(64, 50, Layout::Rgb);
    let floats: Vec<f32> = colours.pixels.iter().map(|&value| f32::from(value) / 255.0).collect();
    assert_eq!(decode(&files::tiff_of::<RGB32Float>(&colours, 9, None, &floats)).unwrap(), colours);

    let cmyk = Picture::photo(64, 50, Layout::Rgba);
    let read = decode(&files::tiff_of::<CMYK8>(&cmyk, 9, None, &cmyk.pixels)).unwrap();
    compare(&read, &cmyk_to_rgb(&cmyk), Tolerance::up_to(1)).unwrap();
}

#[test]
fn all_eight_orientations_become_upright() {
    let picture = Picture::noise(37, 23, Layout::Rgb);
    let smooth = Picture::photo(160, 96, Layout::Rgb);
    for orientation in 1..=8 {
        let expected = upright(&picture, orientation);
        let block = exif(orientation);
        let png = files::png(&picture, |info| info.exif_metadata = Some(block.clone().into()));
        assert_eq!(decode(&png).unwrap(), expected, "PNG, {orientation}");
        assert_eq!(decode(&files::webp(&picture, Some(&block))).unwrap(), expected, "WebP, {orientation}");
        let tiff = files::tiff(&picture, 5, Some(u16::from(orientation)));
        assert_eq!(decode(&tiff).unwrap(), expected, "TIFF, {orientation}");
        let jpeg = files::jpeg(&smooth, Jpeg { exif: Some(&block), progressive: false });
        compare(&decode(&jpeg).unwrap(), &upright(&smooth, orientation), JPEG)
            .unwrap_or_else(|why| panic!("JPEG, {orientation}: {why}"));
    }
}

#[test]
fn invalid_orientations_and_broken_exif_are_ignored() {
    let picture = Picture::noise(9, 5, Layout::Rgb);
    for block in [exif(0), exif(9), b"II*\0\xff\xff\xff\xff".to_vec(), Vec::new()] {
        let png = files::png(&picture, |info| info.exif_metadata = Some(block.clone().into()));
        assert_eq!(decode(&png).unwrap(), picture);
    }
}

#[test]
fn a_picture_that_is_too_large_to_be_turned_in_memory_is_refused() {
    let picture = Picture::photo(400, 300, Layout::Rgb);
    let bounds = edgezoom_codecs::Bounds { memory: 300_000, ..BOUNDS };
    let turned = |orientation| {
        let block = exif(orientation);
        files::decode_within(&files::jpeg(&picture, Jpeg { exif: Some(&block), progressive: false }), bounds)
    };
    assert!(turned(2).is_ok(), "mirrored pictures are not kept in memory");
    assert!(matches!(turned(6), Err(edgezoom_codecs::SourceError::TooMuchMemory { .. })));
}
