//! SIGTERM: what is under way goes back.

use std::time::{Duration, Instant};

use edgezoom_content::protocol::Outcome;

use super::tiler::Tiler;
use super::world::{Asked, Source};
use super::{ID, OTHER, world};

#[tokio::test]
async fn a_shutdown_hands_the_job_back_and_leaves_nothing() {
    let world = world().await;
    world.known().put_time = Duration::from_millis(100);
    world.known().sources.insert("silence".into(), Source::Silence);
    let id = world.enqueue(ID, 1, "picture");
    world.enqueue(OTHER, 1, "silence");
    let mut tiler = Tiler::start(&world, &[("EDGEZOOM_UPLOADS", "2")]);
    world.until("some tiles", |known| known.has_put(3)).await;
    let asked = Instant::now();
    tiler.terminate();
    assert!(tiler.ended().await.success(), "{}", tiler.log());
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    let known = world.known();
    let handed_back = known.reports().into_iter().filter(|outcome| **outcome == Outcome::HandedBack).count();
    assert_eq!(handed_back, 2, "{:#?}", known.log);
    assert!(known.objects.is_empty(), "{:?}", known.objects.keys());
    assert!(
        known
            .position(|asked| matches!(asked, Asked::Deleted(key) if key.starts_with(&id.to_string())))
            .is_some()
    );
}

#[tokio::test]
async fn a_shutdown_gives_messages_back_that_are_not_claimed_yet() {
    let world = world().await;
    world.known().queue.1 = Duration::from_millis(600);
    world.enqueue(ID, 1, "picture");
    let mut tiler = Tiler::start(&world, &[]);
    world.until("the message to be on its way", |known| known.waiting.is_empty()).await;
    tiler.terminate();
    assert!(tiler.ended().await.success());
    let known = world.known();
    assert!(matches!(known.log[..], [Asked::Retried(_, 0)]), "{:#?}", known.log);
}
