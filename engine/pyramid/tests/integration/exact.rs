//! Compares every tile of every level with a straightforward reference pyramid.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;

use edgezoom_codecs::Layout;
use edgezoom_geometry::{Dzi, TileFormat};
use edgezoom_pyramid::{BuildError, TileCoord, TileOutput};
use proptest::prelude::*;

use edgezoom_test_support::Picture;
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::{decode, rebuilt, reference};

use crate::output;

fn dzi(picture: &Picture, tile_size: u32, tile_overlap: u32, tile_format: TileFormat) -> Dzi {
    Dzi { size: picture.size(), tile_size, tile_overlap, tile_format }
}

fn build(picture: &Picture, dzi: &Dzi, quality: u8, threads: usize) -> BTreeMap<TileCoord, Picture> {
    let tiles = output::build(&mut picture.reader(), dzi, quality, threads);
    tiles.into_iter().map(|(coord, bytes)| (coord, decode(dzi.tile_format, &bytes))).collect()
}

fn assert_exact(picture: &Picture, tile_size: u32, overlap: u32, threads: usize) {
    let dzi = dzi(picture, tile_size, overlap, TileFormat::Png);
    let (built, expected) = (build(picture, &dzi, 75, threads), reference(picture, &dzi));
    assert_eq!(built.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert_eq!(built.len() as u64, dzi.tile_count());
    for (coord, tile) in &expected {
        let what = format!("{coord:?} of {:?}, tiles of {tile_size}+{overlap}", picture.size());
        assert_eq!(built[coord].size(), tile.size(), "{what}");
        assert!(built[coord] == *tile, "{what}");
    }
    assert!(rebuilt(&built, &dzi) == *picture);
}

#[test]
fn every_tile_of_every_level_is_exact_at_odd_sizes() {
    for (width, height) in [
        (1, 1),
        (2, 1),
        (1, 600),
        (600, 1),
        (3, 5),
        (127, 131),
        (128, 128),
        (129, 127),
        (641, 257),
        (255, 513),
    ] {
        for overlap in [0, 1, 3] {
            assert_exact(&Picture::noise(width, height, Layout::Rgb), 64, overlap, 2);
        }
    }
}

#[test]
fn pictures_of_a_single_row_or_column_are_exact_however_long() {
    for (width, height) in [(100_000, 1), (1, 100_000), (99_991, 2), (2, 99_991)] {
        for threads in [1, 2] {
            assert_exact(&Picture::noise(width, height, Layout::Rgb), 254, 1, threads);
        }
    }
}

#[test]
fn prime_sides_and_sides_around_a_multiple_of_the_tile_are_exact() {
    let sides = [253, 254, 255, 507, 508, 509];
    for (width, height) in sides.iter().flat_map(|&width| sides.map(|height| (width, height))) {
        assert_exact(&Picture::noise(width, height, Layout::Rgb), 254, 1, 2);
    }
    assert_exact(&Picture::noise(997, 1009, Layout::Rgb), 254, 1, 2);
    assert_exact(&Picture::noise(1021, 509, Layout::Rgb), 510, 1, 3);
    assert_exact(&Picture::noise(1025, 513, Layout::Rgb), 512, 0, 3);
}

#[test]
fn grey_and_transparent_pictures_are_exact_as_well() {
    for layout in [Layout::Grey, Layout::Rgba] {
        assert_exact(&Picture::noise(333, 217, layout), 64, 1, 3);
        assert_exact(&Picture::photo(301, 401, layout), 100, 2, 1);
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for threads in [1, 2, 3, 8, 33] {
        assert_exact(&Picture::noise(700, 300, Layout::Rgb), 50, 1, threads);
    }
}

#[test]
fn an_overlap_as_large_as_the_tile_is_exact() {
    assert_exact(&Picture::noise(100, 90, Layout::Rgb), 16, 16, 2);
    assert_exact(&Picture::noise(9, 7, Layout::Rgb), 1, 1, 2);
}

#[test]
fn very_wide_pictures_are_built_in_strips_of_a_few_rows() {
    assert_exact(&Picture::noise(300_001, 11, Layout::Rgba), 4096, 1, 2);
}

#[test]
fn a_photograph_as_jpeg_stays_close_to_its_source() {
    for (layout, quality) in [(Layout::Rgb, 75), (Layout::Rgb, 90), (Layout::Grey, 82)] {
        let picture = Picture::photo(1100, 777, layout);
        let dzi = dzi(&picture, 254, 1, TileFormat::Jpg);
        let (built, expected) = (build(&picture, &dzi, quality, 2), reference(&picture, &dzi));
        for (coord, tile) in &expected {
            assert_eq!(built[coord].size(), tile.size());
        }
        compare(&rebuilt(&built, &dzi), &picture, Tolerance::lossy(2.6, 10, 3.5))
            .unwrap_or_else(|why| panic!("{layout:?} at quality {quality}: {why}"));
    }
}

#[test]
fn an_output_that_fails_ends_the_build() {
    struct Full;
    impl TileOutput for Full {
        fn tile(&self, _: TileCoord, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    let picture = Picture::photo(2000, 2000, Layout::Rgb);
    for threads in [1, 2, 4] {
        let result = edgezoom_pyramid::build_tiles(
            &mut picture.reader(),
            &dzi(&picture, 64, 1, TileFormat::Jpg),
            75,
            NonZeroUsize::new(threads).unwrap(),
            &Full,
        );
        assert!(
            matches!(result, Err(BuildError::Output(error)) if error.kind() == io::ErrorKind::StorageFull)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_size_is_exact(width in 1u32..400, height in 1u32..400, tile in 5u32..130, overlap in 0u32..5, threads in 1usize..4) {
        assert_exact(&Picture::noise(width, height, Layout::Rgb), tile, overlap, threads);
    }
}
