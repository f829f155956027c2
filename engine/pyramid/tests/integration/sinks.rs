//! Sinks: what they refuse and replace, and that they leave no partial output.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use edgezoom_geometry::{Dzi, Size, TileFormat};
use edgezoom_pyramid::sinks::{ArchiveFormat, ArchiveSink, DirectorySink, Sink, SinkError, Tree};
use edgezoom_pyramid::{Options, Tile, TileLayout};

const DZI: Dzi =
    Dzi { size: Size { width: 2, height: 1 }, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };

fn tile(level: u32) -> Tile {
    Tile { level, column: 0, row: 0, bytes: Bytes::from_static(b"a tile") }
}

/// Returns both sinks for the name `out` in a folder.
fn sinks(folder: &Path, replaces: bool) -> [Box<dyn Sink>; 2] {
    let path = folder.join("out");
    let archive = ArchiveSink::new(&path, ArchiveFormat::Szi, SystemTime::UNIX_EPOCH).unwrap();
    [Box::new(DirectorySink::new(&path).unwrap().replacing(replaces)), Box::new(archive.replacing(replaces))]
}

fn save(sink: &dyn Sink) -> Result<(), SinkError> {
    let mut writer = sink.begin(&DZI)?;
    writer.put(tile(0))?;
    writer.put(tile(1))?;
    writer.publish()
}

/// Returns the paths of all files below a folder.
fn entries(folder: &Path) -> Vec<String> {
    fn collect(folder: &Path, prefix: &str, entries: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                collect(&entry.path(), &format!("{name}/"), entries);
            } else {
                entries.push(name);
            }
        }
    }
    let mut all = Vec::new();
    collect(folder, "", &mut all);
    all.sort();
    all
}

const PUBLISHED: [&str; 4] = ["out.dzi", "out.szi", "out_files/0/0_0.jpg", "out_files/1/0_0.jpg"];

#[test]
fn nothing_is_visible_before_a_pyramid_is_published() {
    let folder = tempfile::tempdir().unwrap();
    for sink in sinks(folder.path(), false) {
        let mut writer = sink.begin(&DZI).unwrap();
        writer.put(tile(0)).unwrap();
        sink.check().unwrap();
        writer.publish().unwrap();
        assert!(matches!(sink.check(), Err(SinkError::Exists(_))));
    }
    assert_eq!(entries(folder.path())[..3], PUBLISHED[..3]);
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for sink in sinks(folder.path(), false) {
        let mut writer = sink.begin(&DZI).unwrap();
        writer.put(tile(0)).unwrap();
        drop(writer);
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    }
}

#[test]
fn a_pyramid_is_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    for sink in sinks(folder.path(), false) {
        save(&*sink).unwrap();
        let error = save(&*sink).unwrap_err();
        assert!(error.to_string().ends_with("exists already"), "{error}");
    }
    fs::write(folder.path().join("out_files/old"), "").unwrap();
    for sink in sinks(folder.path(), true) {
        sink.check().unwrap();
        save(&*sink).unwrap();
    }
    assert_eq!(entries(folder.path()), PUBLISHED);
}

#[test]
fn a_pyramid_that_appears_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    for (sink, other) in sinks(folder.path(), false).into_iter().zip(["out.dzi", "out.szi"]) {
        let mut writer = sink.begin(&DZI).unwrap();
        writer.put(tile(0)).unwrap();
        fs::write(folder.path().join(other), "of another program").unwrap();
        assert!(matches!(writer.publish(), Err(SinkError::Exists(_))));
        assert_eq!(fs::read(folder.path().join(other)).unwrap(), b"of another program");
    }
    assert_eq!(entries(folder.path()), ["out.dzi", "out.szi"]);
}

#[test]
fn a_tile_that_cannot_be_written_is_an_error_when_publishing_at_the_latest() {
    let folder = tempfile::tempdir().unwrap();
    let sink = DirectorySink::new(folder.path().join("out")).unwrap();
    let mut writer = sink.begin(&DZI).unwrap();
    let put = writer.put(tile(7));
    let error = put.and_then(|()| writer.publish()).unwrap_err();
    assert!(matches!(error, SinkError::Io { .. }), "{error}");
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn a_folder_that_does_not_exist_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    for sink in sinks(&missing, false) {
        let error = save(&*sink).unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot write {}", missing.display())), "{error}");
    }
}

const LAYOUTS: [TileLayout; 4] =
    [TileLayout::Zoomify, TileLayout::Google, TileLayout::Iiif, TileLayout::Iiif3];

#[test]
fn no_layout_leaves_anything_unless_it_is_published() {
    let folder = tempfile::tempdir().unwrap();
    for layout in LAYOUTS {
        let tree = Tree::of(&Options { layout, ..Options::default() });
        let path = folder.path().join("out");
        let archive = ArchiveSink::new(&path, ArchiveFormat::Zip, SystemTime::UNIX_EPOCH).unwrap();
        let sinks: [Box<dyn Sink>; 2] = [
            Box::new(DirectorySink::new(&path).unwrap().with_tree(tree.clone())),
            Box::new(archive.with_tree(tree)),
        ];
        for (sink, other) in sinks.into_iter().zip(["out", "out.zip"]) {
            let mut writer = sink.begin(&DZI).unwrap();
            writer.put(tile(0)).unwrap();
            drop(writer);
            assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "{layout:?}");

            let mut writer = sink.begin(&DZI).unwrap();
            let put = writer.put(tile(7));
            let error = put.and_then(|()| writer.publish()).unwrap_err();
            assert!(matches!(error, SinkError::Io { .. }), "{error}");
            assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "{layout:?}");

            let mut writer = sink.begin(&DZI).unwrap();
            writer.put(tile(0)).unwrap();
            fs::write(folder.path().join(other), "of another program").unwrap();
            assert!(matches!(writer.publish(), Err(SinkError::Exists(_))));
            assert_eq!(entries(folder.path()), [other]);
            fs::remove_file(folder.path().join(other)).unwrap();
        }
    }
}
