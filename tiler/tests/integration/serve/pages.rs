//! Tests sources that are web pages.

use std::time::{Duration, Instant};

use edgezoom_content::protocol::Outcome;
use edgezoom_content::{Attempt, FailureCode, Finished};
use edgezoom_test_support::patience;
use edgezoom_test_support::pdf::Pdf;

use super::tiler::Tiler;
use super::world::{Call, Source, WorldState};
use super::{ID, OTHER, failure, finished, picture, stored, world};

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_page_becomes_a_pyramid() {
    let world = world().await;
    let page = "<!doctype html><title>T</title><body style='margin:0;height:3000px;background:#f0f'>";
    world.state().sources.insert("page".into(), Source::Page(page));
    let id = world.enqueue(ID, 1, "page");
    let tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    tiler.logged("job ended").await;
    let state = world.state();
    let dzi = finished(&state).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height), (2560, 6000));
    let titled = |outcome: &Outcome| matches!(outcome, Outcome::Finished { finished: Finished { title: Some(title), .. } } if title.as_str() == "T");
    assert!(state.reports().into_iter().any(titled), "its title is reported");
    assert_eq!(stored(&state), [Attempt::FIRST.archive_key(id)]);
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_page_with_the_wrong_content_type_is_recognised_and_captured_with_its_options() {
    let world = world().await;
    // The server sends application/octet-stream.
    let page = b"<!doctype html><title>T</title><body style='margin:0;height:3000px'>".as_slice();
    world.state().sources.insert("page".into(), Source::Bytes(page.into()));
    world.enqueue(ID, 1, "web-width=640>page");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let dzi = finished(&world.state()).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height), (1280, 6000));
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_page_that_navigates_to_a_picture_becomes_that_picture() {
    let world = world().await;
    let page = "<!doctype html><title>T</title><meta http-equiv=refresh content='0;url=picture.png'>";
    world.state().sources.insert("page".into(), Source::Page(page));
    world.state().sources.insert("picture.png".into(), picture());
    world.enqueue(ID, 1, "page");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let dzi = finished(&world.state()).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height), (1600, 1100));
}

#[tokio::test]
#[ignore = "needs Chromium and PDFium: cargo xtask test"]
async fn the_requested_page_of_a_document_counts_unless_the_target_names_one() {
    let library = edgezoom_codecs::locate_pdfium().unwrap();
    let world = world().await;
    let pdf = Pdf::new().page(200, 100, "").page(100, 200, "").bytes();
    for (name, source) in [
        ("two.pdf", Source::Bytes(pdf.into())),
        ("any", Source::Page("<!doctype html><meta http-equiv=refresh content='0;url=two.pdf'>")),
        ("first", Source::Page("<!doctype html><meta http-equiv=refresh content='0;url=two.pdf#page=1'>")),
    ] {
        world.state().sources.insert(name.into(), source);
    }
    let _tiler = Tiler::start(&world, &[("EDGEZOOM_PDFIUM", library.to_str().unwrap())]);
    for (attempt, (source, is_tall)) in
        (1..).zip([("any#page=2", true), ("first#page=2", false), ("any#page=1", false)])
    {
        world.state().log.clear();
        world.enqueue(ID, attempt, source);
        world.until("the end", WorldState::ended).await;
        let size = finished(&world.state()).unwrap().size;
        assert_eq!(size.height == 2 * size.width, is_tall, "{source}: {size:?}");
        assert_eq!(size.width == 2 * size.height, !is_tall, "{source}: {size:?}");
    }
}

#[tokio::test]
async fn without_a_browser_a_page_is_not_supported() {
    let world = world().await;
    world.state().sources.insert("page".into(), Source::Page("<!doctype html>"));
    world.enqueue(ID, 1, "page");
    let _tiler = Tiler::start(&world, &[("EDGEZOOM_CHROMIUM", "/nowhere/chromium")]);
    world.until("the end", WorldState::ended).await;
    let (code, message) = failure(&world.state()).unwrap();
    assert_eq!(code, FailureCode::UnsupportedFormat);
    assert!(message.contains("no browser for web pages"), "{message}");
}

#[tokio::test]
async fn a_page_that_robots_txt_disallows_is_not_opened_but_a_picture_is_converted() {
    let world = world().await;
    world.state().robots = Some("User-agent: edgezoom\nDisallow: /source/p\n");
    world.state().sources.insert("page".into(), Source::Page("<!doctype html>"));
    let no_browser = ("EDGEZOOM_CHROMIUM", "/nowhere/chromium"); // opening the page would cause another failure
    let tiler = Tiler::start(&world, &[no_browser]);
    world.enqueue(ID, 1, "page");
    world.until("the end", WorldState::ended).await;
    let (code, message) = failure(&world.state()).unwrap();
    assert_eq!(code, FailureCode::SourceExcluded);
    assert!(message.contains("robots.txt"), "{message}");
    world.state().log.clear();
    world.enqueue(ID, 2, "picture");
    world.until("the end", WorldState::ended).await;
    assert!(
        finished(&world.state()).is_some(),
        "robots.txt does not apply to pictures, which a person has requested"
    );
    drop(tiler);

    world.state().log.clear();
    let tiler = Tiler::start(&world, &[no_browser, ("EDGEZOOM_ROBOTS", "ignore")]);
    tiler.logged("tiler serves").await; // until then, the last pull of the previous tiler may still be running
    world.enqueue(ID, 3, "page");
    world.until("the end", WorldState::ended).await;
    assert_eq!(failure(&world.state()).unwrap().0, FailureCode::UnsupportedFormat);
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_page_that_waits_for_its_place_lends_its_slot_to_a_picture() {
    let world = world().await;
    let page = Source::Page("<!doctype html><body><img src=silence>");
    world.state().sources.extend([("first".into(), page.clone()), ("second".into(), page)]);
    world.state().sources.insert("silence".into(), Source::Silence);
    world.enqueue(ID, 1, "first");
    world.enqueue(OTHER, 1, "second");
    // Two slots, and a place for one page.
    let tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "2")]);
    let fetched = |state: &WorldState| {
        ["first", "second", "silence"].iter().all(|path| state.log.contains(&Call::Fetch((*path).into())))
    };
    world.until("a page that loads and one that waits", fetched).await;
    world.enqueue("0123456789a", 1, "picture");
    world.until("the picture", |state| finished(state).is_some()).await;
    assert!(failure(&world.state()).is_none(), "the pages still load and wait");
    let load = tiler.ask("/metrics").await.1;
    assert!(load.contains("edgezoom_jobs_running 2"), "{load}");
}

#[tokio::test]
#[ignore = "needs Chromium: cargo xtask test"]
async fn a_killed_tiler_leaves_no_browser() {
    let world = world().await;
    world.state().sources.insert("page".into(), Source::Page("<!doctype html><body><img src=silence>"));
    world.state().sources.insert("silence".into(), Source::Silence);
    world.enqueue(ID, 1, "page");
    let folder = tempfile::tempdir().unwrap();
    let mut tiler = Tiler::start(&world, &[("EDGEZOOM_TMP", folder.path().to_str().unwrap())]);
    let asked = Call::Fetch("silence".into());
    world.until("the browser to load", |state| state.log.contains(&asked)).await;
    let profiles = || std::fs::read_dir(folder.path()).unwrap().count();
    assert!(browsers(folder.path()) > 0);
    tiler.kill();

    // Without namespaces, the supervisor deletes the profile after it has reaped the last process.
    let deadline = Instant::now() + patience();
    while profiles() > 0 || browsers(folder.path()) > 0 {
        assert!(Instant::now() < deadline, "{} profiles, {} processes", profiles(), browsers(folder.path()));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the number of processes with the folder in their command lines.
fn browsers(folder: &std::path::Path) -> usize {
    let folder = folder.to_str().unwrap().as_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(folder.len()).any(|window| window == folder)).count()
}
