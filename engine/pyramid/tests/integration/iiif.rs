//! The layouts of the IIIF Image API at sides where levels end in a tile of one pixel, read as clients read them.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use edgezoom_codecs::{DecodeOptions, Layout, open_with};
use edgezoom_geometry::{Size, TileFormat};
use edgezoom_pyramid::sinks::{ArchiveFormat, ArchiveSink, DirectorySink, Tree};
use edgezoom_pyramid::{Depth, Options, TileLayout, dzsave};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS};

const LAYOUTS: [TileLayout; 2] = [TileLayout::Iiif, TileLayout::Iiif3];

/// Returns the tiles for which OpenSeadragon asks, and the size of each: `IIIFTileSource.getTileUrl` of version 6.
fn requests(Size { width, height }: Size, tile: u32, layout: TileLayout) -> Vec<(String, Size)> {
    let mut requests = Vec::new();
    let mut scale = 1;
    loop {
        let (wide, high) = (width.div_ceil(scale), height.div_ceil(scale));
        for row in 0..high.div_ceil(tile) {
            for column in 0..wide.div_ceil(tile) {
                let (left, top) = (column * tile * scale, row * tile * scale);
                let (across, down) = ((tile * scale).min(width - left), (tile * scale).min(height - top));
                let is_whole = (across, down) == (width, height);
                let region =
                    if is_whole { "full".to_owned() } else { format!("{left},{top},{across},{down}") };
                let shown =
                    Size { width: tile.min(wide - column * tile), height: tile.min(high - row * tile) };
                let size = match layout {
                    TileLayout::Iiif if shown.width == width => "full".to_owned(),
                    TileLayout::Iiif => format!("{},", shown.width),
                    _ if shown == Size { width, height } => "max".to_owned(),
                    _ => format!("{},{}", shown.width, shown.height),
                };
                requests.push((format!("{region}/{size}/0/default.png"), shown));
            }
        }
        if wide <= tile && high <= tile {
            return requests;
        }
        scale *= 2;
    }
}

fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

#[test]
fn every_side_around_a_power_of_two_has_the_tiles_that_clients_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let sides = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257];
    for (number, &width) in sides.iter().enumerate() {
        // Each width with a height of the same kind, and with another.
        for height in BTreeSet::from([width, sides[(number * 5 + 4) % sides.len()]]) {
            let size = Size { width, height };
            let file = files::png(&Picture::photo(width, height, Layout::Rgb), |_| {});
            for (layout, depth) in LAYOUTS
                .into_iter()
                .flat_map(|layout| [Depth::OneTile, Depth::OnePixel].map(|depth| (layout, depth)))
            {
                let options = Options {
                    layout,
                    depth,
                    tile_size: 32,
                    format: Some(TileFormat::Png),
                    ..Options::default()
                };
                let what = format!("{width}×{height}, {layout:?}, {depth:?}");
                let open = |decode: &DecodeOptions| open_with(files::file(&file), BOUNDS, decode);
                let path = folder.path().join(format!("{width}-{height}-{layout:?}-{depth:?}"));
                let directory = DirectorySink::new(&path).unwrap().with_tree(Tree::of(&options));
                dzsave(open, &directory, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
                let written = files(&path);
                for (request, shown) in requests(size, 32, layout) {
                    assert!(written.contains(&request), "{what}: no {request}");
                    let tile = files::decode(&fs::read(path.join(&request)).unwrap()).unwrap();
                    // Names of version 2 have no height: that of a column one pixel wide is the unscaled one.
                    let is_alike = tile.size() == shown || layout == TileLayout::Iiif && shown.width == 1;
                    assert!(is_alike && tile.width == shown.width, "{what}: {request} is {:?}", tile.size());
                }
                let archive = ArchiveSink::new(&path, ArchiveFormat::Zip, SystemTime::UNIX_EPOCH).unwrap();
                dzsave(open, &archive.with_tree(Tree::of(&options)), &options).unwrap();
                let zip = fs::File::open(path.with_extension("zip")).unwrap();
                let entries = ::zip::ZipArchive::new(zip).unwrap().len();
                assert_eq!(entries, written.len(), "{what}: an archive has each name once");
            }
        }
    }
}

#[test]
fn a_picture_smaller_than_a_tile_can_be_asked_for_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (side, names) in [(20, [true, true]), (32, [true, true]), (33, [false, false])] {
        let picture = Picture::photo(side, side - 5, Layout::Rgb);
        let file = files::png(&picture, |_| {});
        for (layout, has_full) in LAYOUTS.into_iter().zip([names[0], false]) {
            let options =
                Options { layout, tile_size: 32, format: Some(TileFormat::Png), ..Options::default() };
            let path = folder.path().join(format!("{side}-{layout:?}"));
            let sink = DirectorySink::new(&path).unwrap().with_tree(Tree::of(&options));
            let open = |decode: &DecodeOptions| open_with(files::file(&file), BOUNDS, decode);
            dzsave(open, &sink, &options).unwrap();
            let whole = |size: &str| fs::read(path.join(format!("full/{size}/0/default.png"))).ok();
            assert_eq!(whole("full").is_some(), has_full, "{side}, {layout:?}");
            let max = whole("max").map(|tile| files::decode(&tile).unwrap());
            assert_eq!(max, names[1].then(|| picture.clone()), "{side}, {layout:?}");
        }
    }
}
