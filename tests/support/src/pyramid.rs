//! Reference pyramid, built in a straightforward way with the whole picture in memory, and readers for tiles.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use edgezoom_codecs::Layout;
use edgezoom_geometry::{Dzi, TileFormat};
use edgezoom_pyramid::TileCoord;

use crate::Picture;

/// Halves a picture. Each pixel is the mean of the pixels that it covers, with colours weighted by their opacity.
pub fn halved(picture: &Picture) -> Picture {
    let (width, height) = (picture.width.div_ceil(2), picture.height.div_ceil(2));
    Picture::new(width, height, picture.layout, |x, y| {
        let columns = [2 * x, 2 * x + 1].into_iter().filter(|&x| x < picture.width);
        let covered: Vec<&[u8]> = columns
            .flat_map(|x| [(x, 2 * y), (x, 2 * y + 1)])
            .filter(|&(_, y)| y < picture.height)
            .map(|(x, y)| picture.at(x, y))
            .collect();
        let count = covered.len() as f64;
        let mut pixel = [0; 4];
        if picture.layout != Layout::Rgba {
            for (channel, mean) in pixel.iter_mut().enumerate().take(picture.layout.channels()) {
                let sum: f64 = covered.iter().map(|pixel| f64::from(pixel[channel])).sum();
                *mean = (sum / count).round() as u8;
            }
            return pixel;
        }
        let opacity: f64 = covered.iter().map(|pixel| f64::from(pixel[3])).sum();
        for channel in 0..3 {
            let sum: f64 = covered.iter().map(|pixel| f64::from(pixel[channel]) * f64::from(pixel[3])).sum();
            pixel[channel] = if opacity > 0.0 { (sum / opacity).round() as u8 } else { 0 };
        }
        pixel[3] = (opacity / count).round() as u8;
        pixel
    })
}

/// Returns all tiles of a picture's pyramid.
pub fn reference(picture: &Picture, dzi: &Dzi) -> BTreeMap<TileCoord, Picture> {
    reference_by(halved, picture, dzi)
}

/// Returns all tiles of a pyramid whose levels are made by a function.
pub fn reference_by(
    halved: impl Fn(&Picture) -> Picture,
    picture: &Picture,
    dzi: &Dzi,
) -> BTreeMap<TileCoord, Picture> {
    let mut tiles = BTreeMap::new();
    let mut level = picture.clone();
    for number in (0..=dzi.max_level()).rev() {
        assert_eq!(level.size(), dzi.level_size(number));
        let (columns, rows) = dzi.grid(number);
        for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))) {
            let coord = TileCoord { level: number, column, row };
            tiles.insert(coord, tile(&level, dzi, column, row));
        }
        level = halved(&level);
    }
    tiles
}

fn tile(level: &Picture, dzi: &Dzi, column: u32, row: u32) -> Picture {
    let start = |index: u32| (index * dzi.tile_size).saturating_sub(dzi.tile_overlap);
    let end = |index: u32, side: u32| ((index + 1) * dzi.tile_size + dzi.tile_overlap).min(side);
    let (left, top) = (start(column), start(row));
    Picture::new(end(column, level.width) - left, end(row, level.height) - top, level.layout, |x, y| {
        let mut pixel = [0; 4];
        pixel[..level.layout.channels()].copy_from_slice(level.at(left + x, top + y));
        pixel
    })
}

pub fn decode(format: TileFormat, bytes: &[u8]) -> Picture {
    match format {
        TileFormat::Jpg => decode_jpeg(bytes),
        TileFormat::Png => decode_png(bytes),
        TileFormat::Webp => crate::files::decode(bytes).unwrap(),
    }
}

fn decode_jpeg(bytes: &[u8]) -> Picture {
    let header = mozjpeg::Decompress::new_mem(bytes).unwrap();
    let (width, height) = (header.width() as u32, header.height() as u32);
    let (layout, mut decoder) = match header.image().unwrap() {
        mozjpeg::decompress::Format::Gray(decoder) => (Layout::Grey, decoder),
        mozjpeg::decompress::Format::RGB(decoder) => (Layout::Rgb, decoder),
        mozjpeg::decompress::Format::CMYK(_) => panic!("a tile in CMYK"),
    };
    let mut pixels = vec![0u8; width as usize * height as usize * layout.channels()];
    decoder.read_scanlines_into(&mut pixels).unwrap();
    Picture { width, height, layout, pixels }
}

fn decode_png(bytes: &[u8]) -> Picture {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let layout = match reader.output_color_type().0 {
        png::ColorType::Grayscale => Layout::Grey,
        png::ColorType::Rgb => Layout::Rgb,
        png::ColorType::Rgba => Layout::Rgba,
        other => panic!("a tile in {other:?}"),
    };
    let (width, height) = reader.info().size();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    Picture { width, height, layout, pixels }
}

/// Decodes all tiles of a pyramid on disk. Panics on any other file in its folder.
pub fn read_folder(files: &Path, dzi: &Dzi) -> BTreeMap<TileCoord, Picture> {
    let mut tiles = BTreeMap::new();
    for folder in fs::read_dir(files).unwrap().map(Result::unwrap) {
        let level = folder.file_name().to_str().unwrap().parse().unwrap();
        for file in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = file.file_name().into_string().unwrap();
            let (stem, extension) = name.split_once('.').unwrap();
            assert_eq!(extension, dzi.tile_format.extension());
            let (column, row) = stem.split_once('_').unwrap();
            let coord = TileCoord { level, column: column.parse().unwrap(), row: row.parse().unwrap() };
            tiles.insert(coord, decode(dzi.tile_format, &fs::read(file.path()).unwrap()));
        }
    }
    tiles
}

/// Reassembles the full picture from the tiles of the highest level.
pub fn rebuilt(tiles: &BTreeMap<TileCoord, Picture>, dzi: &Dzi) -> Picture {
    let level = dzi.max_level();
    // A PNG has a palette, whatever the picture's layout, if it has few colours.
    let layout = tiles.values().map(|tile| tile.layout).max_by_key(|layout| layout.channels()).unwrap();
    Picture::new(dzi.size.width, dzi.size.height, layout, |x, y| {
        let (column, row) = (x / dzi.tile_size, y / dzi.tile_size);
        let start = |index: u32| (index * dzi.tile_size).saturating_sub(dzi.tile_overlap);
        tiles[&TileCoord { level, column, row }].colour(x - start(column), y - start(row))
    })
}
