//! Tests the endpoints for the operator, and messages about missing settings.

use std::process::Command;
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::tiler::Tiler;
use super::world::{Call, Source};
use super::{ID, world};

#[tokio::test]
async fn health_shows_whether_the_queue_is_in_reach() {
    let world = world().await;
    world.state().queue.0 = StatusCode::TOO_MANY_REQUESTS;
    let tiler = Tiler::start(&world, &[]);
    tiler.logged("cannot pull from the queue").await;
    let (status, body) = tiler.ask("/health").await;
    assert_eq!(status, 503, "{body}");
    assert!(!tiler.ask("/metrics").await.1.contains("edgezoom_pull_errors_total 0"));

    world.state().queue.0 = StatusCode::OK;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let (status, body) = tiler.ask("/health").await;
        if status == 200 {
            assert!(body.contains(r#""status":"ok""#), "{body}");
            break;
        }
        assert!(Instant::now() < deadline, "{body}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_tiler_is_ready_from_the_first_responses_of_queue_and_edge_until_it_stops() {
    let world = world().await;
    world.state().queue.0 = StatusCode::TOO_MANY_REQUESTS;
    world.state().sources.insert("silence".into(), Source::Silence);
    let tiler = Tiler::start(&world, &[("EDGEZOOM_DRAIN_SECONDS", "60")]);
    assert_eq!(tiler.ask("/ready").await, (503, r#"{"status":"starting"}"#.to_owned()));
    world.state().queue.0 = StatusCode::OK;
    world.enqueue(ID, 1, "silence");
    until_ready(&tiler, (200, "ready")).await;
    world.until("its job", |state| state.position(|call| matches!(call, Call::Fetch(_))).is_some()).await;
    tiler.terminate();
    until_ready(&tiler, (503, "stopping")).await;
    assert_eq!(tiler.ask("/health").await.0, 200, "it is healthy while it finishes its jobs");
}

async fn until_ready(tiler: &Tiler, (status, words): (u16, &str)) {
    let expected = (status, format!(r#"{{"status":"{words}"}}"#));
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = tiler.ask("/ready").await;
        if answer == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{answer:?} and never {expected:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_missing_setting_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_tiler"))
        .arg("serve")
        .env_clear()
        .env("EDGEZOOM_EDGE_URL", "http://127.0.0.1:1")
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "tiler: EDGEZOOM_TILER_TOKEN is not set\n");
}
