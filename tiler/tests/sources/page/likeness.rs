//! Compares the screenshot of a page with that of `chromium --screenshot`.

use edgezoom_content::SourceUrl;
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_tiler::browser::Pages;

use crate::chromium;
use crate::screenshot::{Screenshot, settings};
use crate::site::{Reply, Site};

/// Page with text in several scripts and sizes, emoji, a table, shadows, a gradient and a picture.
const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Likeness</title><style>
    body{margin:40px;font-family:serif;height:2400px} h1{font:bold 60px sans-serif;text-shadow:2px 2px 6px #888}
    table{border-collapse:collapse} td{border:1px solid;padding:4px 12px} .columns{columns:3;text-align:justify}
    .bar{height:120px;margin:20px 0;border-radius:30px;background:linear-gradient(90deg,#f80,#08f);box-shadow:0 8px 20px #0006}
    code{font-family:monospace;background:#eee}</style>
    <h1>Ein Bild, une image, образ</h1><p lang=el>Η γρήγορη αλεπού — 😀 🗺️ ☃</p><div class=bar></div>
    <table><tr><td>one<td>two<td><code>let three = 3;</code><tr><td>1<td>2<td>3</table>
    <div class=columns>TEXT</div><img src=/picture.svg width=600 height=300>";

#[tokio::test]
async fn a_page_looks_as_chromium_shows_it() {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(60);
    let page = PAGE.replace("TEXT", &text);
    let site = Site::serve("127.0.0.2", move |path| match path {
        "/" => Reply::Html(page.clone()),
        "/picture.svg" => Reply::of_type(
            "image/svg+xml",
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 10'><circle cx='9' cy='5' r='4' fill='teal'/></svg>",
        ),
        _ => Reply::status(404),
    });
    // At a device scale factor of 2, Chromium rounds line heights differently than with an emulated one, which keeps
    // the layout of factor 1.
    let mut settings = settings();
    settings.limits.scale = 1;
    let pages = Pages::new(settings);
    for (options, width) in [("", 1280), ("web-width=700", 700)] {
        let url = SourceUrl::parse(&site.url("/")).unwrap().with_options(options).unwrap();
        let ours = Screenshot::of(pages.open(&url, None).await.unwrap()).await.unwrap();
        let theirs = chromium::screenshot(&site.url("/"), width, ours.height as u32);
        compare(&ours.picture(), &theirs, Tolerance::up_to(1)).unwrap();
    }
}
