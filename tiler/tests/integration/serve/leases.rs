//! Tests leases: lost and refused reports, and an edge that does not respond.

use std::time::Duration;

use axum::http::StatusCode;
use edgezoom_content::Attempt;
use edgezoom_content::protocol::Outcome;

use super::tiler::Tiler;
use super::turn::Gate;
use super::world::WorldState;
use super::{ID, OTHER, finished, stored, world};

#[tokio::test]
async fn a_job_stops_and_cleans_up_when_the_edge_refuses_its_report() {
    let world = world().await;
    world.state().put_gate = Gate::closed();
    world.state().lease = Duration::from_secs(12); // a report at least every three seconds
    world.state().on_report = |state, report| {
        let is_over = report.attempt == Attempt::FIRST && state.puts > 0;
        if is_over { StatusCode::CONFLICT } else { StatusCode::NO_CONTENT }
    };
    let first = world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    let ended = tiler.logged("job ended").await;
    assert_eq!(ended["outcome"], "Superseded");
    {
        let state = world.state();
        assert!(state.objects.is_empty(), "{:#?}", state.log);
        assert!(!state.ended(), "{:#?}", state.log);
    }
    // It does not affect the next job.
    world.state().put_gate = Gate::opened();
    world.enqueue(OTHER, 2, "picture");
    world.until("the end of the other", WorldState::ended).await;
    let state = world.state();
    assert!(state.objects.keys().all(|key| !key.starts_with(&first.to_string())));
    assert!(finished(&state).is_some());
}

#[tokio::test]
async fn a_lost_report_is_sent_again() {
    let world = world().await;
    world.state().on_report = {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        |_, _| match CALLS.fetch_add(1, SeqCst) {
            0..3 => StatusCode::BAD_GATEWAY,
            _ => StatusCode::NO_CONTENT,
        }
    };
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    assert_eq!(tiler.logged("job ended").await["outcome"], "Finished");
}

#[tokio::test]
async fn a_pyramid_stays_if_its_report_gets_no_response() {
    let world = world().await;
    world.state().lease = Duration::from_secs(8);
    world.state().on_report = |_, report| match report.outcome {
        Outcome::Finished { .. } => StatusCode::BAD_GATEWAY,
        _ => StatusCode::NO_CONTENT,
    };
    let id = world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    assert_eq!(tiler.logged("job ended").await["outcome"], "Unheard");
    let state = world.state();
    assert_eq!(stored(&state), [Attempt::FIRST.archive_key(id)]);
}

#[tokio::test]
async fn a_job_stops_when_the_edge_is_out_of_reach_for_a_whole_lease() {
    let world = world().await;
    world.state().lease = Duration::from_secs(1);
    world.state().put_gate = Gate::closed();
    world.state().on_report = |_, _| StatusCode::BAD_GATEWAY;
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[]);
    assert_eq!(tiler.logged("job ended").await["outcome"], "Superseded");
    assert!(world.state().objects.is_empty());
}
