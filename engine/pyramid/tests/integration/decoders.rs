//! Tiles of every kind for tests of decoders. `engine/pyramid/tests/tiles/` has each tile, and its pixels as
//! libjpeg-turbo decodes them; the viewer's tests compare them with what Chromium, Firefox and WebKit show.
//!
//! `EDGEZOOM_WRITE_TILES=1 cargo test --test integration decoders` writes them again.

use std::fs;
use std::path::{Path, PathBuf};

use edgezoom_codecs::Layout;
use edgezoom_geometry::{Dzi, TileFormat};
use edgezoom_test_support::Picture;
use edgezoom_test_support::pyramid::decode;

use crate::output;

struct Kind {
    name: &'static str,
    picture: Picture,
    format: TileFormat,
    quality: u8,
}

fn kinds() -> Vec<Kind> {
    let photo = |width, height, layout| Picture::photo(width, height, layout);
    let jpeg = |name, picture, quality| Kind { name, picture, format: TileFormat::Jpg, quality };
    let png = |name, picture| Kind { name, picture, format: TileFormat::Png, quality: 82 };
    // Squares in these many colours, the first of which is transparent.
    let squares = |colours: u32| {
        Picture::new(61, 40, Layout::Rgba, move |x, y| {
            let number = (x / 3 + y / 2 * 21) % colours;
            let [red, green, blue] = [number * 255 / colours, number * 97 % 256, 255 - number * 31 % 256];
            [red as u8, green as u8, blue as u8, if number == 0 { 90 } else { 255 }]
        })
    };
    let text = |x: u32, y: u32| if (x * x / 7 + y * 3) % 9 < 3 && y % 12 < 8 { 255 } else { 0 };
    vec![
        jpeg("photograph", photo(96, 80, Layout::Rgb), 82),
        jpeg("odd-size", photo(77, 53, Layout::Rgb), 82),
        jpeg("low-quality", photo(96, 80, Layout::Rgb), 30),
        jpeg("full-chroma", photo(64, 48, Layout::Rgb), 95),
        jpeg("grey", photo(64, 48, Layout::Grey), 82),
        jpeg("noise", Picture::noise(48, 48, Layout::Rgb), 82),
        jpeg("red-on-black", Picture::new(64, 48, Layout::Rgb, move |x, y| [text(x, y), 0, 0, 0]), 82),
        png("one-colour", squares(1)),
        png("two-colours", squares(2)),
        png("four-colours", squares(4)),
        png("sixteen-colours", squares(16)),
        png("many-colours", squares(200)),
        png("greys", Picture::new(61, 40, Layout::Rgb, |x, y| [(x / 2 * 8 + y / 20) as u8; 4])),
        png("cut-out", photo(61, 40, Layout::Rgba)),
    ]
}

fn tile(Kind { picture, format, quality, .. }: &Kind) -> Vec<u8> {
    let dzi = Dzi { size: picture.size(), tile_size: 128, tile_overlap: 0, tile_format: *format };
    let tiles = output::build(&mut picture.reader(), &dzi, *quality, 1);
    tiles.into_iter().next_back().unwrap().1
}

/// Encodes without a palette, as all decoders agree about.
fn plain_png(picture: &Picture) -> Vec<u8> {
    let mut file = vec![];
    let mut encoder = png::Encoder::new(&mut file, picture.width, picture.height);
    encoder.set_color(png::ColorType::Rgba);
    let places = (0..picture.height).flat_map(|y| (0..picture.width).map(move |x| (x, y)));
    let pixels: Vec<u8> = places.flat_map(|(x, y)| picture.colour(x, y)).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    file
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tiles")
}

#[test]
fn the_stored_tiles_are_those_that_encoders_make_and_libjpeg_turbo_decodes() {
    for kind in kinds() {
        let bytes = tile(&kind);
        let path = folder().join(format!("{}.{}", kind.name, kind.format.extension()));
        let pixels = folder().join(format!("{}.pixels.png", kind.name));
        let decoded = decode(kind.format, &bytes);
        if std::env::var_os("EDGEZOOM_WRITE_TILES").is_some() {
            fs::create_dir_all(folder()).unwrap();
            fs::write(&path, &bytes).unwrap();
            fs::write(&pixels, plain_png(&decoded)).unwrap();
        }
        let again = "is out of date: set EDGEZOOM_WRITE_TILES=1 to write it again";
        assert!(fs::read(&path).unwrap() == bytes, "{} {again}", path.display());
        let stored = decode(TileFormat::Png, &fs::read(&pixels).unwrap());
        assert!(stored == decoded, "{} {again}", pixels.display());
    }
}
