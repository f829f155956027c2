//! Pictures that exist only as tiles, from servers on loopback: put together where the operator says so, and refused with a
//! reason elsewhere.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;

use edgezoom_codecs::Layout;
use edgezoom_content::{Dzi, Size, TileFormat};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files;
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::{read_folder, rebuilt};
use tempfile::TempDir;

/// Serves files below a folder. `answer` may give another status line, with headers, for the n-th request of a path. Returns
/// the address, and the paths that are requested.
fn serve(
    folder: &Path,
    answer: impl Fn(&str, usize) -> Option<&'static str> + Send + 'static,
) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (requested, requests) = mpsc::channel();
    let folder = folder.to_owned();
    thread::spawn(move || {
        let mut times = BTreeMap::new();
        for connection in listener.incoming() {
            let (mut connection, mut request) = (connection.unwrap(), [0; 4096]);
            let read = connection.read(&mut request).unwrap();
            let path = String::from_utf8_lossy(&request[..read]).split(' ').nth(1).unwrap().to_owned();
            let time = times.entry(path.clone()).and_modify(|time| *time += 1).or_insert(1);
            let name = path.split('?').next().unwrap().trim_start_matches('/');
            let (status, body) = match (answer(&path, *time), fs::read(folder.join(name))) {
                (Some(status), _) => (status, Vec::new()),
                (None, Ok(body)) => ("200 OK", body),
                (None, Err(_)) => ("404 Not Found", Vec::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = requested.send(path);
            connection.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
    });
    (address, requests)
}

fn convert(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).args(["convert", "--allow-networks=127.0.0.0/8", "--host-interval-ms=0"]);
    command.arg("--stitch-interval-ms=0").args(args).output().unwrap()
}

fn stitch(folder: &Path, url: &str, more: &[&str]) -> Output {
    convert(
        folder,
        &[&[url, "-o", "out", "--force", "--suffix=.png", "--stitch-hosts=127.0.0.1"], more].concat(),
    )
}

/// Makes a picture of a photograph, and a pyramid of it beside it, `a`.
fn pyramid(picture: &Picture, options: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.png"), files::png(picture, |_| {})).unwrap();
    let made = convert(folder.path(), &[&["in.png", "-o", "a"], options].concat());
    assert!(made.status.success(), "{made:?}");
    folder
}

fn stitched(folder: &Path, size: Size) -> Picture {
    let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Png };
    rebuilt(&read_folder(&folder.join("out_files"), &dzi), &dzi)
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const OVERLAPPING: [&str; 3] = ["--tile-size=254", "--overlap=1", "--suffix=.jpg[Q=90]"];

#[test]
fn a_dzi_of_ten_thousand_pixels_is_the_original_within_the_loss_of_jpeg() {
    let picture = Picture::photo(10_000, 600, Layout::Rgb);
    let folder = pyramid(&picture, &OVERLAPPING);
    let (server, requests) = serve(folder.path(), |_, _| None);
    let output = stitch(folder.path(), &format!("{server}/a.dzi?key=1"), &[]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    compare(&stitched(folder.path(), picture.size()), &picture, Tolerance::lossy(2.6, 10, 3.5)).unwrap();
    let requests: Vec<_> = requests.try_iter().collect();
    let tiles =
        (0..3).flat_map(|row| (0..40).map(move |column| format!("/a_files/14/{column}_{row}.jpg?key=1")));
    let expected: Vec<_> =
        ["/a.dzi?key=1".to_owned(), "/robots.txt".to_owned()].into_iter().chain(tiles).collect();
    assert_eq!(requests, expected, "each tile once, in order, and no other level");
}

#[test]
fn an_exact_picture_comes_from_tiles_in_png_and_from_an_iiif_server_of_level_0() {
    let picture = Picture::noise(700, 500, Layout::Rgba);
    let folder = pyramid(&picture, &["--tile-size=256", "--overlap=3", "--suffix=.png"]);
    let (server, _) = serve(folder.path(), |_, _| None);
    let output = stitch(folder.path(), &format!("{server}/a.dzi"), &[]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(stitched(folder.path(), picture.size()) == picture);

    let picture = Picture::photo(700, 500, Layout::Rgb);
    for layout in ["--layout=iiif", "--layout=iiif3"] {
        let folder = pyramid(&picture, &["--tile-size=256", layout, "--suffix=.jpg[Q=95]"]);
        let (server, _) = serve(folder.path(), |_, _| None);
        let info = fs::read_to_string(folder.path().join("a/info.json")).unwrap();
        let info = info.replace("https://example.com/iiif", &server);
        fs::write(folder.path().join("a/info.json"), info).unwrap();
        let output = stitch(folder.path(), &format!("{server}/a/info.json"), &[]);
        assert!(output.status.success() && output.stderr.is_empty(), "{layout}: {output:?}");
        compare(&stitched(folder.path(), picture.size()), &picture, Tolerance::lossy(2.6, 10, 3.5)).unwrap();
    }
}

#[test]
fn tiles_that_are_missing_or_broken_are_blank_and_reported() {
    let folder = pyramid(&Picture::photo(700, 500, Layout::Rgb), &OVERLAPPING);
    fs::remove_file(folder.path().join("a_files/10/1_0.jpg")).unwrap();
    fs::write(folder.path().join("a_files/10/2_1.jpg"), "<p>Log in").unwrap();
    let (server, _) = serve(folder.path(), |_, _| None);
    let url = format!("{server}/a.dzi");
    let output = stitch(folder.path(), &url, &[]);
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output).contains("damaged: some of its pixels could not be read"), "{}", said(&output));
    let shown = stitched(folder.path(), Size { width: 700, height: 500 });
    assert_eq!(
        (shown.colour(400, 100), shown.colour(600, 400)),
        ([128, 128, 128, 255], [128, 128, 128, 255])
    );
    assert_ne!(shown.colour(100, 100), [128, 128, 128, 255]);
    assert!(!stitch(folder.path(), &url, &["--strict"]).status.success());
}

#[test]
fn hosts_that_the_operator_does_not_name_are_asked_for_no_tile() {
    let folder = pyramid(&Picture::photo(700, 500, Layout::Rgb), &OVERLAPPING);
    let level_0 = r#"{"@context":"http://iiif.io/api/image/2/context.json","@id":"/b","profile":["http://iiif.io/api/image/2/level0.json"],
        "width":700,"height":500,"tiles":[{"width":256,"scaleFactors":[1,2]}]}"#;
    fs::create_dir(folder.path().join("b")).unwrap();
    fs::write(folder.path().join("b/info.json"), level_0).unwrap();
    let (server, requests) = serve(folder.path(), |_, _| None);
    for (path, expected, reason) in [
        ("/a.dzi", &["/a.dzi"][..], "offers only as tiles. Submit the URL of the picture itself."),
        (
            "/b/info.json",
            &["/b/info.json", "/b/full/full/0/default.jpg"],
            "The server offers this picture only as tiles. Submit the URL of the picture itself.",
        ),
    ] {
        for hosts in ["", "example.com,127.0.0.2"] {
            let url = format!("{server}{path}");
            let output = convert(folder.path(), &[&url, "-o", "out", "--stitch-hosts", hosts]);
            assert!(!output.status.success() && said(&output).contains(reason), "{}", said(&output));
            assert_eq!(requests.try_iter().collect::<Vec<_>>(), expected);
        }
    }
    // Tiles are at another host, which is not named.
    let elsewhere = fs::read_to_string(folder.path().join("a.dzi")).unwrap();
    fs::write(
        folder.path().join("c.dzi"),
        elsewhere.replacen("<Image", r#"<Image Url="http://127.0.0.3/a_files/""#, 1),
    )
    .unwrap();
    let output = stitch(folder.path(), &format!("{server}/c.dzi"), &[]);
    assert!(said(&output).contains("offers only as tiles"), "{}", said(&output));
}

#[test]
fn a_server_that_refuses_is_asked_again_when_it_wishes_and_no_tile_twice() {
    let folder = pyramid(&Picture::photo(700, 500, Layout::Rgb), &OVERLAPPING);
    let (server, requests) = serve(folder.path(), |path, time| match (path, time) {
        ("/a_files/10/1_0.jpg", 1) => Some("429 Too Many Requests\r\nRetry-After: 1"),
        ("/a_files/10/2_1.jpg", 1) => Some("503 Service Unavailable\r\nRetry-After: 0"),
        _ => None,
    });
    let output = stitch(folder.path(), &format!("{server}/a.dzi"), &[]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let mut requests: Vec<_> = requests.try_iter().filter(|path| path.contains("_files")).collect();
    assert_eq!(requests.len(), 6 + 2);
    requests.dedup(); // the second request follows the first
    assert_eq!(requests.len(), 6);
}

#[test]
fn a_server_that_goes_on_refusing_ends_the_conversion_after_a_few_requests() {
    let folder = pyramid(&Picture::photo(700, 500, Layout::Rgb), &OVERLAPPING);
    for (status, most) in [
        ("429 Too Many Requests", 1),
        ("429 Too Many Requests\r\nRetry-After: 3600", 1),
        ("403 Forbidden", 1),
        ("503 Service Unavailable\r\nRetry-After: 3600", 1),
    ] {
        let (server, requests) =
            serve(folder.path(), move |path, _| path.contains("_files").then_some(status));
        let output = stitch(folder.path(), &format!("{server}/a.dzi"), &[]);
        assert!(!output.status.success(), "{status}");
        assert_eq!(requests.try_iter().filter(|path| path.contains("_files")).count(), most, "{status}");
    }
    // Of tiles that are not there, four are asked for.
    let (server, requests) =
        serve(folder.path(), |path, _| path.contains("_files").then_some("404 Not Found"));
    let output = stitch(folder.path(), &format!("{server}/a.dzi"), &[]);
    assert!(said(&output).contains("names tiles that its server does not have"), "{}", said(&output));
    assert_eq!(requests.try_iter().filter(|path| path.contains("_files")).count(), 4);
}

#[test]
fn robots_txt_and_the_number_of_tiles_are_looked_at_before_the_first_tile() {
    let folder = pyramid(&Picture::photo(700, 500, Layout::Rgb), &OVERLAPPING);
    let dzi = fs::read_to_string(folder.path().join("a.dzi")).unwrap();
    fs::write(
        folder.path().join("b.dzi"),
        dzi.replace("\"254\"", "\"5\"").replace("Overlap=\"1\"", "Overlap=\"0\""),
    )
    .unwrap();
    fs::write(folder.path().join("robots.txt"), "User-agent: *\nDisallow: /a_files/\nCrawl-delay: 1200\n")
        .unwrap();
    let (server, requests) = serve(folder.path(), |_, _| None);
    for (path, more, reason) in [
        ("/a.dzi", &[][..], "robots.txt asks this service not to open"),
        ("/b.dzi", &[], "has 14000 tiles, which would take its server too many requests"),
        ("/b.dzi", &["--robots=ignore"], "too many requests"),
    ] {
        let output = stitch(folder.path(), &format!("{server}{path}"), more);
        assert!(!output.status.success() && said(&output).contains(reason), "{}", said(&output));
    }
    fs::write(folder.path().join("robots.txt"), "User-agent: *\nCrawl-delay: 1200\n").unwrap();
    let (slow, _) = serve(folder.path(), |_, _| None);
    let output = stitch(folder.path(), &format!("{slow}/a.dzi"), &[]);
    assert!(said(&output).contains("too many requests"), "{}", said(&output));
    assert!(!requests.try_iter().any(|path| path.contains("_files")));
}
