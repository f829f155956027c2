//! Coarse pictures during the decoding: they fill from the top down, over the thumbnail if there is one.

use std::num::NonZeroUsize;
use std::time::Duration;

use edgezoom_codecs::{DecodeOptions, Layout, Thumbnail};
use edgezoom_geometry::{Size, TileFormat};
use edgezoom_pyramid::{Options, TileSource, coarse_of_thumbnail};

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg};
use edgezoom_test_support::pyramid::decode;

use crate::output::MemoryOutput;
use crate::preview::shrunk;

/// Returns all coarse pictures of a file.
fn coarse(file: &[u8], thumbnail: Option<Thumbnail>) -> Vec<Picture> {
    let threads = NonZeroUsize::new(2).unwrap();
    let options = Options { coarse_every: Some(Duration::ZERO), threads, ..Options::default() };
    let open = |decode: &DecodeOptions| edgezoom_codecs::open_with(files::file(file), BOUNDS, decode);
    let output = MemoryOutput::default();
    let source = TileSource::open(&options, open).unwrap().with_thumbnail(thumbnail);
    source.build(&options, &output).unwrap();
    output.coarse.into_inner().unwrap().iter().map(|file| decode(TileFormat::Jpg, file)).collect()
}

/// Returns the PSNR between the upper or lower halves of two pictures of the same size, in dB.
fn half_psnr(picture: &Picture, other: &Picture, is_lower: bool) -> f64 {
    let half = |picture: &Picture| {
        let first = if is_lower { picture.height - picture.height / 2 } else { 0 };
        Picture::new(picture.width, picture.height / 2, picture.layout, |x, y| {
            let pixel = picture.at(x, first + y);
            [pixel[0], pixel[1], pixel[2], 255]
        })
    };
    half(picture).psnr(&half(other))
}

#[test]
fn coarse_pictures_get_sharper_from_the_top_and_end_as_the_whole_picture() {
    let picture = Picture::photo(1500, 1700, Layout::Rgb);
    let whole = shrunk(&picture, Size { width: 750, height: 850 });
    for file in [files::png(&picture, |_| {}), files::jpeg(&picture, Jpeg::default())] {
        let all = coarse(&file, None);
        assert!(all.len() > 4, "{}", all.len());
        assert!(all.iter().all(|picture| (picture.width, picture.height) == (750, 850)));
        let middle = all.iter().find(|coarse| half_psnr(coarse, &whole, false) > 27.0).unwrap();
        assert!(half_psnr(middle, &whole, true) < 25.0, "the lower half has no rows yet");
        let last = all.last().unwrap();
        assert!(last.psnr(&whole) > 27.0, "{}", last.psnr(&whole));
    }
}

#[test]
fn pictures_that_are_stored_turned_are_upright() {
    let stored = Picture::photo(1502, 1300, Layout::Rgb);
    for number in [3, 6] {
        let exif = files::exif(number);
        let file = files::jpeg(&stored, Jpeg { exif: Some(&exif), ..Jpeg::default() });
        let upright = files::decode(&file).unwrap();
        let last = coarse(&file, None).pop().unwrap();
        let size = Size { width: upright.width.div_ceil(2), height: upright.height.div_ceil(2) };
        assert_eq!((last.width, last.height), (size.width, size.height));
        assert!(last.psnr(&shrunk(&upright, size)) > 27.0, "orientation {number}");
    }
}

#[test]
fn planes_and_grey_keep_their_colours() {
    let (file, _) = crate::ycbcr420::jpeg(1502, 1300, false);
    let grey = files::jpeg(&Picture::photo(1502, 1300, Layout::Grey), Jpeg::default());
    for file in [file, grey] {
        let picture = files::decode(&file).unwrap();
        let rgb = Picture::new(picture.width, picture.height, Layout::Rgb, |x, y| match *picture.at(x, y) {
            [grey] => [grey, grey, grey, 255],
            [red, green, blue, ..] => [red, green, blue, 255],
            _ => [0; 4],
        });
        let last = coarse(&file, None).pop().unwrap();
        let psnr = last.psnr(&shrunk(&rgb, Size { width: 751, height: 650 }));
        assert!(psnr > 27.0, "{psnr}");
    }
}

#[test]
fn a_thumbnail_is_shown_without_its_bars_until_rows_replace_it() {
    let picture = Picture::photo(1500, 1000, Layout::Rgb);
    let size = Size { width: 160, height: 120 };
    let small = shrunk(&picture, Size { width: 160, height: 106 });
    let with_bars = Picture::new(160, 120, Layout::Rgb, |x, y| match y {
        7..113 => [small.at(x, y - 7)[0], small.at(x, y - 7)[1], small.at(x, y - 7)[2], 255],
        _ => [0, 0, 0, 255],
    });
    let orientation = edgezoom_codecs::Orientation::UPRIGHT;
    let thumbnail = Thumbnail { picture: picture.size(), orientation, size, pixels: with_bars.pixels };
    let whole = shrunk(&picture, Size { width: 750, height: 500 });
    let alone = decode(TileFormat::Jpg, &coarse_of_thumbnail(&thumbnail).unwrap());
    assert_eq!((alone.width, alone.height), (750, 500));
    let blurred = alone.psnr(&whole);
    assert!(blurred > 18.0, "{blurred}");
    let all = coarse(&files::png(&picture, |_| {}), Some(thumbnail));
    assert!(all.iter().all(|coarse| coarse.psnr(&whole) > blurred - 0.5));
    assert!(all.last().unwrap().psnr(&whole) > 27.0);
}
