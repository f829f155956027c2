//! Tests uploaded files, which are fetched from the store and converted like any source.

use bytes::Bytes;
use edgezoom_content::FailureCode;
use edgezoom_content::protocol::Outcome;

use super::tiler::Tiler;
use super::world::{Object, Source, WorldState};
use super::{ID, failure, finished, picture, world};

const KEY: &str = "uploads/00112233445566778899aabbccddeeff";

fn object(bytes: Bytes) -> Object {
    Object { bytes, media_type: String::new(), cache_control: String::new() }
}

#[tokio::test]
async fn an_uploaded_file_becomes_a_pyramid() {
    let world = world().await;
    let Source::Bytes(bytes) = picture() else { panic!() };
    world.state().objects.insert(KEY.into(), object(bytes));
    world.enqueue(ID, 1, KEY);
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let state = world.state();
    assert_eq!(finished(&state).map(|dzi| (dzi.size.width, dzi.size.height)), Some((1600, 1100)));
    assert!(state.objects.contains_key(KEY), "only the edge knows when it is no longer needed");
}

#[tokio::test]
async fn an_uploader_may_turn_vectors_off() {
    let world = world().await;
    let _tiler = Tiler::start(&world, &[]);
    let drawing =
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"><path d="M5 5h50v30z"/></svg>"#;
    let without = "uploads/00112233445566778899aabbccddeeff?vectors=off&name=a.svg";
    for (attempt, source, pages) in [(1, KEY, Some(1)), (2, without, None)] {
        world.state().log.clear();
        world.state().objects.insert(KEY.into(), object(Bytes::from_static(drawing.as_bytes())));
        world.enqueue(ID, attempt, source);
        world.until("the end", WorldState::ended).await;
        let state = world.state();
        let vectors = state.reports().into_iter().find_map(|outcome| match outcome {
            Outcome::Finished { finished } => Some(finished.vectors.map(|vectors| vectors.pages)),
            _ => None,
        });
        assert_eq!(vectors, Some(pages), "{source}");
    }
}

#[tokio::test]
async fn a_missing_or_unsupported_file_fails_with_a_remedy() {
    let world = world().await;
    let _tiler = Tiler::start(&world, &[]);
    let page = Bytes::from_static(b"<!doctype html><title>A page</title><p>text</p>");
    for (n, (bytes, code, words)) in [
        (None, FailureCode::SourceNotFound, "Upload it again"),
        (Some(page), FailureCode::UnsupportedFormat, "by its URL"),
        (Some(Bytes::from_static(b"Dear Sir or Madam")), FailureCode::UnsupportedFormat, ""),
    ]
    .into_iter()
    .enumerate()
    {
        world.state().log.clear();
        if let Some(bytes) = bytes {
            world.state().objects.insert(KEY.into(), object(bytes));
        }
        world.enqueue(ID, n as u32 + 1, KEY);
        world.until("the end", WorldState::ended).await;
        let (given, message) = failure(&world.state()).unwrap();
        assert_eq!(given, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
}
