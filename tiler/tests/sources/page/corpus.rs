//! A corpus of small pages, each of a kind that is easily captured wrong: unfinished, in the wrong place, or in part.
//!
//! To add a page, put `corpus/<name>.html` into the folder beside this file. Its reference is a plain page that looks the
//! same, without scripts and without sizes that depend on the window: the page that `<link rel=match href=…>` names,
//! otherwise `corpus/<name>.ref.html`. These are reftests, as in
//! [web-platform-tests](https://web-platform-tests.org/writing-tests/reftests.html). A page without a reference is its
//! own: it must look as Chromium shows it when it has loaded. References are captured by Chromium's command line, once
//! for all pages that share one. Pages may ask their server for:
//!
//! | path | response |
//! |---|---|
//! | `/<name>.html` | another page of the folder |
//! | `/colour/<name>.svg` | a picture of 100 × 100 pixels in this colour |
//! | `/download` | a ZIP that is to be stored |
//! | `/text` | a few letters |
//! | `/never` | nothing |
//! | `/after/<ms>/<path>` | the response of the other path, after this time |
//!
//! `EDGEZOOM_PAGES=<part of a name> cargo test --test sources corpus` tests only some. The pictures of a page that fails
//! are written to the folder that the message names.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use edgezoom_content::SourceUrl;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::png;
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_tiler::browser::Pages;
use futures::{StreamExt, stream};
use tokio::sync::OnceCell;

use crate::chromium;
use crate::screenshot::{Screenshot, settings};
use crate::site::{Reply, Site};

/// Reports the size of a reference, which the height of the window does not change, to the server.
const REPORT_SIZE: &str = "<script>addEventListener('load', () => {
    const all = [...document.querySelectorAll('*')].map((element) => element.getBoundingClientRect());
    const most = (side, least) => Math.round(all.reduce((most, box) => Math.max(most, box[side]), least));
    const request = new XMLHttpRequest();
    request.open('GET', `/size/${most('right', 1280)}x${most('bottom', 800)}${location.pathname}`, false);
    request.send();
})</script>";

/// A reference as captured in a window of this size.
type References = Mutex<HashMap<(String, (u32, u32)), Arc<OnceCell<Reference>>>>;

struct Reference {
    picture: Picture,
    /// Its own size, if it is not the page itself.
    size: Option<String>,
}

#[tokio::test]
async fn pages_look_as_their_references() {
    let chosen = std::env::var("EDGEZOOM_PAGES").unwrap_or_default();
    let names: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".html").map(str::to_owned))
        .filter(|name| !name.ends_with(".ref") && name.contains(&chosen))
        .collect();
    let site = Site::serve("127.0.0.2", reply);
    let mut settings = settings();
    // At a device scale factor of 2, Chromium rounds line heights differently than with an emulated one.
    settings.limits.scale = 1;
    // Other tests run beside this one: a chart of 40 frames may take seconds.
    settings.limits.settle = Duration::from_secs(60);
    settings.limits.rest = Duration::from_secs(8);
    let pages = Pages::new(settings);
    let references = References::default();
    let tests = stream::iter(&names).map(|name| test(name, &pages, &site, &references));
    let results: Vec<_> = tests.buffer_unordered(2).collect().await;
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} of {} pages are wrong:\n{}", wrong.len(), names.len(), wrong.join("\n"));
}

/// Captures a page and compares it with its reference.
async fn test(name: &str, pages: &Pages, site: &Site, references: &References) -> Result<(), String> {
    let url = SourceUrl::parse(&site.url(&format!("/{name}.html"))).unwrap();
    let capture = async { Screenshot::of(pages.open(&url, None).await?).await };
    let ours = capture.await.map_err(|error| format!("{name}: {error:?}"))?.picture();
    let path = format!("/{}", reference_of(name));
    let key = (path.clone(), (ours.width, ours.height));
    let cell = Arc::clone(references.lock().unwrap().entry(key).or_default());
    let reference = cell
        .get_or_init(|| async {
            let (url, size) = (site.url(&path), ours.size());
            let picture = move || chromium::screenshot(&url, size.width, size.height);
            let picture = tokio::task::spawn_blocking(picture).await.unwrap();
            let requests = site.requests();
            let reported = requests
                .iter()
                .rev()
                .find_map(|request| request.strip_prefix("/size/")?.strip_suffix(&path).map(str::to_owned));
            Reference { picture, size: reported }
        })
        .await;
    let size = format!("{}x{}", ours.width, ours.height);
    let compared = match &reference.size {
        Some(expected) if *expected != size => Err(format!("its size is {size} and should be {expected}")),
        _ => compare(&ours, &reference.picture, Tolerance::up_to(1)),
    };
    compared.map_err(|error| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
        fs::create_dir_all(&folder).unwrap();
        for (kind, picture) in [("ours", &ours), ("reference", &reference.picture)] {
            fs::write(folder.join(format!("{name}.{kind}.png")), png(picture, |_| {})).unwrap();
        }
        format!("{name}: {error} ({})", folder.display())
    })
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources/page/corpus")
}

/// Returns the file name of a page's reference.
fn reference_of(name: &str) -> String {
    let html = fs::read_to_string(folder().join(format!("{name}.html"))).unwrap();
    let named = html.split_once("<link rel=match href=").and_then(|(_, rest)| rest.split_once('>'));
    let own = format!("{name}.ref.html");
    match named {
        Some((named, _)) => named.trim_matches(['"', '\'', ' ']).to_owned(),
        None if folder().join(&own).exists() => own,
        None => format!("{name}.html"),
    }
}

fn reply(path: &str) -> Reply {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts[..] {
        ["after", time, ..] => {
            thread::sleep(Duration::from_millis(time.parse().unwrap()));
            reply(&format!("/{}?{query}", parts[2..].join("/")))
        }
        ["colour", name] => Reply::of_type(
            "image/svg+xml",
            format!(
                "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='100'><path fill='{}' d='M0 0h100v100H0z'/></svg>",
                name.trim_end_matches(".svg")
            ),
        ),
        ["download"] => Reply::Raw(
            200,
            "Content-Type: application/zip\r\nContent-Disposition: attachment; filename=a.zip\r\n".to_owned(),
            b"PK\x05\x06".to_vec(),
        ),
        ["text"] => Reply::of_type("text/plain", "text"),
        ["never"] => Reply::Silence,
        [name] if name.ends_with(".html") => match fs::read_to_string(folder().join(name)) {
            Ok(html) if name.ends_with(".ref.html") => Reply::Html(html + REPORT_SIZE),
            Ok(html) => Reply::Html(html),
            Err(_) => Reply::status(404),
        },
        _ => Reply::status(404),
    }
}
