//! Tests the stored archive, and a failing store.

use axum::http::StatusCode;
use edgezoom_content::protocol::Outcome;
use edgezoom_content::{Attempt, FailureCode, PreviewKind};

use super::tiler::Tiler;
use super::world::WorldState;
use super::{ID, failure, finished, stored, world};

#[tokio::test]
async fn requests_that_the_store_refuses_are_retried() {
    let world = world().await;
    world.state().on_put = |count| if count < 2 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let id = world.enqueue(ID, 1, "picture");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let state = world.state();
    assert!(finished(&state).is_some());
    assert_eq!((stored(&state), state.puts), (vec![Attempt::FIRST.archive_key(id).as_str()], 3));
}

#[tokio::test]
async fn the_reported_places_are_those_of_index_and_previews() {
    let world = world().await;
    let id = world.enqueue(ID, 2, "picture");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let state = world.state();
    let places = state.reports().into_iter().find_map(|outcome| match outcome {
        Outcome::Finished { finished } => Some((finished.archive, finished.previews)),
        _ => None,
    });
    let (archive, previews) = places.unwrap();
    let object = &state.objects[&Attempt::FIRST.next().archive_key(id)];
    let begin = archive.index_offset as usize;
    assert_eq!(&object.bytes[begin..begin + 8], b"EZTILES1");
    for kind in PreviewKind::ALL {
        let place = previews.range(kind);
        let file = &object.bytes[place.offset as usize..][..place.length as usize];
        assert!(file.starts_with(&[0xff, 0xd8, 0xff]) && file.ends_with(&[0xff, 0xd9]), "a whole JPEG");
    }
}

#[tokio::test]
async fn a_store_that_is_down_fails_the_job_with_a_message_that_does_not_name_it() {
    let world = world().await;
    world.state().on_put = |_| StatusCode::INTERNAL_SERVER_ERROR;
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let state = world.state();
    let given = failure(&state).unwrap();
    assert_eq!(given, (FailureCode::Internal, "The pyramid could not be stored.".into()));
    assert!(state.objects.is_empty(), "{:?}", state.objects.keys());
    assert!(tiler.log().contains("cannot store the pyramid"));
}
