//! Runs `tiler convert` as a user would.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use edgezoom_codecs::{Format, Layout};
use edgezoom_content::{Dzi, Size, TileFormat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use edgezoom_test_support::files::{self, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::{read_folder, rebuilt, reference};
use edgezoom_test_support::{Picture, patience};

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).arg("convert").args(args);
    command
}

fn convert(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// Creates a folder with one file.
fn folder_with(name: &str, bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    folder
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns the one line that a failed command prints.
pub(crate) fn error_line(output: &Output) -> String {
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(message.lines().count(), 1, "{message}");
    message.trim_end().to_owned()
}

fn dzi(picture: &Picture, tile_size: u32, tile_overlap: u32, tile_format: TileFormat) -> Dzi {
    Dzi { size: picture.size(), tile_size, tile_overlap, tile_format }
}

/// Serves a picture on loopback for one request, and returns its URL.
fn serve(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/picture.png", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = connection.read(&mut request).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
        connection.write_all(&[head.as_bytes(), &bytes].concat()).unwrap();
    });
    url
}

#[test]
fn a_picture_on_the_web_is_downloaded_first() {
    let picture = Picture::photo(70, 50, Layout::Rgba);
    let folder = tempfile::tempdir().unwrap();
    let url = serve(files::png(&picture, |_| {}));
    let output = convert(folder.path(), &[&url, "--allow-networks=127.0.0.0/8"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(folder.path()), ["picture.dzi", "picture_files"]);
}

/// Serves files on loopback by their paths. Returns the address, and the paths that are requested.
pub(crate) fn serve_files(
    files: impl FnOnce(&str) -> Vec<(&'static str, Vec<u8>)>,
) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let files: BTreeMap<_, _> = files(&address).into_iter().collect();
    let (requested, requests) = mpsc::channel();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let (mut connection, mut request) = (connection.unwrap(), [0; 4096]);
            let read = connection.read(&mut request).unwrap();
            let path = String::from_utf8_lossy(&request[..read]).split(' ').nth(1).unwrap().to_owned();
            let (status, body) = files.get(path.as_str()).map_or((404, &[][..]), |body| (200, body));
            let head = format!("HTTP/1.1 {status} .\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = requested.send(path);
            connection.write_all(&[head.as_bytes(), body].concat()).unwrap();
        }
    });
    (address, requests)
}

#[test]
fn the_description_of_a_picture_leads_to_it() {
    let picture = files::jpeg(&Picture::photo(70, 50, Layout::Rgb), Jpeg::default());
    let info = |id: &str, width: u32| {
        let context = "http://iiif.io/api/image/3/context.json";
        format!(r#"{{"@context":"{context}","id":"{id}","width":{width},"height":9}}"#).into_bytes()
    };
    let (server, requests) = serve_files(|server| {
        let manifest = format!(
            r#"{{"@context":"http://iiif.io/api/presentation/3/context.json","type":"Manifest","items":[{{}},{{"items":[
                {{"items":[{{"body":{{"type":"Image","service":[{{"id":"{server}/b","type":"ImageService3"}}]}}}}]}}]}}]}}"#
        );
        vec![
            ("/a/info.json", info("/a", 70)),
            ("/a/full/max/0/default.jpg", picture.clone()),
            ("/manifest.json", manifest.into_bytes()),
            ("/b/info.json", info("/b", 1400)),
            ("/b/full/max/0/default.jpg", picture),
            ("/c/info.json", info("/c", 70)),
            ("/c/full/max/0/default.jpg", info("/a", 70)),
            ("/d/info.json", info("/d", 70)),
            ("/d/full/max/0/default.jpg", b"<!doctype html><p>Log in".to_vec()),
            ("/e/info.json", info("http://10.0.0.1/e", 70)),
        ]
    });
    let folder = folder_with("local.json", &info(&format!("{server}/a"), 70));
    for (source, expected, message) in [
        ("/a/info.json", &["/a/info.json", "/a/full/max/0/default.jpg"][..], ""),
        ("local.json", &["/a/full/max/0/default.jpg"], ""),
        (
            "/manifest.json#page=2",
            &["/manifest.json", "/b/info.json", "/b/full/max/0/default.jpg"],
            "The server states 1,400 pixels on the longer side, but offers the picture only in this size.",
        ),
        ("/manifest.json#page=3", &["/manifest.json"], "no page 3: its last one is 2."),
        ("/manifest.json", &["/manifest.json"], "has no picture on page 1."),
        ("/c/info.json", &["/c/info.json", "/c/full/max/0/default.jpg"], "unknown format"),
        ("/d/info.json", &["/d/info.json", "/d/full/max/0/default.jpg"], "leads to a web page"),
        ("/e/info.json", &["/e/info.json"], "--allow-networks"),
    ] {
        let source = if source.starts_with('/') { format!("{server}{source}") } else { source.to_owned() };
        let output =
            convert(folder.path(), &[&source, "-o", "out", "--force", "--allow-networks=127.0.0.0/8"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.success(),
            message.is_empty() || message.contains("offers"),
            "{source}: {said}"
        );
        assert!(said.is_empty() == message.is_empty() && said.contains(message), "{source}: {said}");
        assert_eq!(requests.try_iter().collect::<Vec<_>>(), expected, "{source}");
    }
}

#[test]
fn a_private_network_is_refused_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(files::png(&Picture::photo(7, 5, Layout::Rgb), |_| {}));
    let message = error_line(&convert(folder.path(), &[&url]));
    assert!(message.contains(&url) && message.contains("--allow-networks"), "{message}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_png_with_opacity_becomes_an_exact_pyramid() {
    let picture = Picture::photo(1027, 513, Layout::Rgba);
    let folder = folder_with("a.png", &files::png(&picture, |_| {}));
    let output = convert(folder.path(), &["a.png", "-o", "out"]);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(names(folder.path()), ["a.png", "out.dzi", "out_files"]);

    let dzi = dzi(&picture, 512, 0, TileFormat::Png);
    assert_eq!(fs::read_to_string(folder.path().join("out.dzi")).unwrap(), dzi.descriptor());
    let tiles = read_folder(&folder.path().join("out_files"), &dzi);
    assert!(tiles == reference(&picture, &dzi));
}

#[test]
fn an_output_is_a_name_with_or_without_libvips_ending_or_a_directory() {
    let folder = folder_with("a.png", &files::png(&Picture::photo(9, 7, Layout::Rgb), |_| {}));
    fs::create_dir(folder.path().join("out")).unwrap();
    for (output, descriptor) in
        [("b.dz", "b.dzi"), ("c.dzi", "c.dzi"), ("out", "out/a.dzi"), ("out/d.e", "out/d.e.dzi")]
    {
        let converted = convert(folder.path(), &["a.png", "-o", output]);
        assert!(converted.status.success(), "{converted:?}");
        assert!(folder.path().join(descriptor).is_file(), "{output}: {:?}", names(folder.path()));
    }
}

#[test]
fn the_words_of_a_document_are_written_on_request() {
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100"><text x="9" y="50">two words</text></svg>"#;
    let folder = folder_with("a.svg", svg.as_bytes());
    for (flags, written) in [
        (&["--text"][..], &["a.svg", "out.dzi", "out.hocr", "out.text.json", "out_files"][..]),
        (&[], &["a.svg", "out.dzi", "out_files"]),
    ] {
        let output = convert(folder.path(), &[&["a.svg", "-o", "out", "--svg-side", "600"], flags].concat());
        assert!(output.status.success(), "{output:?}");
        assert_eq!(names(folder.path()), written);
        if flags.is_empty() {
            continue;
        }
        let [json, hocr] =
            ["out.text.json", "out.hocr"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
        assert!(json.contains(r#""text":"two words""#) && hocr.contains(">words</span>"), "{json} {hocr}");
        for name in ["out.dzi", "out.hocr", "out.text.json"] {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        fs::remove_dir_all(folder.path().join("out_files")).unwrap();
    }
}

#[test]
fn a_photograph_becomes_similar_jpeg_tiles() {
    let picture = Picture::photo(1500, 1100, Layout::Rgb);
    let folder = folder_with("a.jpg", &files::jpeg(&picture, Jpeg::default()));
    let output =
        convert(folder.path(), &["a.jpg", "--tile-size", "254", "--quality", "75", "--threads", "3"]);
    assert!(output.status.success(), "{output:?}");
    let dzi = dzi(&picture, 254, 0, TileFormat::Jpg);
    let tiles = read_folder(&folder.path().join("a_files"), &dzi);
    assert_eq!(tiles.len() as u64, dzi.tile_count());
    compare(&rebuilt(&tiles, &dzi), &picture, Tolerance::lossy(2.6, 10, 3.5)).unwrap();
}

/// Reads the entries of an archive with the crate `zip`.
fn entries(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(fs::File::open(archive).unwrap()).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let read = |name: String| {
        let mut entry = archive.by_name(&name).unwrap();
        assert_eq!(entry.compression(), zip::CompressionMethod::Stored);
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (name, content)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn an_archive_contains_the_same_as_the_folder() {
    let picture = Picture::photo(700, 500, Layout::Rgb);
    let folder = folder_with("a.jpg", &files::jpeg(&picture, Jpeg::default()));
    let run = |args: &[&str]| {
        let output = convert(folder.path(), &[&["a.jpg", "--tile-size", "254"], args].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    };
    run(&["-o", "b"]);
    run(&["-o", "b", "--container", "zip"]);
    run(&["-o", "b.szi"]);
    assert_eq!(names(folder.path()), ["a.jpg", "b.dzi", "b.szi", "b.zip", "b_files"]);

    let dzi = dzi(&picture, 254, 0, TileFormat::Jpg);
    let mut expected = BTreeMap::from([("b/b.dzi".to_owned(), dzi.descriptor().into_bytes())]);
    for level in 0..=dzi.max_level() {
        let (columns, rows) = dzi.grid(level);
        for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))) {
            let path = format!("b_files/{}", dzi.tile_path(level, column, row));
            let tile = fs::read(folder.path().join(&path)).unwrap();
            expected.insert(format!("b/{path}"), tile);
        }
    }
    assert!(entries(&folder.path().join("b.zip")) == expected);
    let mut szi = entries(&folder.path().join("b.szi"));
    let properties = String::from_utf8(szi.remove("b/scan-properties.xml").unwrap()).unwrap();
    assert!(szi.remove("b/tile-index.bin").unwrap().starts_with(b"EZTILES1"));
    assert!(szi == expected);
    assert!(properties.contains("http://www.pathozoom.com/szi"), "{properties}");
    for (name, value) in [("ImageWidth", 700), ("ImageHeight", 500)] {
        let property = format!("<name>{name}</name>\n      <value type=\"gint\">{value}</value>");
        assert!(properties.contains(&property), "{properties}");
    }
}

#[test]
fn an_existing_archive_is_kept_unless_forced_and_a_failure_leaves_none() {
    let folder = folder_with("a.png", &files::png(&Picture::photo(40, 30, Layout::Rgb), |_| {}));
    fs::write(folder.path().join("b.zip"), "mine").unwrap();
    fs::write(folder.path().join("broken.png"), &b"\x89PNG\r\n\x1a\n and no more"[..]).unwrap();
    let message = error_line(&convert(folder.path(), &["a.png", "-o", "b.zip"]));
    assert_eq!(
        message,
        "tiler: add --force to replace it, or choose another --output: ./b.zip exists already"
    );
    error_line(&convert(folder.path(), &["broken.png", "-o", "c.szi"]));
    assert_eq!(fs::read(folder.path().join("b.zip")).unwrap(), b"mine");
    assert_eq!(names(folder.path()), ["a.png", "b.zip", "broken.png"]);

    let output = convert(folder.path(), &["a.png", "-o", "b.zip", "--force"]);
    assert!(output.status.success(), "{output:?}");
    assert!(entries(&folder.path().join("b.zip")).contains_key("b/b.dzi"));
    assert_eq!(names(folder.path()), ["a.png", "b.zip", "broken.png"]);
}

#[test]
fn an_existing_pyramid_is_kept_unless_forced() {
    let folder = folder_with("a.png", &files::png(&Picture::photo(40, 30, Layout::Rgb), |_| {}));
    let target = folder.path().join("b.dzi");
    fs::write(&target, "mine").unwrap();
    let output = convert(folder.path(), &["a.png", "-o", "b.dzi"]);
    assert_eq!(
        error_line(&output),
        "tiler: add --force to replace it, or choose another --output: ./b.dzi exists already"
    );
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    assert_eq!(names(folder.path()), ["a.png", "b.dzi"]);

    for _ in 0..2 {
        let output = convert(folder.path(), &["a.png", "-o", "b.dzi", "--force", "--format", "png"]);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(names(folder.path()), ["a.png", "b.dzi", "b_files"]);
        assert!(fs::read_to_string(&target).unwrap().contains(r#"Format="png""#));
    }
}

#[test]
fn a_failure_is_one_line_and_leaves_nothing() {
    let whole = files::jpeg(&Picture::photo(1200, 900, Layout::Rgb), Jpeg::default());
    let unknown = format!(
        "tiler: a: The source has an unknown format. Supported formats: {}. Convert it to a common format first.",
        Format::list()
    );
    for (bytes, expected) in [
        (
            &whole[..whole.len() / 2],
            "tiler: a: The JPEG is cut off or broken: it ends before its last row. Download or export the file again.",
        ),
        (b"a text\n".as_slice(), unknown.as_str()),
        (b"", "tiler: a: The file is empty. Download or export the file again."),
    ] {
        let folder = folder_with("a", bytes);
        assert_eq!(error_line(&convert(folder.path(), &["a", "-o", "out", "--strict"])), expected);
        assert_eq!(names(folder.path()), ["a"]);
    }
}

#[test]
fn a_damaged_picture_is_converted_with_a_warning() {
    let whole = files::jpeg(&Picture::photo(1200, 900, Layout::Rgb), Jpeg::default());
    let folder = folder_with("a", &whole[..whole.len() / 2]);
    let output = convert(folder.path(), &["a", "-o", "out"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(folder.path()), ["a", "out.dzi", "out_files"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let said = said.trim_end().strip_prefix("tiler: a: The file is damaged: from row ").unwrap();
    let row = said.strip_suffix(" of 900 on nothing could be read.").unwrap();
    assert!((420..480).contains(&row.parse().unwrap()), "{row}");
}

#[test]
fn an_svg_is_converted_at_the_requested_size() {
    let drawing = br#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"><rect width="1" height="1" fill="red"/></svg>"#;
    let folder = folder_with("a.svg", drawing);
    let output = convert(folder.path(), &["a.svg", "--svg-side", "1200", "--format", "png"]);
    assert!(output.status.success(), "{output:?}");
    let size = Size { width: 1200, height: 600 };
    let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Png };
    let picture = rebuilt(&read_folder(&folder.path().join("a_files"), &dzi), &dzi);
    assert_eq!((picture.at(10, 10), picture.at(1100, 590)), ([255, 0, 0, 255].as_slice(), [0; 4].as_slice()));
}

#[test]
fn a_missing_browser_or_library_is_reported_with_a_remedy() {
    let folder = folder_with("a.html", b"<!doctype html><title>a</title>");
    fs::write(folder.path().join("a.pdf"), b"%PDF-1.4\n").unwrap();
    let browser = error_line(&convert(folder.path(), &["a.html", "--chromium", "/nowhere/chromium"]));
    assert_eq!(
        browser,
        "tiler: a.html: The source is a web page, but this service has no browser for web pages. Install Chromium, or pass its path with --chromium."
    );
    let output =
        command(folder.path(), &["a.pdf"]).env("EDGEZOOM_PDFIUM", "/nowhere/libpdfium.so").output().unwrap();
    let library = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        library,
        "tiler: a.pdf: PDF cannot be read: its library, PDFium, is missing. Set the path of its library, libpdfium.so, in EDGEZOOM_PDFIUM.\n"
    );
    assert_eq!(names(folder.path()), ["a.html", "a.pdf"]);
}

#[test]
fn an_unreadable_source_or_output_is_named() {
    let folder = folder_with("a.png", &files::png(&Picture::photo(40, 30, Layout::Rgb), |_| {}));
    let error = |args: &[&str]| error_line(&convert(folder.path(), args));
    assert_eq!(error(&["b.png"]), "tiler: cannot read b.png: No such file or directory (os error 2)");
    assert_eq!(error(&[".", "-o", "x"]), "tiler: . is a directory: name a picture in it");
    assert_eq!(
        error(&["a.png", "--overlap", "513"]),
        "tiler: the overlap must not be more than the tile size"
    );
    assert_eq!(error(&["a.png", "-o", "c/d"]), "tiler: the directory c does not exist: create it first");
    assert_eq!(names(folder.path()), ["a.png"]);
}

#[test]
fn an_interrupt_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    files::large_png(
        20_000,
        3_000,
        Layout::Rgba,
        &mut fs::File::create(folder.path().join("a.png")).unwrap(),
    );
    for (signal, output) in [(Signal::INT, "out"), (Signal::TERM, "out"), (Signal::TERM, "out.zip")] {
        let mut child = command(folder.path(), &["a.png", "-o", output, "--threads", "1"]).spawn().unwrap();
        let deadline = Instant::now() + patience();
        while names(folder.path()).len() == 1 {
            assert!(Instant::now() < deadline, "the conversion never started");
            thread::sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(names(folder.path()), ["a.png"], "{signal:?}");
    }
}

#[test]
fn a_renderer_ends_when_its_parent_does() {
    let folder = tempfile::tempdir().unwrap();
    files::large_png(
        20_000,
        3_000,
        Layout::Rgba,
        &mut fs::File::create(folder.path().join("a.png")).unwrap(),
    );
    let mut parent = command(folder.path(), &["a.png", "-o", "out", "--threads", "1"]).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let deadline = Instant::now() + patience();
    let renderer = loop {
        let child = fs::read_to_string(&children).unwrap().trim().parse::<i32>();
        if let (Ok(child), true) = (child, names(folder.path()).len() > 1) {
            break Pid::from_raw(child).unwrap();
        }
        assert!(Instant::now() < deadline, "the conversion never started");
        thread::sleep(Duration::from_millis(5));
    };
    parent.kill().unwrap();
    parent.wait().unwrap();
    while rustix::process::test_kill_process(renderer).is_ok() && !is_zombie(renderer) {
        assert!(Instant::now() < deadline, "the renderer is still running");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns true if a process has exited but has not been reaped.
fn is_zombie(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    stat.contains(") Z ")
}

#[test]
fn a_picture_may_have_a_single_row() {
    let picture = Picture::photo(5000, 1, Layout::Rgb);
    let folder = folder_with("a.png", &files::png(&picture, |_| {}));
    assert!(convert(folder.path(), &["a.png", "--format", "png"]).status.success());
    let dzi = Dzi { size: Size { width: 5000, height: 1 }, ..dzi(&picture, 512, 0, TileFormat::Png) };
    assert!(read_folder(&folder.path().join("a_files"), &dzi) == reference(&picture, &dzi));
}

#[test]
fn the_renderer_refuses_a_request_that_cannot_be_parsed() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tiler"))
        .args(["render", "{}"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(b"x");
    let output = child.wait_with_output().unwrap();
    assert!(error_line(&output).starts_with("tiler: cannot parse the request"));
}
