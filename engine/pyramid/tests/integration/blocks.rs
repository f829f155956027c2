//! Tiles that consist of the blocks of a JPEG, compared with tiles of its pixels.

use std::collections::BTreeMap;

use edgezoom_codecs::{
    AsPlanes, BlockReader, Damage, DecodeOptions, Jpeg, Layout, Orientation, RowReader, SourceError,
};
use edgezoom_geometry::{Dzi, Size, TileFormat};
use edgezoom_jpeg::decoder::frame;
use edgezoom_jpeg::decoder::requantise::TileBlocks;
use edgezoom_jpeg::encoder::Piece;
use edgezoom_jpeg::quantisation::Quantisation;
use edgezoom_pyramid::TileCoord;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS};
use edgezoom_test_support::pyramid::{decode, halved, rebuilt};
use mozjpeg::{ColorSpace, Compress};

use crate::output;
use crate::turned::upright;

pub const QUALITY: u8 = 82;

/// Passes a reader on, with or without its blocks, and counts the rows of blocks.
struct Counted {
    reader: Box<dyn RowReader>,
    orientation: Orientation,
    has_blocks: bool,
    rows: usize,
}

impl RowReader for Counted {
    fn size(&self) -> Size {
        self.reader.size()
    }

    fn layout(&self) -> Layout {
        self.reader.layout()
    }

    fn orientation(&self) -> Orientation {
        self.orientation
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.reader.read_rows(into)
    }

    fn damage(&self) -> Option<Damage> {
        self.reader.damage()
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        let steps = self.reader.as_jpeg()?.steps;
        Some(Jpeg { steps, blocks: self })
    }
}

impl BlockReader for Counted {
    fn begin_blocks(&mut self, tiles: &TileBlocks) -> bool {
        self.has_blocks && self.reader.as_jpeg().unwrap().blocks.begin_blocks(tiles)
    }

    fn read_blocks(&mut self, halved: &mut [u8]) -> Result<Option<Vec<Piece>>, SourceError> {
        let pieces = self.reader.as_jpeg().unwrap().blocks.read_blocks(halved)?;
        self.rows += usize::from(pieces.is_some());
        Ok(pieces)
    }
}

/// A pyramid's tiles, the rows of MCUs that were read as blocks, and the damage of the source.
pub type Built = (BTreeMap<TileCoord, Vec<u8>>, usize, Option<Damage>);

/// Builds the pyramid of a JPEG in 4:2:0 or grey, with or without its own blocks.
pub fn build(file: &[u8], dzi: &Dzi, has_blocks: bool, threads: usize) -> Built {
    build_turned(file, 1, dzi, has_blocks, threads)
}

/// Builds the pyramid of a picture with this orientation in EXIF.
fn build_turned(file: &[u8], number: u32, dzi: &Dzi, has_blocks: bool, threads: usize) -> Built {
    let threads_of_decoder = threads.try_into().unwrap();
    let options =
        DecodeOptions { planes: AsPlanes::Halved, threads: threads_of_decoder, ..DecodeOptions::default() };
    let reader = edgezoom_codecs::open_with(files::file(file), BOUNDS, &options).unwrap();
    let mut reader = Counted { reader, orientation: Orientation::from_exif(number), has_blocks, rows: 0 };
    let tiles = output::build(&mut reader, dzi, QUALITY, threads);
    (tiles, reader.rows, reader.damage())
}

fn jpeg(picture: &Picture, quality: f32) -> Vec<u8> {
    jpeg_of(picture, quality, false)
}

fn jpeg_of(picture: &Picture, quality: f32, is_progressive: bool) -> Vec<u8> {
    let is_grey = picture.layout == Layout::Grey;
    let mut encoder = Compress::new(if is_grey { ColorSpace::JCS_GRAYSCALE } else { ColorSpace::JCS_RGB });
    encoder.set_size(picture.width as usize, picture.height as usize);
    encoder.set_fastest_defaults();
    encoder.set_quality(quality);
    if !is_grey {
        encoder.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
    }
    if is_progressive {
        encoder.set_progressive_mode();
    }
    let mut encoder = encoder.start_compress(Vec::new()).unwrap();
    encoder.write_scanlines(&picture.pixels).unwrap();
    encoder.finish().unwrap()
}

/// Makes the lower half medium grey, whose blocks have no coefficients.
fn half_grey(mut picture: Picture) -> Picture {
    let half = picture.pixels.len() / 2;
    picture.pixels[half..].fill(128);
    picture
}

fn dzi(picture: &Picture, tile_size: u32) -> Dzi {
    Dzi { size: picture.size(), tile_size, tile_overlap: 0, tile_format: TileFormat::Jpg }
}

/// Decodes the tiles of a level and puts them together.
fn level(tiles: &BTreeMap<TileCoord, Vec<u8>>, dzi: &Dzi, level: u32) -> Picture {
    let of_level = Dzi { size: dzi.level_size(level), ..*dzi };
    let decoded = tiles.iter().filter(|(coord, _)| coord.level == level).map(|(&coord, tile)| {
        (TileCoord { level: of_level.max_level(), ..coord }, decode(TileFormat::Jpg, tile))
    });
    rebuilt(&decoded.collect(), &of_level)
}

#[test]
fn a_progressive_picture_has_the_tiles_of_a_baseline_picture_with_the_same_blocks() {
    for (width, height, layout) in [(1000, 333, Layout::Rgb), (640, 512, Layout::Grey)] {
        let picture = Picture::photo(width, height, layout);
        let dzi = dzi(&picture, 128);
        let baseline = build(&jpeg(&picture, 90.0), &dzi, true, 2);
        assert!(build(&jpeg_of(&picture, 90.0, true), &dzi, true, 2) == baseline, "{layout:?}");
    }
}

#[test]
fn tiles_of_blocks_look_like_tiles_of_pixels() {
    for (width, height, tile) in [(512, 512, 64), (1000, 333, 128), (337, 900, 16), (2100, 70, 512)] {
        for layout in [Layout::Rgb, Layout::Grey] {
            for (picture, quality) in [
                (Picture::photo(width, height, layout), 90.0),
                (Picture::photo(width, height, layout), 60.0),
                (Picture::noise(width, height, layout), 85.0),
                (half_grey(Picture::noise(width, height, layout)), 85.0),
            ] {
                check(&picture, quality, 1, tile);
            }
        }
    }
}

/// Compares the tiles of a picture, stored with this orientation, with those of its pixels.
fn check(stored: &Picture, quality: f32, number: u32, tile: u32) {
    let file = jpeg(stored, quality);
    let source = upright(&files::decode(&file).unwrap(), number);
    let dzi = dzi(&source, tile);
    let (blocks, rows, _) = build_turned(&file, number, &dzi, true, 2);
    let mcu_side = if stored.layout == Layout::Grey { 8 } else { 16 };
    assert_eq!(rows, stored.height.div_ceil(mcu_side) as usize);
    let (pixels, rows, _) = build_turned(&file, number, &dzi, false, 2);
    assert_eq!(rows, 0);
    assert!(blocks.keys().eq(pixels.keys()));

    let Picture { width, height, layout, .. } = stored;
    let case = format!("{width}×{height}, {layout:?}, Q{quality}, orientation {number}, tiles of {tile}");
    let full = dzi.max_level();
    let through = |tiles| source.psnr(&level(tiles, &dzi, full));
    let (of_blocks, of_pixels) = (through(&blocks), through(&pixels));
    assert!(of_blocks > of_pixels - 0.1, "{case}: {of_blocks:.2} and {of_pixels:.2} dB");
    let bytes = |tiles: &BTreeMap<_, Vec<u8>>| tiles.values().map(Vec::len).sum::<usize>();
    assert!(bytes(&blocks) < bytes(&pixels) * 103 / 100, "{case}: bytes");
    // Samples below are the means of what the blocks show, before it is cut to the range of bytes.
    let halved = halved(&source);
    let [of_blocks, of_pixels] = [&blocks, &pixels].map(|tiles| halved.psnr(&level(tiles, &dzi, full - 1)));
    assert!(of_blocks > of_pixels - 0.2, "{case}: {of_blocks:.2} and {of_pixels:.2} dB below");
}

#[test]
fn turned_tiles_of_blocks_look_like_turned_tiles_of_pixels() {
    for number in 2..=8 {
        let Orientation { from_right, from_bottom, .. } = Orientation::from_exif(number);
        // A side that is counted from its end consists of whole MCUs.
        let (width, height) = (if from_right { 688 } else { 701 }, if from_bottom { 336 } else { 333 });
        for layout in [Layout::Rgb, Layout::Grey] {
            check(&Picture::photo(width, height, layout), 90.0, number, 128);
            check(&Picture::noise(width, height, layout), 85.0, number, 512);
            check(&half_grey(Picture::noise(width, height, layout)), 85.0, number, 64);
        }
    }
}

#[test]
fn a_damaged_turned_picture_goes_on_with_blocks_of_the_pixels_that_libjpeg_shows() {
    for (number, layout) in (2..=8).flat_map(|number| [(number, Layout::Rgb), (number, Layout::Grey)]) {
        let stored = Picture::noise(640, 2000, layout);
        let file = jpeg(&stored, 80.0);
        let file = &file[..file.len() * 3 / 4];
        let dzi = dzi(&upright(&stored, number), 256);
        let (blocks, rows, damage) = build_turned(file, number, &dzi, true, 1);
        let (pixels, _, expected) = build_turned(file, number, &dzi, false, 1);
        assert!(damage.is_some() && damage == expected, "{damage:?}, {expected:?}");
        assert!((10..200).contains(&rows) && blocks.keys().eq(pixels.keys()));
        for below in 0..2 {
            let [one, other] = [&blocks, &pixels].map(|tiles| level(tiles, &dzi, dzi.max_level() - below));
            assert!(one.psnr(&other) > 30.0, "{layout:?}, {number}: {:.1} dB", one.psnr(&other));
        }
    }
}

#[test]
fn tiles_of_blocks_are_the_same_for_any_number_of_threads() {
    for layout in [Layout::Rgb, Layout::Grey] {
        let picture = Picture::noise(1500, 700, layout);
        let (file, dzi) = (jpeg(&picture, 80.0), dzi(&picture, 256));
        let (one, ..) = build(&file, &dzi, true, 1);
        for threads in [2, 3, 5] {
            assert!(build(&file, &dzi, true, threads).0 == one, "{layout:?}, {threads} threads");
        }
    }
}

#[test]
fn a_damaged_picture_goes_on_with_the_pixels_that_libjpeg_shows() {
    for layout in [Layout::Rgb, Layout::Grey] {
        let picture = Picture::noise(640, 2000, layout);
        let dzi = dzi(&picture, 64);
        let mut file = jpeg(&picture, 80.0);
        let middle = file.len() / 2;
        for (change, cut) in [(false, file.len() * 3 / 4), (true, file.len())] {
            if change {
                file[middle..middle + 2].copy_from_slice(&[0xff, 0xd3]); // a marker that does not belong there
            }
            let (blocks, rows, damage) = build(&file[..cut], &dzi, true, 1);
            let (pixels, _, expected) = build(&file[..cut], &dzi, false, 1);
            assert!(damage.is_some() && damage == expected, "{damage:?}, {expected:?}");
            assert!(blocks.keys().eq(pixels.keys()));
            let mcu_side = if layout == Layout::Grey { 8 } else { 16 };
            let reached = rows as u32 * mcu_side;
            assert!((400..1600).contains(&reached), "{layout:?}: {reached} rows as blocks");
            let full = dzi.max_level();
            let is_below = |coord: &TileCoord| coord.level == full && coord.row * 64 >= reached;
            assert!(blocks.keys().any(is_below));
            for (coord, tile) in blocks.iter().filter(|(coord, _)| is_below(coord)) {
                assert!(pixels[coord] == *tile, "{layout:?}: {coord:?}");
            }
            let [one, other] = [&blocks, &pixels].map(|tiles| level(tiles, &dzi, full));
            assert!(one.psnr(&other) > 30.0, "{:.1} dB", one.psnr(&other));
        }
    }
}

#[test]
fn luma_keeps_the_steps_of_a_jpeg_whose_chroma_is_not_halved_in_both_directions() {
    let picture = Picture::photo(256, 128, Layout::Rgb);
    for factors in [(2, 1), (1, 2), (1, 1)] {
        let mut encoder = Compress::new(ColorSpace::JCS_RGB);
        encoder.set_size(256, 128);
        encoder.set_fastest_defaults();
        encoder.set_quality(85.0);
        encoder.set_chroma_sampling_pixel_sizes(factors, factors);
        let mut encoder = encoder.start_compress(Vec::new()).unwrap();
        encoder.write_scanlines(&picture.pixels).unwrap();
        let file = encoder.finish().unwrap();

        let (dzi, ours) = (dzi(&picture, 64), Quantisation::of_quality(QUALITY, true));
        let steps = |file: &[u8]| frame::read(&mut &*file).unwrap().unwrap().steps();
        let [luma, chroma] = steps(&file);
        assert!(luma.is_some() && chroma.is_none());
        for (coord, tile) in build(&file, &dzi, true, 1).0 {
            let is_full = coord.level == dzi.max_level();
            let expected = if is_full { ours.for_source(&[luma, None]) } else { ours.clone() };
            assert_eq!(steps(&tile), expected.steps.map(Some), "{factors:?}, {coord:?}");
        }
    }
}
