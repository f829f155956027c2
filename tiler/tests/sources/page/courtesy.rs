//! Publishers' rules in robots.txt, and the user agent that identifies the service.

use std::path::Path;
use std::process::{Command, Output};

use crate::screenshot::capture_url;
use crate::site::{Reply, Site};

fn convert(folder: &Path, source: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).args(["convert", "--output=out", "--force"]).args(more).arg(source);
    command.env("EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX", "true"); // tests without namespaces may run as root
    command.env("EDGEZOOM_ALLOW_NETWORKS", "127.0.0.2/32").output().unwrap()
}

#[test]
fn a_page_is_shown_where_robots_txt_allows_it() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/robots.txt" => Reply::of_type("text/plain", "User-agent: *\nDisallow: /private\n"),
        "/leads" => Reply::Html("<!doctype html><script>location.replace('/private')</script>".into()),
        _ => Reply::Html("<!doctype html><p>text".into()),
    });
    let folder = tempfile::tempdir().unwrap();
    for (path, more, refused) in [
        ("/public", &[][..], None),
        ("/private", &[], Some("robots.txt asks this service not to open the page")),
        ("/private", &["--robots=ignore"], None),
        ("/leads", &[], Some("robots.txt")),
    ] {
        let output = convert(folder.path(), &site.url(path), more);
        let text = String::from_utf8_lossy(&output.stderr);
        match refused {
            None => assert!(output.status.success(), "{path} {more:?}: {text}"),
            Some(words) => {
                assert!(!output.status.success() && text.contains(words), "{path} {more:?}: {text}")
            }
        }
    }
}

#[tokio::test]
async fn every_request_of_a_page_names_the_service() {
    let frame = Site::serve("127.0.0.2", |path| match path {
        "/frame" => Reply::Html("<!doctype html><img src=/of-frame.svg>".into()),
        _ => Reply::of_type("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
    });
    let worker = "fetch('/of-worker.txt').then(() => postMessage(1), () => postMessage(0))";
    let page = format!(
        "<!doctype html><link rel=stylesheet href=/style.css><img src=/picture.svg><iframe src='{}'></iframe>
         <script src=/script.js></script><script>new Worker('/worker.js').onmessage = () => fetch('/after.txt')</script>",
        frame.url("/frame")
    );
    let site = Site::serve("127.0.0.2", move |path| match path {
        "/" => Reply::Html(page.clone()),
        "/worker.js" => Reply::of_type("text/javascript", worker),
        _ => Reply::of_type("text/plain", ""),
    });
    capture_url(&site.url("/")).await;
    let requested: Vec<_> = site.requests().into_iter().chain(frame.requests()).collect();
    for path in [
        "/",
        "/style.css",
        "/picture.svg",
        "/script.js",
        "/worker.js",
        "/of-worker.txt",
        "/frame",
        "/of-frame.svg",
    ] {
        assert!(requested.iter().any(|requested| requested == path), "{path}: {requested:?}");
    }
    let requests = requested.iter().filter(|requested| *requested != "(connection)").count();
    let named = site.heads() + &frame.heads();
    let named = named.lines().filter(|line| line.starts_with("User-Agent:") && line.contains(" Edgezoom/"));
    assert_eq!(named.count(), requests, "{requested:?}: {}", site.heads());
}
