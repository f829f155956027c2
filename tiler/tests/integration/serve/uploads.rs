//! Files that clients have sent: fetched from the store, and converted like any source.

use bytes::Bytes;
use edgezoom_content::FailureCode;

use super::tiler::Tiler;
use super::world::{Object, Source, WorldState};
use super::{ID, failure, finished, picture, world};

const KEY: &str = "uploads/00112233445566778899aabbccddeeff";

fn object(bytes: Bytes) -> Object {
    Object { bytes, media_type: String::new(), cache_control: String::new() }
}

#[tokio::test]
async fn a_file_that_was_sent_becomes_a_pyramid() {
    let world = world().await;
    let Source::Bytes(bytes) = picture() else { panic!() };
    world.state().objects.insert(KEY.into(), object(bytes));
    world.enqueue(ID, 1, KEY);
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let state = world.state();
    assert_eq!(finished(&state).map(|dzi| (dzi.size.width, dzi.size.height)), Some((1600, 1100)));
    assert!(
        state.objects.contains_key(KEY),
        "the edge deletes it, which knows when it is not needed any more"
    );
}

#[tokio::test]
async fn a_file_that_is_gone_or_no_picture_fails_with_what_to_do() {
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
