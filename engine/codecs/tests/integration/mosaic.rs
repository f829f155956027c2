//! Pictures of tiles: exact with any grid and overlap, and as far as they go if tiles are missing, broken or of other sizes.

use edgezoom_codecs::{Bounds, Damage, DecodeOptions, Layout, Mosaic, SourceError, SourceFile};
use edgezoom_geometry::Size;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};
use proptest::prelude::*;

fn mosaic(picture: &Picture, width: u32, height: u32, overlap: u32) -> Mosaic {
    Mosaic { size: picture.size(), tile: Size { width, height }, overlap }
}

/// Returns the part of a picture that a tile shows, with overlap.
fn tile(picture: &Picture, mosaic: &Mosaic, column: u32, row: u32) -> Picture {
    let (left, top, part) = mosaic.part(column, row);
    let start = |edge: u32| edge.saturating_sub(mosaic.overlap);
    let right = (left + part.width + mosaic.overlap).min(picture.width);
    let bottom = (top + part.height + mosaic.overlap).min(picture.height);
    Picture::new(right - start(left), bottom - start(top), picture.layout, |x, y| {
        let mut pixel = [0; 4];
        pixel[..picture.layout.channels()].copy_from_slice(picture.at(start(left) + x, start(top) + y));
        pixel
    })
}

/// Returns the file of a mosaic, whose tiles `encode` makes by column and row.
fn bundle(mosaic: &Mosaic, mut encode: impl FnMut(u32, u32) -> Vec<u8>) -> Vec<u8> {
    let (columns, rows) = mosaic.grid();
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
    let tiles: Vec<_> = places.map(|(column, row)| encode(column, row)).collect();
    let lengths = tiles.iter().flat_map(|tile| (tile.len() as u64).to_le_bytes());
    lengths.collect::<Vec<_>>().into_iter().chain(tiles.concat()).collect()
}

fn read(mosaic: Mosaic, file: Vec<u8>, strict: bool) -> Result<(Picture, Option<Damage>), SourceError> {
    let options = DecodeOptions { strict, ..DecodeOptions::default() };
    let mut reader = mosaic.prepare().open(SourceFile::from(file), Bounds::default(), &options)?;
    let (Size { width, height }, layout) = (reader.size(), reader.layout());
    let mut pixels = vec![0; layout.row_bytes(width) * height as usize];
    // In pieces that do not end where tiles do.
    for rows in pixels.chunks_mut(layout.row_bytes(width) * 7) {
        reader.read_rows(rows)?;
    }
    Ok((Picture { width, height, layout, pixels }, reader.damage()))
}

fn png(picture: &Picture) -> Vec<u8> {
    files::png(picture, |_| {})
}

#[test]
fn tiles_are_put_together_exactly_in_all_layouts() {
    for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
        let picture = Picture::noise(301, 203, layout);
        for (width, height, overlap) in
            [(64, 64, 0), (64, 64, 1), (100, 30, 7), (301, 203, 3), (500, 9, 0), (40, 30, 50)]
        {
            let mosaic = mosaic(&picture, width, height, overlap);
            let file = bundle(&mosaic, |column, row| png(&tile(&picture, &mosaic, column, row)));
            let (shown, damage) = read(mosaic, file, true).unwrap();
            assert!(shown == picture && damage.is_none(), "{layout:?} {width}x{height}+{overlap}");
        }
    }
}

#[test]
fn tiles_in_jpeg_show_the_picture_within_their_loss() {
    for layout in [Layout::Grey, Layout::Rgb] {
        let picture = Picture::photo(700, 500, layout);
        let mosaic = mosaic(&picture, 254, 254, 1);
        let file = bundle(&mosaic, |column, row| {
            files::jpeg(&tile(&picture, &mosaic, column, row), Jpeg::default())
        });
        let (shown, damage) = read(mosaic, file, false).unwrap();
        assert_eq!((shown.layout, damage), (Layout::Rgb, None));
        compare(&shown, &picture, Tolerance::lossy(3.0, 12, 4.0)).unwrap();
    }
}

#[test]
fn missing_broken_and_foreign_tiles_are_blank_and_reported() {
    let picture = Picture::noise(200, 150, Layout::Rgb);
    let mosaic = mosaic(&picture, 64, 64, 2);
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>".to_vec();
    let nested = bundle(&mosaic, |_, _| b"no tile".to_vec());
    for bad in [vec![], b"<!doctype html>".to_vec(), svg, nested, png(&picture)[..40].to_vec()] {
        for layout in [Layout::Rgb, Layout::Rgba] {
            let picture = Picture::noise(200, 150, layout);
            let file = bundle(&mosaic, |column, row| {
                if (column, row) == (1, 1) { bad.clone() } else { png(&tile(&picture, &mosaic, column, row)) }
            });
            let (shown, damage) = read(mosaic, file.clone(), false).unwrap();
            assert_eq!(damage, Some(Damage::Partial));
            for (x, y) in (0..150).flat_map(|y| (0..200).map(move |x| (x, y))) {
                let is_missing = (64..128).contains(&x) && (64..128).contains(&y);
                let expected = if is_missing { [0; 4] } else { picture.colour(x, y) };
                assert_eq!(shown.colour(x, y), expected, "{x} {y}");
            }
            assert!(read(mosaic, file, true).is_err(), "strict");
        }
    }
    // Without opacity they are grey.
    let file = bundle(&mosaic, |column, row| {
        let jpeg = files::jpeg(&tile(&picture, &mosaic, column, row), Jpeg::default());
        if column == 3 { vec![] } else { jpeg }
    });
    let (shown, damage) = read(mosaic, file, false).unwrap();
    assert_eq!((shown.layout, shown.at(199, 0), damage), (Layout::Rgb, &[128; 3][..], Some(Damage::Partial)));
}

#[test]
fn tiles_that_are_smaller_or_larger_than_the_grid_says_keep_their_place() {
    let picture = Picture::noise(200, 150, Layout::Rgb);
    let mosaic = mosaic(&picture, 64, 64, 0);
    // Padded at the edges, as some servers do.
    let padded = bundle(&mosaic, |column, row| {
        let tile = tile(&picture, &mosaic, column, row);
        png(&Picture::new(64, 64, Layout::Rgb, |x, y| {
            if x < tile.width && y < tile.height { tile.colour(x, y) } else { [9; 4] }
        }))
    });
    assert!(read(mosaic, padded, true).unwrap().0 == picture);
    let smaller = bundle(&mosaic, |column, row| {
        let tile = tile(&picture, &mosaic, column, row);
        png(&Picture::new(tile.width - 1, tile.height, Layout::Rgb, |x, y| tile.colour(x, y)))
    });
    let (shown, damage) = read(mosaic, smaller, false).unwrap();
    assert_eq!(damage, Some(Damage::Partial));
    assert_eq!((shown.colour(62, 9), shown.colour(64, 9)), (picture.colour(62, 9), picture.colour(64, 9)));
}

#[test]
fn a_picture_without_any_tile_is_an_error() {
    let picture = Picture::noise(200, 150, Layout::Rgb);
    let mosaic = mosaic(&picture, 64, 64, 0);
    let error = read(mosaic, bundle(&mosaic, |_, _| vec![]), false).unwrap_err();
    assert_eq!(error.to_string(), "The set of tiles is cut off or broken: none of them could be read.");
}

#[test]
fn grids_and_tiles_that_take_too_much_memory_are_refused() {
    let size = Size { width: 900_000, height: 20_000 };
    let open = |tile: Size, overlap: u32, file: Vec<u8>| {
        let mosaic = Mosaic { size, tile, overlap };
        let opened =
            mosaic.prepare().open(SourceFile::from(file), Bounds::default(), &DecodeOptions::default());
        opened.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let side = |side: u32| Size { width: side, height: side };
    for (tile, overlap, length, reason) in [
        (side(0), 0, 0, "there are too many"),
        (side(1), 0, 0, "there are too many"),
        (side(20_000), 0, 8 * 45, "a row of tiles takes"),
        (side(2000), 0, 8 * 100, "ends in its header"),
        (Size { width: 900_000, height: 100 }, u32::MAX, 8 * 200, ""),
    ] {
        let said = open(tile, overlap, vec![0; length]);
        assert!(said.contains(reason) && said.is_empty() == reason.is_empty(), "{tile:?}: {said}");
    }
    let mut overflow = vec![255; 16];
    overflow.resize(8 * 200, 0);
    assert!(open(Size { width: 900_000, height: 100 }, 0, overflow).contains("a length is too large"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_grid_is_exact(width in 1u32..200, height in 1u32..200, tile_width in 5u32..220, tile_height in 5u32..220, overlap in 0u32..9) {
        let picture = Picture::noise(width, height, Layout::Rgb);
        let mosaic = mosaic(&picture, tile_width, tile_height, overlap);
        let file = bundle(&mosaic, |column, row| png(&tile(&picture, &mosaic, column, row)));
        let (shown, damage) = read(mosaic, file, true).unwrap();
        prop_assert!(shown == picture && damage.is_none());
    }

    #[test]
    fn any_bytes_are_a_picture_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), lengths in proptest::collection::vec(0u64..300, 4)) {
        let mosaic = Mosaic { size: Size { width: 20, height: 20 }, tile: Size { width: 10, height: 10 }, overlap: 1 };
        let file: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).chain(bytes).collect();
        let _ = read(mosaic, file, false);
    }
}
