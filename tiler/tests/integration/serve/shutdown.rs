//! SIGTERM: jobs and messages are given back.

use std::time::{Duration, Instant};

use edgezoom_content::protocol::Outcome;

use super::tiler::Tiler;
use super::world::{Call, Source};
use super::{ID, OTHER, world};

#[tokio::test]
async fn a_shutdown_hands_the_job_back_and_leaves_nothing() {
    let world = world().await;
    world.state().put_time = Duration::from_millis(100);
    world.state().sources.insert("silence".into(), Source::Silence);
    let id = world.enqueue(ID, 1, "picture");
    world.enqueue(OTHER, 1, "silence");
    let mut tiler = Tiler::start(&world, &[("EDGEZOOM_UPLOADS", "2")]);
    world.until("some tiles", |state| state.has_put(3)).await;
    let asked = Instant::now();
    tiler.terminate();
    assert!(tiler.ended().await.success(), "{}", tiler.log());
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    let state = world.state();
    let handed_back = state.reports().into_iter().filter(|outcome| **outcome == Outcome::HandedBack).count();
    assert_eq!(handed_back, 2, "{:#?}", state.log);
    assert!(state.objects.is_empty(), "{:?}", state.objects.keys());
    assert!(
        state
            .position(|call| matches!(call, Call::Delete(key) if key.starts_with(&id.to_string())))
            .is_some()
    );
}

#[tokio::test]
async fn a_shutdown_gives_messages_back_that_are_not_claimed_yet() {
    let world = world().await;
    world.state().queue.1 = Duration::from_millis(600);
    world.enqueue(ID, 1, "picture");
    let mut tiler = Tiler::start(&world, &[]);
    world.until("the message to be on its way", |state| state.waiting.is_empty()).await;
    tiler.terminate();
    assert!(tiler.ended().await.success());
    let state = world.state();
    assert!(matches!(state.log[..], [Call::Retry(_, 0)]), "{:#?}", state.log);
}
