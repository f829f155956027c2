//! Pictures in the middle of a square, in all layouts and orientations.

use edgezoom_codecs::{Layout, SourceError, open_with};
use edgezoom_geometry::TileFormat;
use edgezoom_pyramid::{Options, TileLayout, TileSource};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS};
use edgezoom_test_support::pyramid::{decode, reference};

use crate::output::MemoryOutput;
use crate::turned::upright;

fn options() -> Options {
    Options {
        tile_size: 32,
        centre: true,
        skip_blanks: None,
        format: Some(TileFormat::Png),
        background: [9, 80, 200],
        ..Options::of_layout(TileLayout::Google)
    }
}

/// Returns the picture in the middle of a square, by its definition.
fn on_square(picture: &Picture, side: u32) -> Picture {
    let grey = 72; // the luminance of the background
    let background = if picture.layout == Layout::Grey { [grey; 4] } else { [9, 80, 200, 255] };
    let (left, top) = ((side - picture.width) / 2, (side - picture.height) / 2);
    Picture::new(side, side, picture.layout, |x, y| {
        let mut pixel = background;
        if (left..left + picture.width).contains(&x) && (top..top + picture.height).contains(&y) {
            pixel[..picture.layout.channels()].copy_from_slice(picture.at(x - left, y - top));
        }
        pixel
    })
}

#[test]
fn the_margins_are_equal_or_one_pixel_larger_at_the_right_and_below() {
    for (width, height, side) in [(1, 1, 32), (32, 31, 32), (33, 5, 64), (50, 129, 256)] {
        for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
            let picture = Picture::noise(width, height, layout);
            for number in 1..=8 {
                let file = files::png(&picture, |info| info.exif_metadata = Some(files::exif(number).into()));
                let output = MemoryOutput::default();
                let open = |decode: &_| open_with(files::file(&file), BOUNDS, decode);
                let source = TileSource::open(&options(), open).unwrap();
                let dzi = source.build(&options(), &output).unwrap().dzi;
                assert_eq!((dzi.size.width, dzi.size.height), (side, side));
                let square = on_square(&upright(&picture, number.into()), side);
                let (tiles, mut expected) = (output.tiles.into_inner().unwrap(), reference(&square, &dzi));
                expected.retain(|coord, _| coord.level >= 5);
                assert!(tiles.keys().eq(expected.keys()));
                for (coord, bytes) in &tiles {
                    let tile = decode(TileFormat::Png, bytes);
                    assert!(tile == expected[coord], "{width}x{height} {layout:?} {number} {coord:?}");
                }
            }
        }
    }
}

#[test]
fn a_line_that_would_need_a_giant_square_is_refused() {
    let file = files::png(&Picture::new(131_073, 1, Layout::Grey, |_, _| [0; 4]), |_| {});
    let opened = TileSource::open(&options(), |decode| open_with(files::file(&file), BOUNDS, decode));
    assert!(matches!(opened.err(), Some(SourceError::TooLong { .. })));
}
