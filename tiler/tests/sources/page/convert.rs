//! `tiler convert` of web pages, from URLs and from local files.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use edgezoom_content::{Dzi, Size, TileFormat};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::site::{Reply, Site};
use edgezoom_test_support::Picture;
use edgezoom_test_support::pdf::Pdf;
use edgezoom_test_support::pyramid::{read_folder, rebuilt};

fn convert(folder: &Path, source: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).args(["convert", "--output=out", "--format=png"]).arg(source);
    command.env("EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX", "true"); // tests without namespaces may run as root
    command.env("EDGEZOOM_ALLOW_NETWORKS", "127.0.0.2/32").output().unwrap()
}

/// Reassembles the picture from a pyramid as wide as a page.
fn picture(folder: &Path, output: &Output, height: u32) -> Picture {
    assert!(output.status.success(), "{output:?}");
    let size = Size { width: 2560, height };
    let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Png };
    rebuilt(&read_folder(&folder.join("out_files"), &dzi), &dzi)
}

#[test]
fn a_local_page_can_embed_the_files_beside_it_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site");
    fs::create_dir_all(site.join("parts")).unwrap();
    fs::write(folder.path().join("secret.svg"), svg("#000")).unwrap();
    fs::create_dir_all(site.join(".ssh")).unwrap();
    for hidden in [".secret.svg", ".ssh/secret.svg", "parts/.secret.svg"] {
        fs::write(site.join(hidden), svg("#000")).unwrap();
    }
    std::os::unix::fs::symlink(site.join(".ssh/secret.svg"), site.join("parts/link.svg")).unwrap();
    fs::write(site.join("parts/green.svg"), svg("#0f0")).unwrap();
    fs::write(
        site.join("parts/style.css"),
        "body{margin:0;background:#00f} img{display:block;width:100px;height:100px}",
    )
    .unwrap();
    let secret = folder.path().join("secret.svg");
    let page = format!(
        "<!doctype html><link rel=stylesheet href=parts/style.css><img src=parts/green.svg><img src=../secret.svg>
         <img src=.secret.svg><img src=parts/../.ssh/secret.svg><img src=parts/%2esecret.svg><img src=parts/link.svg>
         <img src='file://{}'><p></p><script src=parts/script.js></script>",
        secret.display()
    );
    fs::write(site.join("a page.html"), page).unwrap();
    // The page has an opaque origin, so its scripts cannot read the files next to it.
    fs::write(
        site.join("parts/script.js"),
        "fetch('parts/green.svg').then(response => response.text()).then(() => document.body.style.background = '#000', () => {})",
    )
    .unwrap();
    let output = convert(folder.path(), "site/a page.html");
    let picture = picture(folder.path(), &output, 1600);
    assert_eq!(picture.at(100, 100), [0, 255, 0]);
    assert_eq!(picture.at(2000, 1500), [0, 0, 255]);
    assert!(!picture.pixels.chunks(3).any(|pixel| pixel == [0; 3]), "the secret is visible");
}

#[test]
fn flags_say_how_a_local_page_is_captured() {
    let folder = tempfile::tempdir().unwrap();
    let page =
        "<style>body{margin:0} div{height:200px;background:#f00} @media print{div{background:#0f0}}</style>
        <div></div><script>setTimeout(() => document.querySelector('div').id = 'a', 20000)</script>";
    fs::write(folder.path().join("page.html"), page).unwrap();
    let convert = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
        command.current_dir(folder.path()).args(["convert", "--output=out", "page.html"]).args(flags);
        command.env("EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX", "true").output().unwrap()
    };
    let flags =
        ["--web-media=print", "--web-scheme=dark", "--web-wait=#a", "--web-selector=div", "--format=png"];
    let output = convert(&flags);
    let picture = picture(folder.path(), &output, 400);
    assert!(picture.pixels.chunks(3).all(|pixel| pixel == [0, 255, 0]));
    for (flag, message) in [
        ("--web-wait=0", "web-wait takes 1 to 30000 milliseconds"),
        ("--web-hide=a{", "web-hide is not a CSS selector"),
    ] {
        let output = convert(&[flag, "--force"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(message), "{said}");
    }
}

#[test]
fn a_page_that_navigates_to_a_picture_is_converted_as_that_picture() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::serve("127.0.0.2", |path| match path {
        "/picture" => Reply::of_type("image/svg+xml", svg("#0f0")),
        _ => Reply::Html("<meta http-equiv=refresh content='0;url=/picture'>".into()),
    });
    let output = convert(folder.path(), &site.url("/"));
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(folder.path().join("out.dzi")).unwrap().contains("Width=\"8192\""));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_page_is_shown_whether_or_not_its_content_coding_was_applied() {
    const PAGE: &str = "<!doctype html><body style='margin:0;background:#0f0'>";
    for coding in ["gzip", "br", "gzip, gzip"] {
        let headers = format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n");
        let site = Site::serve("127.0.0.2", move |path| match path {
            "/" => Reply::Raw(200, headers.clone(), PAGE.into()),
            _ => Reply::status(404),
        });
        let folder = tempfile::tempdir().unwrap();
        let output = convert(folder.path(), &site.url("/"));
        assert_eq!(picture(folder.path(), &output, 1600).at(9, 9), [0, 255, 0], "{coding}");
    }
}

#[test]
fn a_gzipped_robots_txt_counts() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/robots.txt" => {
            Reply::Raw(200, "Content-Encoding: gzip\r\n".into(), gzip(b"User-agent: *\nDisallow: /private"))
        }
        _ => Reply::Html("<!doctype html><p>a".into()),
    });
    let folder = tempfile::tempdir().unwrap();
    assert!(convert(folder.path(), &site.url("/public")).status.success());
    let folder = tempfile::tempdir().unwrap();
    let output = convert(folder.path(), &site.url("/private"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("robots.txt asks"), "{said}");
}

#[test]
fn the_requested_page_of_a_document_counts_unless_the_navigation_names_one() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/two.pdf" => {
            Reply::of_type("application/pdf", Pdf::new().page(200, 100, "").page(100, 200, "").bytes())
        }
        "/first" => Reply::Html("<meta http-equiv=refresh content='0;url=/two.pdf#page=1'>".into()),
        _ => Reply::Html("<meta http-equiv=refresh content='0;url=/two.pdf'>".into()),
    });
    for (source, is_tall) in [("/#page=2", true), ("/first#page=2", false), ("/#page=1", false)] {
        let folder = tempfile::tempdir().unwrap();
        let output = convert(folder.path(), &site.url(source));
        assert!(output.status.success(), "{output:?}");
        let Size { width, height } = size(folder.path());
        assert_eq!(height == 2 * width, is_tall, "{source}: {width}×{height}");
        assert_eq!(width == 2 * height, !is_tall, "{source}: {width}×{height}");
    }
}

/// Returns the size in the descriptor.
fn size(folder: &Path) -> Size {
    let descriptor = fs::read_to_string(folder.join("out.dzi")).unwrap();
    let number = |name: &str| {
        let (_, value) = descriptor.split_once(&format!("{name}=\"")).unwrap();
        value.split('"').next().unwrap().parse().unwrap()
    };
    Size { width: number("Width"), height: number("Height") }
}

#[test]
fn an_endless_chain_of_pages_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    // Declared as a picture, but the content is a page.
    let site = Site::serve("127.0.0.2", |_| {
        let page = "<!doctype html><meta http-equiv=refresh content='0;url=/again'>";
        Reply::of_type("image/png", page)
    });
    let output = convert(folder.path(), &site.url("/"));
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("redirects more than 5 times"), "{stderr}");
}

#[test]
fn the_content_after_redirects_counts_and_not_the_extension_in_the_url() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/photograph.jpg" => Reply::redirect("/page"),
        "/page" => {
            Reply::Html("<!doctype html><body style='background:#f0f;height:2000px;margin:0'>".to_owned())
        }
        "/page.html" => Reply::redirect("/drawing"),
        "/drawing" => Reply::of_type("text/html", svg("#0f0")),
        _ => Reply::status(404),
    });
    let folder = tempfile::tempdir().unwrap();
    let output = convert(folder.path(), &site.url("/page.html"));
    assert!(output.status.success(), "{output:?}");
    let descriptor = fs::read_to_string(folder.path().join("out.dzi")).unwrap();
    assert!(descriptor.contains(r#"Width="8192""#), "a drawing despite its media type: {descriptor}");

    let folder = tempfile::tempdir().unwrap();
    let output = convert(folder.path(), &site.url("/photograph.jpg"));
    let picture = picture(folder.path(), &output, 4000);
    assert!(picture.pixels.chunks(3).all(|pixel| pixel == [255, 0, 255]));
}

fn svg(colour: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='100'><rect width='100' height='100' fill='{colour}'/></svg>"
    )
}
