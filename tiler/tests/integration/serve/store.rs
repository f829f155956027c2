//! Tests a failing store, and the layout of one object per pyramid.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use edgezoom_content::protocol::Outcome;
use edgezoom_content::{Attempt, FailureCode, PreviewKind};

use super::tiler::Tiler;
use super::world::{Object, WorldState};
use super::{ID, failure, finished, keys, world};

#[tokio::test]
async fn requests_that_the_store_refuses_are_retried() {
    let world = world().await;
    world.state().on_put =
        |count| if count % 7 == 3 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let id = world.enqueue(ID, 1, "picture");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let state = world.state();
    let dzi = finished(&state).unwrap();
    assert_eq!(state.objects.keys().cloned().collect::<BTreeSet<_>>(), keys(id, Attempt::FIRST, &dzi));
}

#[tokio::test]
async fn a_pyramid_is_one_object_by_default() {
    let world = world().await;
    let id = world.enqueue(ID, 2, "picture");
    world.state().objects.insert(
        Attempt::FIRST.archive_key(id),
        Object { bytes: "old".into(), media_type: String::new(), cache_control: String::new() },
    );
    let tiler = Tiler::start(&world, &[("EDGEZOOM_LAYOUT", "archive")]);
    tiler.logged("job ended").await;
    let state = world.state();
    let archive = state.reports().into_iter().find_map(|outcome| match outcome {
        Outcome::Finished(finished) => finished.archive.zip(finished.previews),
        _ => None,
    });
    let (archive, previews) = archive.unwrap();
    assert_eq!(state.objects.keys().collect::<Vec<_>>(), [&Attempt::FIRST.next().archive_key(id)]);
    let object = &state.objects[&Attempt::FIRST.next().archive_key(id)];
    let begin = archive.index_offset as usize;
    assert_eq!(&object.bytes[begin..begin + 8], b"EZTILES1");
    for kind in PreviewKind::ALL {
        let place = previews.entry(kind).unwrap();
        let file = &object.bytes[place.offset as usize..][..place.length as usize];
        assert!(file.starts_with(&[0xff, 0xd8, 0xff]) && file.ends_with(&[0xff, 0xd9]), "a whole JPEG");
    }
    assert_eq!(object.cache_control, "public, max-age=31536000, immutable");
    assert_eq!(state.puts, 1);
}

#[tokio::test]
async fn a_store_that_is_down_fails_the_job_with_a_message_that_does_not_name_it() {
    let world = world().await;
    world.state().on_put = |count| if count < 5 { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let state = world.state();
    let given = failure(&state).unwrap();
    assert_eq!(given, (FailureCode::Internal, "The pyramid could not be stored.".into()));
    assert!(state.objects.is_empty(), "{:?}", state.objects.keys());
    assert!(tiler.log().contains("cannot store the pyramid"));
}
