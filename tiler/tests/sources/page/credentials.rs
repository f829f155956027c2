//! Headers and cookies for a page's origin: which requests of its browser have them.

use std::process::Command;
use std::sync::{Arc, OnceLock};

use edgezoom_content::SourceUrl;
use edgezoom_tiler::browser::Pages;
use edgezoom_tiler::credentials::{Access, Fields};

use crate::screenshot::{Screenshot, settings};
use crate::site::{Reply, Site};

fn fields() -> Fields {
    let mut fields = Fields::default();
    fields.add_header("X-Key: secret").unwrap();
    fields.add_cookie("a=secret").unwrap();
    fields
}

async fn open(url: &str) -> Screenshot {
    let source = SourceUrl::parse(url).unwrap();
    let credentials = Access { key: None, fields: fields() }.to(&source).unwrap();
    Screenshot::of(Pages::new(settings()).open_with(&source, None, credentials).await.unwrap()).await.unwrap()
}

/// Returns the number of header lines of a site's requests that have a secret.
fn secrets(site: &Site) -> usize {
    site.heads().lines().filter(|line| line.contains("secret")).count()
}

#[tokio::test]
async fn only_the_pages_own_origin_gets_its_headers_and_cookies() {
    let own: Arc<OnceLock<String>> = Arc::default();
    let back = Arc::clone(&own);
    let other = Site::serve("127.0.0.2", move |path| match path {
        "/frame" => Reply::Html(format!(
            "<img src={0}/from-frame.png><script>fetch('{0}/sent',{{mode:'no-cors'}})</script>",
            back.get().unwrap()
        )),
        "/back" => Reply::redirect(&format!("{}/led.png", back.get().unwrap())),
        _ => Reply::status(404),
    });
    let elsewhere = other.url("");
    let site = Site::serve("127.0.0.2", move |path| {
        match path {
        "/" => Reply::Raw(
            200,
            "Content-Type: text/html\r\nSet-Cookie: b=2; Path=/\r\n".to_owned(),
            format!(
                "<!doctype html><title>x</title><script>document.title=document.cookie</script><img src=a.png><img src=away><img src=near>
                 <img src={elsewhere}/b.png><img src={elsewhere}/back><iframe src={elsewhere}/frame></iframe>
                 <script>fetch('{elsewhere}/c',{{mode:'no-cors',credentials:'include'}});fetch('/d')</script>"
            )
            .into(),
        ),
        "/away" => Reply::redirect(&format!("{elsewhere}/away.png")),
        "/near" => Reply::redirect("/near.png"),
        _ => Reply::status(404),
    }
    });
    own.set(site.url("")).unwrap();
    let page = open(&site.url("/")).await;
    assert_eq!(page.title, "b=2", "scripts do not see the cookie");
    let paths = |site: &Site| -> Vec<String> {
        site.requests().into_iter().filter(|path| path.starts_with('/') && path != "/favicon.ico").collect()
    };
    for path in ["/away.png", "/back", "/frame", "/b.png", "/c"] {
        assert!(paths(&other).iter().any(|asked| asked == path), "{path}: {:?}", paths(&other));
    }
    assert_eq!(secrets(&other), 0, "{}", other.heads());
    let without = ["/led.png", "/from-frame.png", "/sent"];
    let asked = paths(&site);
    for path in without.iter().chain(&["/a.png", "/away", "/near", "/near.png", "/d"]) {
        assert!(asked.iter().any(|asked| asked == path), "{path}: {asked:?}");
    }
    let heads = site.heads().to_lowercase();
    let own = asked.iter().filter(|path| !without.contains(&path.as_str())).count();
    assert_eq!(heads.matches("x-key: secret").count(), own, "{asked:?} {heads}");
    assert_eq!(heads.matches("a=secret").count(), own, "{heads}");
    assert!(heads.contains("cookie: a=secret; b=2"), "{heads}");
}

#[tokio::test]
async fn a_page_that_leaves_its_origin_takes_nothing_along() {
    let own: Arc<OnceLock<String>> = Arc::default();
    let back = Arc::clone(&own);
    let other = Site::serve("127.0.0.2", move |path| match path {
        "/" => Reply::Html(format!(
            "<!doctype html><title>other</title><img src={}/picture>",
            back.get().unwrap()
        )),
        _ => Reply::status(404),
    });
    let elsewhere = other.url("/");
    let site = Site::serve("127.0.0.2", move |path| match path {
        "/" => Reply::redirect(&elsewhere),
        _ => Reply::status(404),
    });
    own.set(site.url("")).unwrap();
    assert_eq!(open(&site.url("/")).await.title, "other");
    assert!(site.requests().contains(&"/picture".to_owned()));
    assert_eq!((secrets(&site), secrets(&other)), (2, 0), "the first request alone has both");
}

#[test]
fn flags_open_a_page_behind_a_login() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html("<!doctype html><body style='margin:0;height:900px'>".to_owned()),
        _ => Reply::status(404),
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("headers"), "X-Key: secret\n\nCookie: a=secret; b=2\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command
        .current_dir(folder.path())
        .args(["convert", "--output=out", "--header=@headers", "--cookie=c=3"])
        .arg(site.url("/"));
    command.env("EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX", "true").env("EDGEZOOM_ALLOW_NETWORKS", "127.0.0.2/32");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let heads = site.heads().to_lowercase();
    // The download, the browser, and robots.txt without them.
    let asked: Vec<String> = site.requests().into_iter().filter(|path| path == "/").collect();
    assert_eq!(
        (asked.len(), heads.matches("cookie: a=secret; b=2; c=3").count(), heads.matches("x-key").count()),
        (2, 2, 2),
        "{heads}"
    );
}
