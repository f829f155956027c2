//! Previews: their size, colours and orientation, compared with a reference that averages the picture's pixels.

use std::num::NonZeroUsize;

use edgezoom_codecs::{DecodeOptions, Layout};
use edgezoom_geometry::{Size, TileFormat};
use edgezoom_pyramid::{Options, PreviewKind, TileSource};

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::decode;

use crate::output::MemoryOutput;

/// Returns the previews of a file and their format.
fn previews(file: &[u8], threads: usize) -> (Vec<Picture>, TileFormat) {
    let threads = NonZeroUsize::new(threads).unwrap();
    let options = Options { previews: true, quality: 95, threads, ..Options::default() };
    previews_with(file, &options)
}

fn previews_with(file: &[u8], options: &Options) -> (Vec<Picture>, TileFormat) {
    let open = |decode: &DecodeOptions| edgezoom_codecs::open_with(files::file(file), BOUNDS, decode);
    let output = MemoryOutput::default();
    let built = TileSource::open(options, open).unwrap().build(options, &output).unwrap();
    let made = output.previews.into_inner().unwrap();
    assert_eq!(made.len(), if options.previews { 2 } else { 0 });
    let format = built.dzi.tile_format;
    let of = |kind| decode(TileFormat::Jpg, &made.iter().find(|(made, _)| *made == kind).unwrap().1);
    (if options.previews { PreviewKind::ALL.map(of).to_vec() } else { vec![] }, format)
}

/// Shrinks a picture. Each pixel is the mean of 4×4 samples of the area that it covers.
pub fn shrunk(picture: &Picture, Size { width, height }: Size) -> Picture {
    Picture::new(width, height, picture.layout, |x, y| {
        let places = (0..4).flat_map(|row| (0..4).map(move |column| (4 * x + column, 4 * y + row)));
        let mut sums = [0.0; 4];
        let mut opacity = 0.0;
        for (column, row) in places {
            let scaled = |at: u32, from: u32, to: u32| ((2 * at + 1) * from / (8 * to)).min(from - 1);
            let pixel = picture.at(scaled(column, picture.width, width), scaled(row, picture.height, height));
            let alpha = if pixel.len() == 4 { f64::from(pixel[3]) } else { 255.0 };
            opacity += alpha;
            for (sum, value) in sums.iter_mut().zip(&pixel[..pixel.len().min(3)]) {
                *sum += f64::from(*value) * alpha;
            }
        }
        let mut out = sums.map(|sum| (sum / opacity.max(1.0)).round() as u8);
        out[3] = (opacity / 16.0).round() as u8;
        out
    })
}

/// Accepted difference for JPEG previews, which are shrunk from a level instead of from the whole picture.
const JPEG: Tolerance = Tolerance::lossy(1.8, 29, 4.5);

fn assert_like(made: &[Picture], picture: &Picture, tolerance: Tolerance, what: &str) {
    for (kind, preview) in PreviewKind::ALL.into_iter().zip(made) {
        assert_eq!(preview.size(), kind.size(picture.size()), "{what}");
        compare(preview, &shrunk(picture, preview.size()), tolerance)
            .unwrap_or_else(|why| panic!("{what}, {kind:?}: {why}"));
    }
}

#[test]
fn previews_show_the_whole_picture_at_their_size() {
    let photo = |width, height, layout| Picture::photo(width, height, layout);
    for picture in [
        photo(2500, 1700, Layout::Rgb),
        photo(1201, 901, Layout::Rgb),
        photo(1700, 2399, Layout::Grey),
        photo(300, 200, Layout::Rgb),
    ] {
        let made = previews(&files::jpeg(&picture, Jpeg::default()), 2);
        assert_eq!(made.1, TileFormat::Jpg);
        assert_like(&made.0, &picture, JPEG, &format!("{:?} {:?}", picture.size(), picture.layout));
    }
}

#[test]
fn previews_of_transparent_pictures_are_on_white() {
    let picture = Picture::photo(1400, 1000, Layout::Rgba);
    let (made, format) = previews(&files::png(&picture, |_| {}), 1);
    assert_eq!((format, made[0].layout), (TileFormat::Png, Layout::Rgb));
    let on_white = Picture::new(1400, 1000, Layout::Rgb, |x, y| {
        let pixel = picture.at(x, y);
        let opacity = u32::from(pixel[3]);
        let mixed = |colour: u8| ((u32::from(colour) * opacity + 255 * (255 - opacity) + 127) / 255) as u8;
        [mixed(pixel[0]), mixed(pixel[1]), mixed(pixel[2]), 255]
    });
    assert_like(&made, &on_white, JPEG, "RGBA");
}

#[test]
fn pictures_that_are_stored_turned_have_upright_previews() {
    let stored = Picture::photo(1302, 701, Layout::Rgb);
    for number in 1..=8 {
        let exif = files::exif(number);
        let file = files::jpeg(&stored, Jpeg { exif: Some(&exif), ..Jpeg::default() });
        let upright = files::decode(&file).unwrap();
        assert_like(&previews(&file, 2).0, &upright, JPEG, &format!("orientation {number}"));
    }
}

#[test]
fn pictures_in_planes_keep_their_colours() {
    let (plain, _) = crate::ycbcr420::jpeg(1302, 700, false);
    for number in [1, 3, 6] {
        let exif = files::exif(number);
        let length = [0xff, 0xe1, 0, exif.len() as u8 + 8];
        let file = [&plain[..2], &length, b"Exif\0\0", &exif, &plain[2..]].concat();
        let upright = files::decode(&file).unwrap();
        let options = Options { previews: true, ..Options::default() };
        let (made, _) = previews_with(&file, &options);
        assert_like(&made, &upright, JPEG, &format!("planes, orientation {number}"));
    }
}

#[test]
fn long_and_tiny_pictures_have_previews_too() {
    for (width, height) in [(1, 1), (9000, 3), (3, 9000), (1199, 1200), (70_000, 1)] {
        let picture = Picture::photo(width, height, Layout::Rgb);
        let (made, _) = previews(&files::png(&picture, |_| {}), 2);
        for (kind, preview) in PreviewKind::ALL.into_iter().zip(&made) {
            assert_eq!(preview.size(), kind.size(picture.size()));
        }
    }
}

#[test]
fn previews_are_made_only_on_request() {
    let picture = files::png(&Picture::photo(50, 40, Layout::Rgb), |_| {});
    assert!(previews_with(&picture, &Options::default()).0.is_empty());
}
