//! The Chromium that renders the reference pictures.

use std::path::Path;
use std::process::Command;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::decode;

/// Returns the first Chromium executable in the usual places.
pub fn executable() -> &'static Path {
    let browsers =
        ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium", "/usr/bin/chromium"];
    browsers.into_iter().map(Path::new).find(|browser| browser.exists()).unwrap()
}

/// Prints HTML as a PDF, which Chromium tags.
pub fn print(html: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (page, file) = (folder.path().join("page.html"), folder.path().join("page.pdf"));
    std::fs::write(&page, format!("<!doctype html><meta charset=\"utf-8\">{html}")).unwrap();
    let mut command = Command::new(executable());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]);
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
