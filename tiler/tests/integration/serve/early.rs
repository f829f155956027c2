//! Tests pictures that are rendered while they arrive, and downloads that break off or change meanwhile.

use std::time::{Duration, Instant};

use axum::body::Bytes;
use edgezoom_codecs::Layout;
use edgezoom_content::protocol::Outcome;
use edgezoom_content::{Attempt, CoarseNumber, FailureCode};
use edgezoom_test_support::files::{self, Jpeg};
use edgezoom_test_support::{Picture, patience};

use super::tiler::Tiler;
use super::turn::{Gate, Turn};
use super::world::{Call, Object, Source, World, WorldState};
use super::{ID, failure, finished, stored};

const TAG: Option<&str> = Some("\"one\"");

/// Creates a JPEG or PNG of many tiles and a few hundred kilobytes.
fn picture(is_jpeg: bool, width: u32, height: u32) -> Bytes {
    let picture = Picture::photo(width, height, Layout::Rgb);
    if is_jpeg { files::jpeg(&picture, Jpeg::default()).into() } else { files::png(&picture, |_| {}).into() }
}

fn whole(file: &Bytes) -> Turn {
    let length = file.len();
    Turn { length, tag: TAG, from: None, first: file.clone(), rest: Bytes::new(), gate: Gate::opened() }
}

/// Sends three quarters of a file, waits for the gate, and breaks off.
fn broken(file: &Bytes, gate: &Gate) -> Turn {
    let first = file.slice(..file.len() / 4 * 3);
    Turn { first, gate: gate.clone(), ..whole(file) }
}

async fn world(turns: Vec<Turn>) -> World {
    let world = World::new().await;
    world.state().sources.insert("picture".into(), Source::Turns(turns));
    world
}

/// Returns true once the renderer has reported the picture's size.
fn is_rendering(state: &WorldState) -> bool {
    state
        .reports()
        .iter()
        .any(|outcome| matches!(outcome, Outcome::Progress(progress) if progress.tiles.is_some()))
}

#[tokio::test]
async fn rendering_begins_before_the_last_byte_and_a_broken_download_resumes() {
    for is_jpeg in [true, false] {
        let file = picture(is_jpeg, 2300, 1900);
        let (gate, from) = (Gate::closed(), file.len() / 4 * 3);
        let rest = Turn { from: Some(from), first: file.slice(from..), ..whole(&file) };
        let world = world(vec![broken(&file, &gate), rest]).await;
        let id = world.enqueue(ID, 1, "picture");
        let tiler = Tiler::start(&world, &[]);
        world.until("rendering before the end of the source", is_rendering).await;
        gate.open();
        world.until("the end", WorldState::ended).await;
        tiler.logged("job ended").await;
        let state = world.state();
        let dzi = finished(&state).unwrap();
        assert_eq!((dzi.size.width, dzi.size.height), (2300, 1900));
        assert_eq!(stored(&state), [Attempt::FIRST.archive_key(id)]);
        assert_eq!(state.log.iter().filter(|call| matches!(call, Call::Fetch(_))).count(), 2);
    }
}

#[tokio::test]
async fn a_source_that_changes_meanwhile_is_rendered_again() {
    let (before, now) = (picture(true, 2300, 1900), picture(false, 700, 1300));
    let gate = Gate::closed();
    let world = world(vec![broken(&before, &gate), Turn { tag: Some("\"two\""), ..whole(&now) }]).await;
    let id = world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    world.until("the first version", is_rendering).await;
    gate.open();
    world.until("the end", WorldState::ended).await;
    tiler.logged("job ended").await;
    let state = world.state();
    let dzi = finished(&state).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height), (700, 1300));
    assert_eq!(stored(&state), [Attempt::FIRST.archive_key(id)]);
}

#[tokio::test]
async fn a_download_that_never_completes_fails_and_leaves_nothing() {
    let file = picture(true, 2300, 1900);
    let gate = Gate::closed();
    let nothing = Turn { from: Some(file.len() / 4 * 3), first: Bytes::new(), ..whole(&file) };
    let world = world(vec![broken(&file, &gate), nothing]).await;
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    world.until("rendering", is_rendering).await;
    gate.open();
    world.until("the end", WorldState::ended).await;
    tiler.logged("job ended").await;
    let state = world.state();
    assert_eq!(failure(&state).unwrap().0, FailureCode::SourceUnreachable);
    assert!(stored(&state).is_empty());
}

#[tokio::test]
async fn a_renderer_that_waits_for_its_source_ends_with_its_tiler() {
    let file = picture(true, 2300, 1900);
    let gate = Gate::closed();
    let world = world(vec![broken(&file, &gate), whole(&file)]).await;
    world.enqueue(ID, 1, "picture");
    let mut first = Tiler::start(&world, &[]);
    world.until("rendering", is_rendering).await;
    let renderers = first.renderers();
    first.kill();
    tokio::time::timeout(patience(), async {
        while renderers.iter().any(|process| rustix::process::test_kill_process(*process).is_ok()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("a renderer that waits for its source outlives its parent");
    let id = world.enqueue(ID, 2, "picture");
    let second = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    second.logged("job ended").await;
    let state = world.state();
    assert_eq!(stored(&state), [Attempt::FIRST.next().archive_key(id)]);
}

#[tokio::test]
async fn a_coarse_picture_is_reported_while_the_source_arrives_and_deleted_at_the_end() {
    let photo = Picture::photo(2300, 1900, Layout::Rgb);
    let file: Bytes = files::jpeg(&photo, Jpeg { progressive: true, ..Jpeg::default() }).into();
    let (gate, from) = (Gate::closed(), file.len() / 4 * 3);
    let rest = Turn { from: Some(from), first: file.slice(from..), ..whole(&file) };
    let world = world(vec![broken(&file, &gate), rest]).await;
    let id = world.enqueue(ID, 1, "picture");
    let begun = Instant::now();
    let tiler = Tiler::start(&world, &[]);
    let coarse =
        |outcome: &&Outcome| matches!(outcome, Outcome::Progress(progress) if progress.coarse.is_some());
    world.until("a coarse picture", |state| state.reports().iter().any(coarse)).await;
    assert!(begun.elapsed() > Duration::from_secs(3));
    let key = Attempt::FIRST.coarse_key(id, CoarseNumber::FIRST);
    {
        let state = world.state();
        assert_eq!(stored(&state), [key.as_str()], "stored before it is named, and nothing else is");
        let Object { bytes, media_type, .. } = &state.objects[&key];
        let seen = files::decode(bytes).unwrap();
        assert_eq!((media_type.as_str(), seen.width, seen.height), ("image/jpeg", 575, 475));
    }
    gate.open();
    world.until("the end", WorldState::ended).await;
    tiler.logged("job ended").await;
    let state = world.state();
    assert!(finished(&state).is_some());
    assert_eq!(stored(&state), [Attempt::FIRST.archive_key(id)]);
}
