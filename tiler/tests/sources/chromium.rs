//! The Chromium that renders the reference pictures.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::decode;
use edgezoom_test_support::reference::Judge;

/// Returns the Chromium of `EDGEZOOM_CHROMIUM`, or the first in the usual places.
pub fn executable() -> &'static Path {
    static FOUND: LazyLock<PathBuf> = LazyLock::new(|| {
        let browsers =
            ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium", "/usr/bin/chromium"];
        let set = std::env::var_os("EDGEZOOM_CHROMIUM").map(PathBuf::from);
        set.or_else(|| browsers.into_iter().map(PathBuf::from).find(|browser| browser.exists())).unwrap()
    });
    &FOUND
}

/// Returns its name and version.
pub fn version() -> String {
    let output = Command::new(executable()).arg("--version").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Chromium as a printer of PDFs. They are committed because each version prints in another way.
pub const PRINTED: Judge = Judge { set: "printed", version };

/// Returns a manual of several pages, with chapters, tables and links, as Chromium prints it.
pub fn manual() -> Vec<u8> {
    PRINTED.file("manual.pdf", || {
        let words = "the tide rises in most harbours twice a day and falls again while boats wait outside for high \
            water because its height differs by metres from spring to neap as tables of their ports have shown";
        let words: Vec<&str> = words.split_whitespace().collect();
        let prose = |from: usize, count: usize| -> String {
            let word = |place: usize| words[(from * 7 + place * (3 + from % 5) + place * place / 11) % words.len()];
            (0..count).map(|place| format!("{}{}", word(place), if place % 13 == 12 { ". " } else { " " })).collect()
        };
        let chapter = |number: usize| {
            format!(
                "<h1>Chapter {number}</h1><p style='text-align:justify'>{}</p><h2>Ports {number}</h2>\
                 <p style='font-family:sans-serif'>{} <b>{}</b> <i>{}</i></p><pre>let height = {number}.5;\n    height / 2</pre>\
                 <table border><tr><th>Port<th>High<tr><td>{}<td>{number}.25</table><ol><li>{}<li>{}</ol>",
                prose(number, 150),
                prose(number + 20, 80),
                prose(number + 40, 9),
                prose(number + 60, 9),
                prose(number + 80, 3),
                prose(number + 100, 20),
                prose(number + 120, 12),
            )
        };
        let links = "<p><a href='https://example.com/a'>one link</a> and <a href='https://example.com/b'>another</a></p>";
        print(&format!("<html lang=en>{links}{}", (1..=12).map(chapter).collect::<String>()))
    })
}

/// Prints HTML as a PDF, which Chromium tags.
pub fn print(html: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (page, file) = (folder.path().join("page.html"), folder.path().join("page.pdf"));
    std::fs::write(&page, format!("<!doctype html><meta charset=\"utf-8\">{html}")).unwrap();
    let mut command = Command::new(executable());
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
    ]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--print-to-pdf={}", file.display()));
    assert!(command.arg(format!("file://{}", page.display())).output().unwrap().status.success());
    std::fs::read(file).unwrap()
}

/// Takes a screenshot with Chromium's command line.
pub fn screenshot(url: &str, width: u32, height: u32) -> Picture {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.png");
    let mut command = Command::new(executable());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-lcd-text"]);
    command.args(["--font-render-hinting=none", "--force-color-profile=srgb"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--screenshot={}", file.display())).arg(format!("--window-size={width},{height}"));
    assert!(command.arg(url).output().unwrap().status.success());
    let whole = decode(&std::fs::read(file).unwrap()).unwrap();
    Picture::without_opacity(whole.width, whole.height, whole.layout.channels(), &whole.pixels)
}
