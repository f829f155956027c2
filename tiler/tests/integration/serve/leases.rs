//! The lease and its reports: lost ones, refused ones, and an edge that is away.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::StatusCode;
use edgezoom_content::Attempt;
use edgezoom_content::protocol::Outcome;

use super::tiler::Tiler;
use super::world::Known;
use super::{ID, OTHER, finished, keys, world};

#[tokio::test]
async fn a_job_stops_and_cleans_up_when_the_edge_says_that_it_is_over() {
    let world = world().await;
    world.known().put_time = Duration::from_millis(100);
    world.known().lease = Duration::from_secs(1);
    world.known().on_report = |report| {
        if report.attempt == Attempt::FIRST { StatusCode::CONFLICT } else { StatusCode::NO_CONTENT }
    };
    let first = world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[("EDGEZOOM_UPLOADS", "2")]);
    let ended = tiler.logged("job ended").await;
    assert_eq!(ended["outcome"], "Superseded");
    {
        let known = world.known();
        assert!(known.has_put(1) && known.objects.is_empty(), "{:#?}", known.log);
        assert!(!known.has_put(25), "it went on: {:#?}", known.log);
        assert!(!known.ended(), "{:#?}", known.log);
    }
    // The next one is not harmed by it.
    world.enqueue(OTHER, 2, "picture");
    world.until("the end of the other", Known::ended).await;
    let known = world.known();
    assert!(known.objects.keys().all(|key| !key.starts_with(&first.to_string())));
    assert!(finished(&known).is_some());
}

#[tokio::test]
async fn a_report_that_is_lost_is_sent_again() {
    let world = world().await;
    world.known().on_report = {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        |_| match CALLS.fetch_add(1, SeqCst) {
            0..3 => StatusCode::BAD_GATEWAY,
            _ => StatusCode::NO_CONTENT,
        }
    };
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    assert_eq!(tiler.logged("job ended").await["outcome"], "Finished");
}

#[tokio::test]
async fn a_pyramid_stays_when_nobody_knows_whether_its_report_was_taken() {
    let world = world().await;
    world.known().lease = Duration::from_secs(3);
    world.known().on_report = |report| match report.outcome {
        Outcome::Finished { .. } => StatusCode::BAD_GATEWAY,
        _ => StatusCode::NO_CONTENT,
    };
    let id = world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    assert_eq!(tiler.logged("job ended").await["outcome"], "Unheard");
    let known = world.known();
    let dzi = finished(&known).unwrap();
    assert_eq!(known.objects.keys().cloned().collect::<BTreeSet<_>>(), keys(id, Attempt::FIRST, &dzi));
}

#[tokio::test]
async fn a_job_gives_up_its_lease_when_the_edge_is_away_too_long() {
    let world = world().await;
    world.known().lease = Duration::from_secs(1);
    world.known().put_time = Duration::from_millis(200);
    world.known().on_report = |_| StatusCode::BAD_GATEWAY;
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[("EDGEZOOM_UPLOADS", "1")]);
    assert_eq!(tiler.logged("job ended").await["outcome"], "Superseded");
    assert!(world.known().objects.is_empty());
}
