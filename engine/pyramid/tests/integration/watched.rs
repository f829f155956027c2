//! Sources that are no files, progress, and cancelling: in opening and reading, at random moments.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use edgezoom_codecs::{
    Bounds, Cancel, DecodeOptions, Layout, Pixels, ReadAt, RowReader, SourceError, SourceFile, open_with,
};
use edgezoom_pyramid::sinks::DirectorySink;
use edgezoom_pyramid::{DzsaveError, Observer, Options, dzsave, dzsave_with};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg};

/// Returns the contents of all files below a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(
                contents(&entry.path()).into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)),
            );
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

type Reader = Result<Box<dyn RowReader>, SourceError>;

/// Returns the pyramid of a source.
fn pyramid(open: impl FnMut(&DecodeOptions) -> Reader) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let sink = DirectorySink::new(folder.path().join("out")).unwrap();
    dzsave(open, &sink, &Options::default()).unwrap();
    contents(folder.path())
}

/// Bytes that are read a few at a time, with a number of reads after which a flag is set.
struct Slowly {
    bytes: Vec<u8>,
    reads: AtomicU64,
    cancel: (u64, Cancel),
}

impl ReadAt for Slowly {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.reads.fetch_add(1, Ordering::Relaxed) == self.cancel.0 {
            self.cancel.1.cancel();
        }
        let most = into.len().min(1 + 977 * (1 + offset as usize % 3));
        self.bytes.as_slice().read_at(&mut into[..most], offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }
}

fn sources() -> Vec<(&'static str, Vec<u8>)> {
    let photo = Picture::photo(700, 500, Layout::Rgb);
    let opacity = Picture::photo(300, 200, Layout::Rgba);
    vec![
        ("JPEG", files::jpeg(&photo, Jpeg::default())),
        ("progressive JPEG", files::jpeg(&photo, Jpeg { progressive: true, ..Jpeg::default() })),
        ("PNG", files::png(&photo, |_| ())),
        ("PNG with opacity", files::png(&opacity, |_| ())),
        ("TIFF", files::tiff(&photo, 16, None)),
        ("turned TIFF", files::tiff(&photo, 16, Some(6))),
        ("WebP", files::webp(&photo, None)),
        ("BMP", files::bmp(&photo)),
    ]
}

#[test]
fn files_bytes_and_anything_that_is_read_at_an_offset_give_the_same_tiles() {
    let bounds = Bounds::default();
    for (name, bytes) in sources() {
        let file = pyramid(|decode| open_with(files::file(&bytes), bounds, decode));
        assert!(file.len() > 10, "{name}");
        let memory = pyramid(|decode| open_with(bytes.clone(), bounds, decode));
        assert!(memory == file, "{name} in memory");
        let never = (u64::MAX, Cancel::default());
        let source = SourceFile::of(Slowly { bytes, reads: AtomicU64::new(0), cancel: never });
        let slowly = pyramid(|decode| open_with(source.clone(), bounds, decode));
        assert!(slowly == file, "{name} in pieces");
    }
}

#[test]
fn pixels_with_a_stride_give_the_tiles_of_the_file_that_has_them() {
    for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
        let picture = Picture::photo(700, 500, layout);
        let row = layout.row_bytes(700);
        let padded: Arc<[u8]> =
            picture.pixels.chunks_exact(row).flat_map(|row| [row, &[9, 9, 9]].concat()).collect();
        let pixels = Pixels::new(padded, 700, 500, layout).unwrap().with_stride(row + 3).unwrap();
        let of_pixels = pyramid(|_| Ok(Box::new(pixels.clone())));
        let png = files::png(&picture, |_| ());
        assert!(
            of_pixels == pyramid(|decode| open_with(png.clone(), Bounds::default(), decode)),
            "{layout:?}"
        );
    }
}

#[test]
fn progress_never_falls_and_ends_with_the_last_row() {
    let bytes = files::png(&Picture::photo(300, 1000, Layout::Rgb), |_| ());
    let seen = Mutex::new(vec![]);
    let observer = |rows: u32, of: u32| seen.lock().unwrap().push((rows, of));
    let folder = tempfile::tempdir().unwrap();
    let sink = DirectorySink::new(folder.path().join("out")).unwrap();
    let open = |decode: &_| open_with(bytes.clone(), Bounds::default(), decode);
    dzsave_with(open, &sink, &Options::default(), &observer).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 10 && seen.is_sorted() && seen.iter().all(|(_, of)| *of == 1000), "{seen:?}");
    assert_eq!(seen.last(), Some(&(1000, 1000)));
}

/// Sets a flag at the given call.
struct CancelsAt {
    call: u32,
    calls: AtomicU32,
    cancel: Cancel,
}

impl Observer for CancelsAt {
    fn progress(&self, _: u32, _: u32) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.call {
            self.cancel.cancel();
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

#[test]
fn whenever_it_is_cancelled_nothing_is_left() {
    let mut random = fastrand::Rng::with_seed(5);
    let (mut cancelled, mut done) = (0, 0);
    for (name, bytes) in sources() {
        for _ in 0..15 {
            let cancel = Cancel::default();
            // By a read of the file, which opening does, too, or while tiles are made.
            let [read, call] = [random.u64(0..60), random.u64(0..60)];
            let source =
                Slowly { bytes: bytes.clone(), reads: AtomicU64::new(0), cancel: (read, cancel.clone()) };
            let file = SourceFile::of(source).cancelled_by(&cancel);
            let observer = CancelsAt { call: call as u32, calls: AtomicU32::new(0), cancel };
            let folder = tempfile::tempdir().unwrap();
            let sink = DirectorySink::new(folder.path().join("out")).unwrap();
            let options = Options { threads: 2.try_into().unwrap(), ..Options::default() };
            let open = |decode: &_| open_with(file.clone(), Bounds::default(), decode);
            match dzsave_with(open, &sink, &options, &observer) {
                Ok(_) => done += 1,
                Err(DzsaveError::Cancelled) => {
                    cancelled += 1;
                    drop(sink);
                    assert_eq!(contents(folder.path()), BTreeMap::new(), "{name} {read} {call}");
                }
                Err(error) => panic!("{name} {read} {call}: {error}"),
            }
        }
    }
    assert!(cancelled >= 50, "{cancelled} cancelled, {done} done");
}

#[test]
fn a_panic_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sink = DirectorySink::new(folder.path().join("out")).unwrap();
    let bytes = files::png(&Picture::photo(300, 1000, Layout::Rgb), |_| ());
    let observer = |rows: u32, _: u32| assert!(rows < 500, "of the test");
    let open = |decode: &_| open_with(bytes.clone(), Bounds::default(), decode);
    let ended = dzsave_with(open, &sink, &Options::default(), &observer);
    assert!(matches!(ended, Err(DzsaveError::Panicked)), "{ended:?}");
    assert_eq!(contents(folder.path()), BTreeMap::new());
}
