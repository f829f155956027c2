//! Tests SIGTERM: jobs are finished or handed back, messages are given back, and another tiler continues.

use std::time::{Duration, Instant};

use edgezoom_content::protocol::Outcome;
use edgezoom_content::{Attempt, CoarseNumber};

use super::tiler::Tiler;
use super::turn::Gate;
use super::world::{Call, Object, Source, WorldState};
use super::{ID, OTHER, world};

#[tokio::test]
async fn a_shutdown_hands_the_job_back_and_leaves_nothing() {
    let world = world().await;
    world.state().put_gate = Gate::closed();
    world.state().sources.insert("silence".into(), Source::Silence);
    let id = world.enqueue(ID, 1, "picture");
    world.enqueue(OTHER, 1, "silence");
    let coarse = Attempt::FIRST.coarse_key(id, CoarseNumber::FIRST);
    let object = Object { bytes: "coarse".into(), media_type: String::new(), cache_control: String::new() };
    world.state().objects.insert(coarse, object);
    let mut tiler = Tiler::start(&world, &[]);
    world.until("the upload", |state| state.puts > 0).await;
    tiler.terminate();
    assert!(tiler.ended().await.success(), "{}", tiler.log()); // otherwise it would wait 30 s for the silent source
    let state = world.state();
    let handed_back = state.reports().into_iter().filter(|outcome| **outcome == Outcome::HandedBack).count();
    assert_eq!(handed_back, 2, "{:#?}", state.log);
    assert!(state.objects.is_empty(), "{:?}", state.objects.keys());
}

#[tokio::test]
async fn a_shutdown_gives_unclaimed_messages_back() {
    let world = world().await;
    let gate = Gate::closed();
    world.state().pull_gate = gate.clone();
    world.enqueue(ID, 1, "picture");
    let mut tiler = Tiler::start(&world, &[]);
    world.until("the message to be on its way", |state| state.waiting.is_empty()).await;
    tiler.terminate();
    tiler.logged("shutting down").await;
    gate.open();
    assert!(tiler.ended().await.success());
    let state = world.state();
    let others: Vec<_> = state.log.iter().filter(|call| !matches!(call, Call::Backlog(_))).collect();
    assert!(matches!(others[..], [Call::Retry(_, 0)]), "{:#?}", state.log);
}

/// Returns how often each content was finished, and the number of other results.
fn ends(state: &WorldState, ids: &[String]) -> (Vec<usize>, usize) {
    let is_report = |call: &&Call| matches!(call, Call::Report(_));
    let finished: Vec<_> = ids
        .iter()
        .map(|id| {
            let archive = format!("{id}/1.szi");
            state.log.iter().filter(|call| **call == Call::Put(archive.clone())).count()
        })
        .collect();
    let others = state.log.iter().filter(is_report).filter(|call| {
        matches!(call, Call::Report(report) if matches!(report.outcome, Outcome::GaveUp { .. } | Outcome::HandedBack))
    });
    (finished, others.count())
}

#[tokio::test]
async fn tilers_can_be_replaced_one_by_one_without_failures_or_repeated_conversions() {
    let world = world().await;
    world.state().put_time = Duration::from_millis(300); // so that each has jobs when it is replaced
    let ids: Vec<String> = (0..14).map(|number| format!("{number:011}")).collect();
    for id in &ids {
        world.enqueue(id, 1, "picture");
    }
    let settings = [("EDGEZOOM_DRAIN_SECONDS", "600"), ("EDGEZOOM_JOBS", "2")];
    let mut old = [Tiler::start(&world, &settings), Tiler::start(&world, &settings)];
    for tiler in &mut old {
        world.until("some claims", |state| state.claimants.len() >= 3).await;
        let new = Tiler::start(&world, &settings);
        new.until("/ready", |status, _| status == 200).await;
        tiler.terminate();
        assert!(tiler.ended().await.success(), "{}", tiler.log());
        let log = tiler.log();
        assert!(!log.contains("HandedBack") && log.contains("shut down"), "{log}");
        *tiler = new;
    }
    world.until("the end of all", |state| ends(state, &ids).0.iter().sum::<usize>() >= ids.len()).await;
    let state = world.state();
    assert_eq!(ends(&state, &ids), (vec![1; ids.len()], 0), "{:#?}", state.log);
    assert_eq!((state.claimants.len(), state.acks()), (ids.len(), ids.len()), "each is claimed once");
}

#[tokio::test]
async fn a_job_that_does_not_finish_in_time_is_handed_back() {
    let world = world().await;
    world.state().sources.insert("silence".into(), Source::Silence);
    world.enqueue(ID, 1, "silence");
    let mut tiler = Tiler::start(&world, &[("EDGEZOOM_DRAIN_SECONDS", "1")]);
    world.until("the download", |state| state.log.contains(&Call::Fetch("silence".into()))).await;
    world.enqueue(OTHER, 1, "picture");
    let claims = world.state().claimants.len();
    let asked = Instant::now();
    tiler.terminate();
    assert!(tiler.ended().await.success());
    assert!(asked.elapsed() >= Duration::from_secs(1), "{:?}", asked.elapsed());
    let state = world.state();
    assert!(state.reports().contains(&&Outcome::HandedBack), "{:#?}", state.log);
    assert!(state.claimants.len() <= claims + 1, "it stops pulling");
}
