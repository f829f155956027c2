//! Tests the tiler's part in retries: which failures may pass, jobs that must run alone, and jobs for another tiler.

use axum::http::StatusCode;
use edgezoom_content::ContentId;
use edgezoom_content::protocol::{Outcome, Retry};
use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::tiler::Tiler;
use super::turn::Gate;
use super::world::{Call, ClaimAnswer, Source, World, WorldState};
use super::{ID, OTHER, finished, held_picture, world};

fn retry(state: &WorldState) -> Option<Retry> {
    state.reports().into_iter().find_map(|outcome| match outcome {
        Outcome::GaveUp { retry, .. } => Some(*retry),
        _ => None,
    })
}

/// Enqueues a message whose claim is granted once.
fn enqueue(world: &World, id: &str, message: serde_json::Value) {
    let id: ContentId = id.parse().unwrap();
    let mut state = world.state();
    state.claims.entry(id).or_default().push(ClaimAnswer::Grant { attempt: 1, source: "picture" });
    state.waiting.push_back(message);
}

#[tokio::test]
async fn reports_say_whether_a_failure_may_pass() {
    let world = world().await;
    world.state().sources.insert("busy".into(), Source::Unavailable(77));
    world.state().sources.insert("broken".into(), Source::Status(StatusCode::INTERNAL_SERVER_ERROR));
    world.state().sources.insert("locked".into(), Source::Status(StatusCode::FORBIDDEN));
    let _tiler = Tiler::start(&world, &[]);
    for (source, expected) in [
        ("busy", Retry::Later { after_seconds: Some(77) }),
        ("broken", Retry::Later { after_seconds: None }),
        ("locked", Retry::Never),
        ("missing", Retry::Never),
    ] {
        world.state().log.clear();
        world.enqueue(ID, 1, source);
        world.until("the end", WorldState::ended).await;
        assert_eq!(retry(&world.state()), Some(expected), "{source}");
    }
}

#[tokio::test]
async fn a_renderer_killed_from_outside_is_reported_at_once_and_retried_elsewhere() {
    let world = world().await;
    // The renderer waits for the rest of the source.
    world.state().sources.insert("held".into(), held_picture(&Gate::closed()));
    world.enqueue(ID, 1, "held");
    let tiler = Tiler::start(&world, &[]);
    world.until("a renderer", |_| tiler.renderers().len() == 1).await;
    kill_process(tiler.renderers()[0], Signal::KILL).unwrap();
    world.until("the end", WorldState::ended).await;
    assert_eq!(retry(&world.state()), Some(Retry::Elsewhere), "{}", tiler.log());
    tiler.logged("job ended").await;
    assert!(world.state().objects.is_empty(), "its objects are deleted");
}

#[tokio::test]
async fn a_job_that_must_run_alone_waits_for_the_others_and_delays_the_next() {
    let world = world().await;
    let gate = Gate::closed();
    world.state().put_gate = gate.clone();
    world.enqueue(ID, 1, "picture");
    let tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "3")]);
    world.until("an upload", |state| state.puts > 0).await;
    enqueue(&world, OTHER, json!({ "id": OTHER, "alone": true }));
    world.until("its acknowledgement", |state| state.acks() == 2).await;
    let third = "00000000001";
    enqueue(&world, third, json!({ "id": third }));
    gate.pass(1);
    world.until("its upload", |state| state.puts >= 2).await;
    gate.open();
    let is_finished = |call: &Call| matches!(call, Call::Report(report) if matches!(report.outcome, Outcome::Finished { .. }));
    world.until("three ends", |state| state.log.iter().filter(|call| is_finished(call)).count() == 3).await;

    {
        let state = world.state();
        let places =
            |is_it: &dyn Fn(&Call) -> bool| (0..state.log.len()).filter(|n| is_it(&state.log[*n])).collect();
        let claims: Vec<_> = places(&|call| matches!(call, Call::Claim(_)));
        let ends: Vec<_> = places(&is_finished);
        assert!(ends[0] < claims[1] && ends[1] < claims[2], "{claims:?} {ends:?} {:#?}", state.log);
        assert_eq!(
            state.claimants.iter().map(|claimant| claimant.alone).collect::<Vec<_>>(),
            [false, true, false]
        );
    }
    assert_eq!(tiler.ask("/health").await.0, 200);
}

#[tokio::test]
async fn a_job_that_must_run_alone_does_not_delay_a_shutdown() {
    let world = world().await;
    world.state().sources.insert("silent".into(), Source::Silence);
    world.enqueue(ID, 1, "silent");
    let mut tiler = Tiler::start(&world, &[]);
    world
        .until("the download", |state| state.position(|call| matches!(call, Call::Fetch(_))).is_some())
        .await;
    enqueue(&world, OTHER, json!({ "id": OTHER, "alone": true }));
    world.until("its acknowledgement", |state| state.acks() == 2).await;
    tiler.terminate();
    assert!(tiler.ended().await.success());
    assert_eq!(world.state().claimants.len(), 1);
}

#[tokio::test]
async fn a_job_is_left_to_another_tiler_once() {
    let world = world().await;
    world.enqueue(ID, 1, "picture");
    let _tiler = Tiler::start(&world, &[]);
    world.until("the end", WorldState::ended).await;
    let me = world.state().claimants[0].tiler;
    world.state().log.clear();
    let message = json!({ "id": OTHER, "avoid": me });
    enqueue(&world, OTHER, message.clone());
    world
        .until("its return", |state| state.position(|call| matches!(call, Call::Retry(_, 1))).is_some())
        .await;
    assert_eq!(world.state().claimants.len(), 1);
    world.state().deliveries = 2;
    world.state().waiting.push_back(message);
    world.until("the end", WorldState::ended).await;
    assert!(finished(&world.state()).is_some());
}
