//! A store in trouble.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use edgezoom_content::{Attempt, FailureCode};

use super::tiler::Tiler;
use super::world::Known;
use super::{ID, failure, finished, keys, world};

#[tokio::test]
async fn a_store_that_stumbles_is_asked_again() {
    let world = world().await;
    world.known().on_put =
        |count| if count % 7 == 3 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let id = world.enqueue(ID, 1, "picture");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", Known::ended).await;
    let known = world.known();
    let dzi = finished(&known).unwrap();
    assert_eq!(known.objects.keys().cloned().collect::<BTreeSet<_>>(), keys(id, Attempt::FIRST, &dzi));
}

#[tokio::test]
async fn a_store_that_is_down_fails_the_job_with_a_reason_that_tells_nothing_of_it() {
    let world = world().await;
    world.known().on_put = |count| if count < 5 { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    world.until("the end", Known::ended).await;
    let known = world.known();
    let given = failure(&known).unwrap();
    assert_eq!(given, (FailureCode::Internal, "The pyramid could not be stored.".into()));
    assert!(known.objects.is_empty(), "{:?}", known.objects.keys());
    assert!(tiler.log().contains("the store does not take the pyramid"));
}
