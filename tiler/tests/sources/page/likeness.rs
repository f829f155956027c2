//! Compares screenshots of pages with Chromium's own: of `chromium --screenshot`, and for options of a capture those of a
//! Chromium that these tests drive. For the latter, options are written into the page: the style sheet for paper is one
//! for all media, what is hidden has a style, what appears late appears at once. The window and a phone are emulated.
//!
//! The pages are in `likeness/`. `cargo test --test sources likeness -- --ignored` compares all of the table, in a minute.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use edgezoom_content::SourceUrl;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::png;
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_tiler::browser::Pages;
use futures::{StreamExt, stream};
use url::form_urlencoded;

use crate::chromium::{self, Driven, Window};
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

/// Some pages with options. Each option is among them.
const SOME: [(&str, &[&str]); 3] = [
    ("article", &["web-device=phone&web-scheme=dark&web-hide=.banner,nav"]),
    ("late", &["web-width=700&web-wait=.drawn&web-selector=article%2Barticle"]),
    ("tables", &["web-media=print&web-wait=2000&web-from=%23after"]),
];

/// Pages, each with options.
const TABLE: [(&str, &[&str]); 13] = [
    (
        "article",
        &["web-width=700", "web-scheme=dark", "web-media=print", "web-from=%23three&web-hide=blockquote"],
    ),
    (
        "right-to-left",
        &["web-device=phone", "web-scheme=dark&web-width=1000", "web-media=print", "web-selector=aside"],
    ),
    (
        "chinese-japanese-korean",
        &["web-device=phone&web-scheme=dark", "web-media=print&web-hide=.vertical", "web-selector=%23korean"],
    ),
    (
        "flex",
        &[
            "web-device=phone",
            "web-width=700&web-scheme=dark",
            "web-media=print",
            "web-hide=aside,.card:nth-child(2n)",
        ],
    ),
    (
        "grid",
        &[
            "web-width=600",
            "web-scheme=dark&web-width=1920",
            "web-media=print",
            "web-selector=main&web-device=phone",
        ],
    ),
    (
        "tables",
        &[
            "web-device=phone",
            "web-scheme=dark",
            "web-media=print&web-width=900",
            "web-from=%23apart&web-scheme=light",
        ],
    ),
    (
        "queries",
        &[
            "web-width=320",
            "web-width=2560",
            "web-device=phone&web-width=600",
            "web-width=1400&web-scheme=dark",
            "web-media=print&web-width=950",
        ],
    ),
    (
        "schemes",
        &[
            "web-scheme=dark",
            "web-scheme=light&web-width=500",
            "web-device=phone&web-scheme=dark",
            "web-media=print",
        ],
    ),
    (
        "paper",
        &[
            "web-media=print",
            "web-media=print&web-scheme=dark&web-width=800",
            "web-media=print&web-device=phone",
            "web-selector=form",
            "web-from=%23chapter4&web-media=print",
        ],
    ),
    (
        "lazy-pictures",
        &[
            "web-device=phone&web-hide=.advert",
            "web-scheme=dark&web-width=800",
            "web-media=print",
            "web-selector=%23lime",
        ],
    ),
    (
        "fixed-headers",
        &[
            "web-device=phone",
            "web-hide=header,.chat&web-scheme=dark",
            "web-media=print&web-width=1600",
            "web-from=%23part3",
        ],
    ),
    (
        "late",
        &[
            "web-wait=.drawn&web-device=phone",
            "web-wait=30000&web-scheme=dark",
            "web-media=print",
            "web-wait=article&web-from=.after",
        ],
    ),
    (
        "components",
        &[
            "web-hide=.tag&web-device=phone",
            "web-scheme=dark",
            "web-media=print&web-width=640",
            "web-selector=.body&web-wait=.tag",
        ],
    ),
];

/// Returns the clip that shows the page, from the first element that matches a selector, or that element alone. Pictures
/// are loaded at once, without scrolling.
const CLIP: &str = "(async ([selector, only]) => {
    if (document.readyState !== 'complete') await new Promise((loaded) => addEventListener('load', loaded));
    await new Promise((passed) => setTimeout(passed, 50));
    for (const image of document.images) image.loading = 'eager';
    await Promise.all([...document.images].map((image) => image.decode()));
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const within = (tree) => [...tree.querySelectorAll('*')].flatMap((one) => [one, ...one.shadowRoot ? within(one.shadowRoot) : []]);
    const box = selector && within(document).find((one) => one.matches(selector)).getBoundingClientRect();
    const [width, height] = [innerWidth, document.documentElement.scrollHeight];
    const [top, bottom] = [box ? Math.round(box.top) : 0, only ? Math.round(box.bottom) : height];
    const [left, right] = only ? [Math.round(box.left), Math.round(box.right)] : [0, width];
    return { x: left, y: top, width: right - left, height: bottom - top };
})";

#[tokio::test]
async fn pages_with_options_look_as_chromium_shows_them() {
    assert_alike(&SOME).await;
}

#[tokio::test]
#[ignore = "takes a minute: cargo test --test sources likeness -- --ignored"]
async fn every_page_looks_with_every_option_as_chromium_shows_it() {
    assert!(TABLE.iter().all(|(_, options)| options.len() >= 3));
    assert_alike(&TABLE).await;
}

/// Captures each page with each of its options, and compares it with a reference.
async fn assert_alike(table: &[(&'static str, &'static [&'static str])]) {
    let site = Site::serve("127.0.0.2", reply);
    let mut settings = settings();
    settings.limits.scale = 1; // phones have 3
    let pages = Pages::new(settings);
    let chromium = Arc::new(Mutex::new(Driven::start()));
    let cases = table.iter().flat_map(|&(page, all)| all.iter().map(move |&options| (page, options)));
    let compared = stream::iter(cases).map(async |(page, options)| {
        let url = SourceUrl::parse(&site.url(&format!("/{page}"))).unwrap().with_options(options).unwrap();
        let ours = match pages.open(&url, None).await {
            Ok(open) => Screenshot::of(open).await.unwrap().picture(),
            Err(error) => return Some(format!("{page} {options}: {error}")),
        };
        let reference = site.url(&format!("/{page}?{options}"));
        let chromium = Arc::clone(&chromium);
        let shown = move || {
            let (window, clip) = emulated(options);
            let theirs = chromium.lock().unwrap().screenshot(&reference, window, &clip);
            let compared = compare(&ours, &theirs, Tolerance::up_to(1));
            compared.map_err(|error| write(page, options, &error, [&ours, &theirs])).err()
        };
        tokio::task::spawn_blocking(shown).await.unwrap()
    });
    let differing: Vec<String> = compared.buffer_unordered(2).filter_map(async |error| error).collect().await;
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Returns the window that options ask for, and the script that returns the part to show.
fn emulated(options: &str) -> (Window, String) {
    let value = |wanted| form_urlencoded::parse(options.as_bytes()).find(|(name, _)| name == wanted);
    let value = |wanted| value(wanted).map(|(_, value)| value);
    let mobile = value("web-device").is_some();
    let (width, height, scale) = if mobile { (390, 844, 3) } else { (1280, 800, 1) };
    let width = value("web-width").map_or(width, |width| width.parse().unwrap());
    let only = value("web-selector");
    let clip = serde_json::json!([only.clone().or(value("web-from")), only.is_some()]);
    (Window { width, height, scale, mobile }, format!("{CLIP}({clip})"))
}

/// Returns a page with options written into it.
fn written(mut html: String, options: &str) -> String {
    for (name, value) in form_urlencoded::parse(options.as_bytes()) {
        let changes = match (&*name, &*value) {
            ("web-scheme", scheme) => {
                let other = if scheme == "dark" { "light" } else { "dark" };
                vec![
                    (format!("(prefers-color-scheme: {scheme})"), "(min-width: 0)".to_owned()),
                    (format!("(prefers-color-scheme: {other})"), "(max-width: 0)".to_owned()),
                    ("color-scheme: light dark".to_owned(), format!("color-scheme: {scheme}")),
                ]
            }
            ("web-media", _) => [("@media print", "@media all"), ("@media screen", "@media speech")]
                .into_iter()
                .chain([("media=print", "media=all"), ("media=screen", "media=speech")])
                .map(|(from, to)| (from.to_owned(), to.to_owned()))
                .collect(),
            ("web-hide", hidden) => {
                vec![("<style>".to_owned(), format!("<style>{hidden} {{ display: none !important }}"))]
            }
            ("web-wait", _) => vec![("/* delay */ 25000".to_owned(), "0".to_owned())],
            _ => vec![],
        };
        html = changes.into_iter().fold(html, |html, (from, to)| html.replace(&from, &to));
    }
    html
}

fn reply(path: &str) -> Reply {
    let (path, options) = path.split_once('?').unwrap_or((path, ""));
    if let Some(colour) = path.strip_prefix("/colour/").and_then(|name| name.strip_suffix(".svg")) {
        let svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='100'><path fill='{colour}' d='M0 0h100v100H0z'/></svg>"
        );
        return Reply::of_type("image/svg+xml", svg);
    }
    let file = folder().join(format!("{}.html", path.trim_start_matches('/')));
    fs::read_to_string(file).map_or(Reply::status(404), |html| Reply::Html(written(html, options)))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/page/likeness")
}

/// Writes both pictures of a page that differs. Returns a message.
fn write(page: &str, options: &str, error: &str, pictures: [&Picture; 2]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("likeness");
    fs::create_dir_all(&folder).unwrap();
    let name = options.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    for (kind, picture) in ["ours", "reference"].into_iter().zip(pictures) {
        fs::write(folder.join(format!("{page}.{name}.{kind}.png")), png(picture, |_| {})).unwrap();
    }
    format!("{page} {options}: {error} ({})", folder.display())
}

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
