//! Sources that are web pages.

use std::time::{Duration, Instant};

use edgezoom_content::FailureCode;
use edgezoom_content::protocol::Outcome;

use super::tiler::Tiler;
use super::world::{Asked, Known, Source};
use super::{ID, failure, finished, keys, picture, world};

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_page_becomes_a_pyramid() {
    let world = world().await;
    let page = "<!doctype html><title>T</title><body style='margin:0;height:3000px;background:#f0f'>";
    world.known().sources.insert("page".into(), Source::Page(page));
    let id = world.enqueue(ID, 1, "page");
    let tiler = Tiler::start(&world, &[]);
    world.until("the end", Known::ended).await;
    tiler.logged("job ended").await;
    let known = world.known();
    let dzi = finished(&known).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height), (2560, 6000));
    let titled = |outcome: &Outcome| matches!(outcome, Outcome::Finished { title: Some(title), .. } if title.as_str() == "T");
    assert!(known.reports().into_iter().any(titled), "its title is told");
    let stored: std::collections::BTreeSet<_> = known.objects.keys().cloned().collect();
    assert_eq!(stored, keys(id, edgezoom_content::Attempt::FIRST, &dzi));
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_page_that_its_server_calls_something_else_is_one_all_the_same() {
    let world = world().await;
    // Sent as application/octet-stream.
    let page = b"<!doctype html><title>T</title><body style='margin:0;height:3000px'>".as_slice();
    world.known().sources.insert("page".into(), Source::Bytes(page.into()));
    world.enqueue(ID, 1, "page");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", Known::ended).await;
    let dzi = finished(&world.known()).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height), (2560, 6000));
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_page_that_goes_on_to_a_picture_becomes_that_picture() {
    let world = world().await;
    let page = "<!doctype html><title>T</title><meta http-equiv=refresh content='0;url=picture.png'>";
    world.known().sources.insert("page".into(), Source::Page(page));
    world.known().sources.insert("picture.png".into(), picture());
    world.enqueue(ID, 1, "page");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", Known::ended).await;
    let dzi = finished(&world.known()).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height), (1600, 1100));
}

#[tokio::test]
async fn without_a_browser_a_page_is_not_supported() {
    let world = world().await;
    world.known().sources.insert("page".into(), Source::Page("<!doctype html>"));
    world.enqueue(ID, 1, "page");
    let _tiler = Tiler::start(&world, &[("EDGEZOOM_CHROMIUM", "/nowhere/chromium")]);
    world.until("the end", Known::ended).await;
    let (code, message) = failure(&world.known()).unwrap();
    assert_eq!(code, FailureCode::UnsupportedFormat);
    assert!(message.contains("no browser for web pages"), "{message}");
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_tiler_that_is_killed_leaves_no_browser() {
    let world = world().await;
    world.known().sources.insert("page".into(), Source::Page("<!doctype html><body><img src=silence>"));
    world.known().sources.insert("silence".into(), Source::Silence);
    world.enqueue(ID, 1, "page");
    let folder = tempfile::tempdir().unwrap();
    let mut tiler = Tiler::start(&world, &[("EDGEZOOM_TMP", folder.path().to_str().unwrap())]);
    let asked = Asked::Fetched("silence".into());
    world.until("the browser to load", |known| known.log.contains(&asked)).await;
    let profiles = || std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(profiles(), 1);
    tiler.kill();

    // The cell deletes the profile when it has reaped the last process.
    let deadline = Instant::now() + Duration::from_secs(10);
    while profiles() > 0 || browsers(folder.path()) > 0 {
        assert!(Instant::now() < deadline, "{} profiles, {} processes", profiles(), browsers(folder.path()));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How many processes have the folder in their command lines.
fn browsers(folder: &std::path::Path) -> usize {
    let folder = folder.to_str().unwrap().as_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(folder.len()).any(|window| window == folder)).count()
}
