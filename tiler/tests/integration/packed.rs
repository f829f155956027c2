//! Tests sources with content codings, and gzipped files, from a server's bytes to the pyramid.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use edgezoom_codecs::Layout;
use edgezoom_content::FailureCode;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, file};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::Coding;
use edgezoom_tiler::renderer::unpack::unpack;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::renderer::TILER;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// Returns a brotli stream with these bytes, not compressed (RFC 7932, 9.2): a window of 16 bits, then blocks.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut bits: Vec<bool> = vec![false];
    let mut push = |number: usize, count: usize| (0..count).for_each(|bit| bits.push(number >> bit & 1 == 1));
    push(0, 1); // not the last block
    push(0, 2); // four digits of its length
    push(bytes.len() - 1, 16);
    push(1, 1); // not compressed
    let header = bits.len().next_multiple_of(8);
    bits.resize(header, false);
    let packed = bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)));
    packed.chain(bytes.iter().copied()).chain([3]).collect() // the last block, which is empty
}

fn png() -> Vec<u8> {
    files::png(&Picture::photo(70, 50, Layout::Rgb), |_| {})
}

/// Serves a response for one request, converts it, and returns what the program did, and the folder.
fn converted(head: &str, body: &[u8], args: &[&str]) -> (Output, tempfile::TempDir) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/source", listener.local_addr().unwrap());
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n{head}\r\n");
    let response = [head.as_bytes(), body].concat();
    thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = connection.read(&mut request).unwrap();
        let _ = connection.write_all(&response);
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(TILER);
    command
        .current_dir(&folder)
        .args(["convert", &url, "-o", "out", "--allow-networks=127.0.0.0/8"])
        .args(args);
    (command.output().unwrap(), folder)
}

/// Returns the size of the pyramid of a response.
fn size(head: &str, body: &[u8]) -> (u32, u32) {
    let (output, folder) = converted(head, body, &[]);
    assert!(output.status.success(), "{head}: {}", String::from_utf8_lossy(&output.stderr));
    size_in(folder.path())
}

fn size_in(folder: &Path) -> (u32, u32) {
    let xml = fs::read_to_string(folder.join("out.dzi")).unwrap();
    let side = |name: &str| xml.split_once(name).unwrap().1.split('"').next().unwrap().parse().unwrap();
    (side("Width=\""), side("Height=\""))
}

#[test]
fn content_codings_are_removed_before_the_format_is_found() {
    let png = png();
    for (coding, body) in [
        ("gzip", gzip(&png)),
        ("x-gzip", gzip(&png)),
        ("deflate", zlib(&png)),
        ("deflate", deflate(&png)),
        ("br", brotli(&png)),
        ("zstd", zstd(&png)),
        ("gzip, br", brotli(&gzip(&png))),
        ("deflate, gzip", gzip(&deflate(&png))),
    ] {
        for kind in ["image/png", "application/octet-stream"] {
            assert_eq!(
                size(&format!("Content-Type: {kind}\r\nContent-Encoding: {coding}\r\n"), &body),
                (70, 50),
                "{coding}"
            );
        }
    }
    let twice = "Content-Encoding: gzip\r\nContent-Encoding: zstd\r\n";
    assert_eq!(size(twice, &zstd(&gzip(&png))), (70, 50));
}

#[test]
fn a_content_coding_that_was_not_applied_is_ignored() {
    let png = png();
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, gzip", "utf-8", "compress"] {
        assert_eq!(size(&format!("Content-Encoding: {coding}\r\n"), &png), (70, 50), "{coding}");
    }
    assert_eq!(size("Content-Encoding: gzip, gzip\r\n", &gzip(&png)), (70, 50));
}

#[test]
fn gzipped_files_are_unpacked_whether_or_not_their_server_says_so() {
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='20' height='10'><path d='M0 0h9v9z'/></svg>";
    let coded = "Content-Encoding: gzip\r\n";
    assert_eq!(size("Content-Type: image/svg+xml\r\n", &gzip(svg)), (8192, 4096));
    assert_eq!(size(coded, &gzip(svg)), (8192, 4096));
    assert_eq!(size(coded, &gzip(&gzip(svg))), (8192, 4096));
    assert_eq!(size("Content-Type: application/gzip\r\n", &gzip(&png())), (70, 50));
    assert_eq!(size(coded, &gzip(&gzip(&png()))), (70, 50));
}

#[test]
fn a_local_gzipped_picture_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("photo.png.gz"), gzip(&png())).unwrap();
    let mut command = Command::new(TILER);
    let output =
        command.current_dir(&folder).args(["convert", "photo.png.gz", "-o", "out"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(size_in(folder.path()), (70, 50));
}

#[test]
fn a_coded_picture_that_is_cut_off_is_shown_as_far_as_it_goes() {
    let picture = files::bmp(&Picture::photo(300, 200, Layout::Rgb));
    let packed = gzip(&picture);
    assert_eq!(size("Content-Encoding: gzip\r\n", &packed[..packed.len() / 2]), (300, 200));
}

#[test]
fn a_source_that_unpacks_to_more_than_the_limit_is_too_large() {
    let bomb = gzip(&vec![0; 9 << 20]);
    for (coding, bomb) in [("gzip", bomb.clone()), ("gzip, gzip", gzip(&bomb)), ("identity", bomb)] {
        let head = format!("Content-Encoding: {coding}\r\n");
        let (output, _folder) = converted(&head, &bomb, &["--max-source-mib=8"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("larger than 8 MiB when unpacked"),
            "{coding}: {said}"
        );
    }
}

#[tokio::test]
async fn an_unpacking_process_is_confined_to_its_limits() {
    let bomb = gzip(&vec![0; 1 << 20]);
    let limits = Limits { unpacked_free: 1000, unpacked_per_byte: 0, ..Limits::default() };
    let folder = std::env::temp_dir();
    let result = unpack(Path::new(TILER), &file(&bomb), &[Coding::Gzip], &folder, &limits).await;
    assert_eq!(crate::failure(result.unwrap_err()).code, FailureCode::SourceTooLarge);

    let mut unpacked =
        unpack(Path::new(TILER), &file(&bomb), &[Coding::Gzip], &folder, &Limits::default()).await.unwrap();
    assert!(unpacked.is_whole);
    assert_eq!(io::copy(&mut unpacked.file, &mut io::sink()).unwrap(), 1 << 20);

    let cut =
        unpack(Path::new(TILER), &file(&bomb[..100]), &[Coding::Gzip], &folder, &Limits::default()).await;
    assert!(!cut.unwrap().is_whole);
}
