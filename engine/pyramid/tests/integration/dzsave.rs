//! `dzsave`, the crate's main function: converts a file to a published pyramid.

use std::cell::Cell;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::SystemTime;

use edgezoom_codecs::{Damage, DecodeOptions, Layout, RowReader, SourceError, open_with};
use edgezoom_geometry::{Dzi, TileFormat};
use edgezoom_pyramid::sinks::{ArchiveFormat, ArchiveSink, DirectorySink, PyramidWriter, Sink, SinkError};
use edgezoom_pyramid::{BuildError, Built, DzsaveError, Options, Tile, dzsave};

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS};
use edgezoom_test_support::pyramid::{read_folder, rebuilt, reference};

fn opener(file: &[u8]) -> impl FnMut(&DecodeOptions) -> Result<Box<dyn RowReader>, SourceError> {
    move |decode| open_with(files::file(file), BOUNDS, decode)
}

fn options(tile_size: u32) -> Options {
    Options { tile_size, ..Options::default() }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_transparent_picture_becomes_png_tiles_that_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let picture = Picture::noise(333, 217, Layout::Rgba);
    let sink = DirectorySink::new(folder.path().join("out.dzi")).unwrap();
    let dzi = dzsave(opener(&files::png(&picture, |_| {})), &sink, &options(100)).unwrap().dzi;
    let expected =
        Dzi { size: picture.size(), tile_size: 100, tile_overlap: 0, tile_format: TileFormat::Png };
    assert_eq!(dzi, expected);
    assert_eq!(names(folder.path()), ["out.dzi", "out_files"]);
    assert_eq!(fs::read_to_string(sink.descriptor()).unwrap(), dzi.descriptor());
    let tiles = read_folder(&sink.files(), &dzi);
    assert!(tiles == reference(&picture, &dzi));
    assert!(rebuilt(&tiles, &dzi) == picture);
}

#[test]
fn an_opacity_channel_that_is_opaque_everywhere_becomes_jpeg() {
    let folder = tempfile::tempdir().unwrap();
    let mut picture = Picture::photo(300, 200, Layout::Rgba);
    picture.pixels.iter_mut().skip(3).step_by(4).for_each(|alpha| *alpha = 255);
    let file = files::png(&picture, |_| {});
    let opened = Cell::new(0);
    let open = |decode: &DecodeOptions| {
        opened.set(opened.get() + 1);
        open_with(files::file(&file), BOUNDS, decode)
    };
    let save = |name: &str, format| {
        let sink = DirectorySink::new(folder.path().join(name)).unwrap();
        dzsave(open, &sink, &Options { format, ..options(100) }).unwrap().dzi.tile_format
    };
    assert_eq!(save("searched", None), TileFormat::Jpg);
    assert_eq!(opened.take(), 2);
    for format in [TileFormat::Png, TileFormat::Jpg] {
        assert_eq!(save(format.extension(), Some(format)), format);
        assert_eq!(opened.take(), 1, "a given format needs no search for opacity");
    }
}

#[test]
fn a_transparent_picture_as_jpeg_is_flattened_onto_white() {
    let folder = tempfile::tempdir().unwrap();
    let picture = Picture::new(60, 40, Layout::Rgba, |_, _| [200, 0, 0, 0]);
    let sink = DirectorySink::new(folder.path().join("out")).unwrap();
    let options = Options { format: Some(TileFormat::Jpg), ..options(100) };
    let dzi = dzsave(opener(&files::png(&picture, |_| {})), &sink, &options).unwrap().dzi;
    let shown = rebuilt(&read_folder(&sink.files(), &dzi), &dzi);
    assert!(shown.pixels.iter().all(|&sample| sample >= 254));
}

#[test]
fn an_archive_has_the_tiles_of_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let file = files::png(&Picture::photo(500, 300, Layout::Rgb), |_| {});
    let directory = DirectorySink::new(folder.path().join("out")).unwrap();
    let dzi = dzsave(opener(&file), &directory, &options(100)).unwrap().dzi;
    for format in [ArchiveFormat::Zip, ArchiveFormat::Szi] {
        let archive = ArchiveSink::new(folder.path().join("out"), format, SystemTime::now()).unwrap();
        assert_eq!(dzsave(opener(&file), &archive, &options(100)).unwrap().dzi, dzi);
        let mut archive = ::zip::ZipArchive::new(fs::File::open(archive.path()).unwrap()).unwrap();
        let besides = if format == ArchiveFormat::Szi { 3 } else { 1 };
        assert_eq!(archive.len() as u64, dzi.tile_count() + besides);
        for number in 0..archive.len() {
            let mut entry = archive.by_index(number).unwrap();
            let name = entry.name().unwrap().into_owned();
            if ["out/scan-properties.xml", "out/tile-index.bin"].contains(&name.as_str()) {
                continue;
            }
            let path = folder.path().join(name.strip_prefix("out/").unwrap());
            let mut content = Vec::new();
            io::Read::read_to_end(&mut entry, &mut content).unwrap();
            assert!(content == fs::read(&path).unwrap(), "{}", path.display());
        }
    }
}

#[test]
fn options_out_of_range_are_refused_before_the_picture_is_opened() {
    let open = |_: &DecodeOptions| -> Result<Box<dyn RowReader>, SourceError> { panic!("opened") };
    let sink = DirectorySink::new("nowhere/out").unwrap();
    let good = Options::default();
    for (options, message) in [
        (Options { tile_size: 0, ..good }, "the tile size must be 1 to 4096"),
        (Options { tile_size: 5000, ..good }, "the tile size must be 1 to 4096"),
        (Options { overlap: 513, ..good }, "the overlap must not be more than the tile size"),
        (Options { centre: true, ..good }, "only the layout google can be centred"),
        (Options { quality: 101, ..good }, "the quality must be 1 to 100"),
    ] {
        assert_eq!(dzsave(open, &sink, &options).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_picture_that_is_cut_off_is_saved_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let picture = Picture::noise(300, 200, Layout::Rgb);
    let file = files::png(&picture, |_| {});
    let sink = DirectorySink::new(folder.path().join("out")).unwrap();
    let options = Options { format: Some(TileFormat::Png), ..options(100) };
    let Built { dzi, damage, .. } = dzsave(opener(&file[..file.len() / 2]), &sink, &options).unwrap();
    let Some(Damage::FromRow { row, rows: 200 }) = damage else { panic!("{damage:?}") };
    assert!((90..=100).contains(&row), "{row}");
    let shown = rebuilt(&read_folder(&sink.files(), &dzi), &dzi);
    let (good, missing) = shown.pixels.split_at(row as usize * picture.row_bytes());
    assert!(*good == picture.pixels[..good.len()]);
    assert!(missing.iter().all(|&sample| sample == 128));
}

#[test]
fn a_picture_that_is_cut_off_leaves_nothing_where_that_is_refused() {
    let file = files::png(&Picture::photo(500, 300, Layout::Rgb), |_| {});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let sinks: [Box<dyn Sink>; 2] = [
        Box::new(DirectorySink::new(&path).unwrap()),
        Box::new(ArchiveSink::new(&path, ArchiveFormat::Szi, SystemTime::now()).unwrap()),
    ];
    for sink in sinks {
        let error =
            dzsave(opener(&file[..file.len() / 2]), &*sink, &Options { strict: true, ..options(100) })
                .unwrap_err();
        assert!(
            matches!(error, DzsaveError::Build(BuildError::Source(SourceError::Corrupt { .. }))),
            "{error}"
        );
        assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    }
}

/// A sink that fails at its tenth tile.
struct Failing;

struct FailingWriter(u32);

impl Sink for Failing {
    fn begin(&self, _: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError> {
        Ok(Box::new(FailingWriter(0)))
    }
}

impl PyramidWriter for FailingWriter {
    fn put(&mut self, _: Tile) -> Result<(), SinkError> {
        self.0 += 1;
        if self.0 == 10 { Err(SinkError::Other("no room for tiles".into())) } else { Ok(()) }
    }

    fn publish(self: Box<Self>) -> Result<(), SinkError> {
        panic!("published")
    }
}

#[test]
fn the_error_of_a_third_party_sink_is_returned() {
    let file = files::png(&Picture::photo(500, 300, Layout::Rgb), |_| {});
    for threads in [1, 2, 4] {
        let options = Options { threads: NonZeroUsize::new(threads).unwrap(), ..options(50) };
        let error = dzsave(opener(&file), &Failing, &options).unwrap_err();
        assert!(matches!(error, DzsaveError::Sink(SinkError::Other(_))), "{error}");
        assert_eq!(error.to_string(), "no room for tiles");
    }
}
