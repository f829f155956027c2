//! Pictures with an orientation: each tile must equal the tile of the picture that was turned upright before the build.

use std::collections::BTreeMap;

use edgezoom_codecs::{AsPlanes, DecodeOptions, Layout, Orientation, RowReader, SourceError, ycbcr420};
use edgezoom_geometry::{Dzi, Size, TileFormat};
use edgezoom_jpeg::quantisation::Quantisation;
use edgezoom_pyramid::{Options, TileCoord, TileSource};
use proptest::prelude::*;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::{decode, reference};

use crate::blocks::QUALITY;
use crate::output::{self, MemoryOutput};
use crate::ycbcr420::{Plane, expected, jpeg};

/// Returns the stored position of a pixel at (`x`, `y`) in the upright picture (CIPA DC-008, 4.6.4, tag 274).
fn stored_at(number: u32, (width, height): (usize, usize), (x, y): (usize, usize)) -> (usize, usize) {
    let (right, bottom) = (width - 1, height - 1);
    match number {
        1 => (x, y),
        2 => (right - x, y),
        3 => (right - x, bottom - y),
        4 => (x, bottom - y),
        5 => (y, x),
        6 => (y, bottom - x),
        7 => (right - y, bottom - x),
        _ => (right - y, x),
    }
}

/// Returns the upright picture.
pub fn upright(stored: &Picture, number: u32) -> Picture {
    let size = (stored.width as usize, stored.height as usize);
    let (width, height) =
        if number >= 5 { (stored.height, stored.width) } else { (stored.width, stored.height) };
    Picture::new(width, height, stored.layout, |x, y| {
        let (x, y) = stored_at(number, size, (x as usize, y as usize));
        let mut pixel = [0; 4];
        pixel[..stored.layout.channels()].copy_from_slice(stored.at(x as u32, y as u32));
        pixel
    })
}

fn upright_plane(stored: &Plane, number: u32) -> Plane {
    let size = (stored.width, stored.height);
    let (width, height) =
        if number >= 5 { (stored.height, stored.width) } else { (stored.width, stored.height) };
    Plane::new(width, height, |x, y| {
        let (x, y) = stored_at(number, size, (x, y));
        stored.at(x, y) as u8
    })
}

/// Row reader that adds an orientation to another one.
struct Stored<R> {
    rows: R,
    number: u32,
}

impl<R: RowReader> RowReader for Stored<R> {
    fn size(&self) -> Size {
        self.rows.size()
    }

    fn layout(&self) -> Layout {
        self.rows.layout()
    }

    fn orientation(&self) -> Orientation {
        Orientation::from_exif(self.number)
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.rows.read_rows(into)
    }
}

/// Row reader over planes in memory.
struct Planes<'a> {
    planes: &'a [Plane; 3],
    next: usize,
}

impl RowReader for Planes<'_> {
    fn size(&self) -> Size {
        Size { width: self.planes[0].width as u32, height: self.planes[0].height as u32 }
    }

    fn layout(&self) -> Layout {
        Layout::YCbCr420
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let [luma, blue, red] = self.planes;
        assert_eq!(into.len() % (Layout::YCbCr420.row_bytes(self.size().width) * ycbcr420::ROWS as usize), 0);
        for pair in ycbcr420::pairs_mut(into, self.size().width) {
            let row = self.next;
            assert!(
                row < self.size().height.next_multiple_of(ycbcr420::ROWS) as usize,
                "rows were read past the end"
            );
            let [upper, lower] = pair.luma;
            let [to_blue, to_red] = pair.chroma;
            for (to, plane, y) in
                [(upper, luma, row), (lower, luma, row + 1), (to_blue, blue, row / 2), (to_red, red, row / 2)]
            {
                to.iter_mut().enumerate().for_each(|(x, to)| *to = plane.at(x, y) as u8);
            }
            self.next += 2;
        }
        Ok(())
    }
}

fn dzi(size: Size, tile_size: u32, tile_overlap: u32, tile_format: TileFormat) -> Dzi {
    Dzi { size, tile_size, tile_overlap, tile_format }
}

fn assert_exact(stored: &Picture, number: u32, tile_size: u32, overlap: u32, threads: usize) {
    let upright = upright(stored, number);
    let dzi = dzi(upright.size(), tile_size, overlap, TileFormat::Png);
    let built = output::build(&mut Stored { rows: stored.reader(), number }, &dzi, QUALITY, threads);
    let expected = reference(&upright, &dzi);
    assert_eq!(built.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (coord, tile) in &expected {
        let what = format!("{coord:?}, {number}, {:?} stored, {tile_size}+{overlap}", stored.size());
        assert!(decode(TileFormat::Png, &built[coord]) == *tile, "{what}");
    }
}

/// Asserts that the tiles are the same files as those of planes that were turned upright before the build.
fn assert_planes_exact(planes: &[Plane; 3], number: u32, tile_size: u32, overlap: u32, threads: usize) {
    let turned = planes.each_ref().map(|plane| upright_plane(plane, number));
    let size = Size { width: turned[0].width as u32, height: turned[0].height as u32 };
    let dzi = dzi(size, tile_size, overlap, TileFormat::Jpg);
    let built =
        output::build(&mut Stored { rows: Planes { planes, next: 0 }, number }, &dzi, QUALITY, threads);
    let expected = expected(turned, &dzi, [None; 2]);
    assert_eq!(built.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (coord, tile) in expected {
        assert!(built[&coord] == tile, "{coord:?}, {number}, {size:?} upright, {tile_size}+{overlap}");
    }
}

fn noise_planes(width: usize, height: usize) -> [Plane; 3] {
    let noise = Picture::noise(width as u32, height as u32, Layout::Rgb);
    let plane = |width, height, channel: usize| {
        Plane::new(width, height, |x, y| noise.at(x as u32, y as u32)[channel])
    };
    let chroma = (width.div_ceil(2), height.div_ceil(2));
    [plane(width, height, 0), plane(chroma.0, chroma.1, 1), plane(chroma.0, chroma.1, 2)]
}

#[test]
fn all_eight_orientations_are_exact_at_odd_and_even_sizes() {
    for (width, height) in [
        (1, 1),
        (2, 1),
        (1, 2),
        (3, 2),
        (5, 7),
        (1, 300),
        (300, 1),
        (64, 64),
        (127, 131),
        (130, 129),
        (255, 130),
    ] {
        for number in 1..=8 {
            assert_exact(&Picture::noise(width, height, Layout::Rgb), number, 64, 1, 2);
        }
    }
}

#[test]
fn all_layouts_overlaps_and_numbers_of_threads_are_exact() {
    for number in 2..=8 {
        assert_exact(&Picture::noise(203, 157, Layout::Grey), number, 50, 0, 1);
        assert_exact(&Picture::noise(157, 202, Layout::Rgba), number, 33, 3, 3);
        assert_exact(&Picture::noise(60, 59, Layout::Rgb), number, 16, 16, 9);
    }
}

#[test]
fn strips_of_a_few_rows_are_exact() {
    for number in [3, 6, 8] {
        assert_exact(&Picture::noise(60_001, 37, Layout::Rgb), number, 510, 1, 2);
    }
}

#[test]
fn planes_are_exact_in_all_eight_orientations() {
    for (width, height) in [(2, 2), (6, 10), (64, 64), (126, 130), (130, 18), (34, 250), (254, 256)] {
        let planes = noise_planes(width, height);
        for number in 1..=8 {
            assert_planes_exact(&planes, number, 64, 1, 2);
            assert_planes_exact(&planes, number, 51, 2, 1);
        }
    }
}

#[test]
fn planes_in_strips_of_a_few_rows_are_exact() {
    for number in [4, 6, 7] {
        assert_planes_exact(&noise_planes(40_002, 84), number, 254, 1, 2);
    }
}

#[test]
fn a_jpeg_is_turned_as_planes_unless_an_odd_side_is_counted_from_its_end() {
    for (width, height) in [(60, 40), (61, 40), (60, 41)] {
        for number in 1..=8_u32 {
            let (file, _) = jpeg(width, height, false);
            let source = edgezoom_codecs::open_with(
                files::file(&with_exif(&file, number)),
                BOUNDS,
                &DecodeOptions { planes: AsPlanes::Halved, as_stored: true, ..DecodeOptions::default() },
            )
            .unwrap();
            assert_eq!(source.orientation(), Orientation::from_exif(number));
            assert_eq!((source.size().width, source.size().height), (width, height));
            let from_right = matches!(number, 2 | 3 | 7 | 8);
            let from_bottom = matches!(number, 3 | 4 | 6 | 7);
            let as_pixels = from_right && width == 61 || from_bottom && height == 41;
            let expected = if as_pixels { Layout::Rgb } else { Layout::YCbCr420 };
            assert_eq!(source.layout(), expected, "{number}, {width}x{height}");
        }
    }
}

fn with_exif(jpeg: &[u8], number: u32) -> Vec<u8> {
    let exif = files::exif(number as u8);
    [&jpeg[..2], &[0xff, 0xe1, 0, exif.len() as u8 + 8], b"Exif\0\0", &exif, &jpeg[2..]].concat()
}

#[test]
fn files_that_are_turned_tile_by_tile_show_what_the_upright_file_shows() {
    let stored = Picture::photo(443, 301, Layout::Rgb);
    let build = |file: &[u8], as_stored, as_planes| -> (Dzi, BTreeMap<TileCoord, Picture>) {
        let options = Options { tile_size: 100, ..Options::default() };
        let open = |decode: &DecodeOptions| {
            let planes = if as_planes { AsPlanes::Averaged } else { AsPlanes::Halved };
            let decode = DecodeOptions { as_stored, planes, ..*decode };
            edgezoom_codecs::open_with(files::file(file), BOUNDS, &decode)
        };
        let output = MemoryOutput::default();
        let dzi = TileSource::open(&options, open).unwrap().build(&options, &output).unwrap().dzi;
        let tiles = output.tiles.into_inner().unwrap().into_iter();
        (dzi, tiles.map(|(coord, bytes)| (coord, decode(dzi.tile_format, &bytes))).collect())
    };
    for number in 2..=8 {
        let exif = files::exif(number);
        let jpeg = files::jpeg(&stored, Jpeg { exif: Some(&exif), ..Jpeg::default() });
        let halved = with_exif(&self::jpeg(444, 302, false).0, number.into());
        let clear = files::png(&Picture::noise(200, 301, Layout::Rgba), |info| {
            info.exif_metadata = Some(exif.clone().into());
        });
        let kinds =
            [("RGB", &jpeg, false), ("4:4:4", &jpeg, true), ("4:2:0", &halved, true), ("PNG", &clear, false)];
        for (kind, file, as_planes) in kinds {
            let ((dzi, tiles), (expected_dzi, expected)) =
                (build(file, true, as_planes), build(file, false, as_planes));
            assert_eq!(dzi, expected_dzi, "{kind}, {number}");
            assert_eq!(tiles.len(), expected.len());
            for (coord, tile) in &expected {
                // Planes and RGB differ by rounding, most in small tiles with many colours.
                let tolerance = if as_planes { Tolerance::lossy(0.5, 8, 1.4) } else { Tolerance::EXACT };
                if !as_planes || tile.width.min(tile.height) >= 50 {
                    compare(&tiles[coord], tile, tolerance)
                        .unwrap_or_else(|why| panic!("{kind}, {number}, {coord:?}: {why}"));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_size_is_exact(
        width in 1u32..300, height in 1u32..300, number in 1u32..9, tile in 5u32..130, overlap in 0u32..5, threads in 1usize..4,
    ) {
        assert_exact(&Picture::noise(width, height, Layout::Rgb), number, tile, overlap, threads);
    }

    #[test]
    fn planes_of_any_even_size_are_exact(
        width in 1usize..100, height in 1usize..100, number in 1u32..9, tile in 5u32..130, overlap in 0u32..5, threads in 1usize..4,
    ) {
        assert_planes_exact(&noise_planes(2 * width, 2 * height), number, tile, overlap, threads);
    }
}

#[test]
fn steps_of_a_turned_jpeg_are_adapted_as_its_blocks_lie_in_tiles() {
    let (file, _) = jpeg(128, 64, false);
    let file = with_exif(&file, 6);
    let options = Options { tile_size: 64, ..Options::default() };
    let (open, output) = (
        |decode: &DecodeOptions| edgezoom_codecs::open_with(files::file(&file), BOUNDS, decode),
        MemoryOutput::default(),
    );
    let dzi = TileSource::open(&options, open).unwrap().build(&options, &output).unwrap().dzi;
    let steps = |file: &[u8]| {
        edgezoom_jpeg::decoder::frame::read(&mut &*file).unwrap().unwrap().steps().map(Option::unwrap)
    };
    let transposed = steps(&file).map(|table| std::array::from_fn(|place| table[place % 8 * 8 + place / 8]));
    assert_ne!(transposed, steps(&file));
    let ours = Quantisation::of_quality(options.quality, true);
    for (coord, tile) in output.tiles.into_inner().unwrap() {
        let expected = if coord.level == dzi.max_level() {
            ours.for_source(&transposed.map(Some)).steps
        } else {
            ours.steps
        };
        assert_eq!(steps(&tile), expected, "{coord:?}");
    }
}
