//! A store that fails.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use edgezoom_content::{Attempt, FailureCode};

use super::tiler::Tiler;
use super::world::WorldState;
use super::{ID, failure, finished, keys, world};

#[tokio::test]
async fn requests_that_the_store_refuses_are_sent_again() {
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
    assert!(tiler.log().contains("the store does not take the pyramid"));
}
