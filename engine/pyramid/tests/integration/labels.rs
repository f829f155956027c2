//! Pictures whose colours are labels: levels that are chosen, not averaged.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use edgezoom_codecs::{Layout, open_with};
use edgezoom_geometry::TileFormat;
use edgezoom_pyramid::{Dzi, Options, RegionShrink, TileCoord, TileSource};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::{decode, rebuilt, reference_by};

use crate::output::MemoryOutput;
use crate::turned::upright;

const CHOICES: [RegionShrink; 2] = [RegionShrink::Nearest, RegionShrink::Mode];
/// Choices of channels: their values are the picture's, but not their colours.
const BY_CHANNEL: [RegionShrink; 3] = [RegionShrink::Median, RegionShrink::Max, RegionShrink::Min];

/// Five labels in patches of a few pixels. No channel alone tells them apart, and one is transparent.
fn labels(width: u32, height: u32, layout: Layout) -> Picture {
    let noise = Picture::noise(width, height, Layout::Grey);
    Picture::new(width, height, layout, |x, y| {
        let label = noise.at(x / 3 * 3, y / 2 * 2)[0] / 60 + noise.at(x, y)[0] / 250;
        match (label, layout) {
            (_, Layout::Grey) => [label; 4],
            (0, _) => [200, 0, 0, 255],
            (1, _) => [200, 90, 0, 255],
            (2, _) => [0, 90, 0, 255],
            (3, _) => [0, 90, 0, 0],
            _ => [0, 0, 0, 255],
        }
    })
}

/// Halves a picture by choosing pixels: the first one of each four, or the most frequent one by counting. Equally frequent
/// pixels are chosen in the order of libvips' `SHRINK_TYPE_MODE`.
fn chosen(shrink: RegionShrink) -> impl Fn(&Picture) -> Picture {
    move |picture| {
        let (right, bottom) = (picture.width - 1, picture.height - 1);
        Picture::new(picture.width.div_ceil(2), picture.height.div_ceil(2), picture.layout, |x, y| {
            let places = [(0, 0), (1, 0), (0, 1), (1, 1)];
            let four =
                places.map(|(dx, dy)| picture.at((2 * x + dx).min(right), (2 * y + dy).min(bottom)).to_vec());
            if BY_CHANNEL.contains(&shrink) {
                let of = |channel: usize| {
                    let mut values = four.clone().map(|pixel| pixel[channel]);
                    // Larger value of each row first: libvips' `SHRINK_TYPE_MEDIAN`.
                    let median = values[0].max(values[1]).min(values[2].max(values[3]));
                    values.sort();
                    match shrink {
                        RegionShrink::Median => median,
                        RegionShrink::Max => values[3],
                        _ => values[0],
                    }
                };
                return [0, 1, 2, 3].map(|channel| if channel < four[0].len() { of(channel) } else { 0 });
            }
            let count = |one: &Vec<u8>| four.iter().filter(|other| *other == one).count();
            let most = four.iter().map(count).max().unwrap();
            let chosen = match shrink {
                RegionShrink::Nearest => 0,
                _ if most == 1 => 2,
                _ => [1, 0, 2].into_iter().find(|&index| count(&four[index]) == most).unwrap(),
            };
            let mut pixel = [0; 4];
            pixel[..picture.layout.channels()].copy_from_slice(&four[chosen]);
            pixel
        })
    }
}

fn build(file: &[u8], options: &Options) -> (Dzi, BTreeMap<TileCoord, Picture>) {
    let output = MemoryOutput::default();
    let source = TileSource::open(options, |decode| open_with(files::file(file), BOUNDS, decode)).unwrap();
    let dzi = source.build(options, &output).unwrap().dzi;
    let tiles = output.tiles.into_inner().unwrap().into_iter();
    (dzi, tiles.map(|(coord, bytes)| (coord, decode(dzi.tile_format, &bytes))).collect())
}

fn options(region_shrink: RegionShrink, overlap: u32, threads: usize) -> Options {
    Options {
        tile_size: 64,
        overlap,
        region_shrink,
        format: Some(TileFormat::Png),
        threads: NonZeroUsize::new(threads).unwrap(),
        ..Options::default()
    }
}

#[test]
fn every_pixel_of_every_level_is_the_chosen_one_in_all_layouts_and_orientations() {
    for (width, height) in [(1, 1), (3, 2), (64, 64), (127, 131), (201, 90), (90, 201)] {
        for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
            let picture = labels(width, height, layout);
            for number in 1..=8 {
                let file = files::png(&picture, |info| {
                    info.exif_metadata = Some(files::exif(number).into());
                });
                for shrink in CHOICES.into_iter().chain(BY_CHANNEL) {
                    let (dzi, tiles) = build(&file, &options(shrink, 1, 2));
                    let expected = reference_by(chosen(shrink), &upright(&picture, number.into()), &dzi);
                    assert_eq!(tiles.len(), expected.len());
                    for (coord, tile) in &expected {
                        let what = format!("{shrink:?} {layout:?} {number} {coord:?} of {width}x{height}");
                        assert!(tiles[coord] == *tile, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn no_level_has_a_label_that_the_picture_does_not_have() {
    let picture = labels(301, 203, Layout::Rgb);
    let colours = |picture: &Picture| -> BTreeSet<[u8; 4]> {
        (0..picture.height)
            .flat_map(|y| (0..picture.width).map(move |x| (x, y)))
            .map(|(x, y)| picture.colour(x, y))
            .collect()
    };
    let known = colours(&picture);
    let file = files::png(&picture, |_| {});
    for shrink in CHOICES {
        let (_, tiles) = build(&file, &options(shrink, 0, 1));
        assert!(tiles.values().all(|tile| colours(tile).is_subset(&known)), "{shrink:?}");
    }
    let (_, mean) = build(&file, &options(RegionShrink::Mean, 0, 1));
    assert!(mean.values().any(|tile| !colours(tile).is_subset(&known)), "means are no labels");
}

#[test]
fn levels_of_a_jpeg_are_chosen_from_its_pixels_where_means_come_from_its_blocks() {
    for layout in [Layout::Grey, Layout::Rgb] {
        let noise = Picture::noise(256, 192, Layout::Grey);
        let picture = Picture::new(256, 192, layout, |x, y| [noise.at(x, y)[0] / 128 * 200; 4]);
        let file = files::jpeg(&picture, Jpeg::default());
        for shrink in CHOICES {
            let options = Options { format: Some(TileFormat::Jpg), quality: 85, ..options(shrink, 0, 2) };
            let (dzi, tiles) = build(&file, &options);
            let expected = reference_by(chosen(RegionShrink::Nearest), &rebuilt(&tiles, &dzi), &dzi);
            let is_near = |coord: &TileCoord| {
                compare(&tiles[coord], &expected[coord], Tolerance::lossy(14.0, 60, 25.0)).is_ok()
            };
            let below = TileCoord { level: dzi.max_level() - 1, column: 1, row: 0 };
            assert_eq!(is_near(&below), shrink == RegionShrink::Nearest, "{layout:?} {shrink:?}");
        }
        let mean = Options { format: Some(TileFormat::Jpg), ..options(RegionShrink::Mean, 0, 2) };
        let (dzi, tiles) = build(&file, &mean);
        let expected = reference_by(chosen(RegionShrink::Nearest), &rebuilt(&tiles, &dzi), &dzi);
        let below = TileCoord { level: dzi.max_level() - 1, column: 1, row: 0 };
        assert!(compare(&tiles[&below], &expected[&below], Tolerance::lossy(14.0, 60, 25.0)).is_err());
    }
}
